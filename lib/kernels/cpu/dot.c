/* Products of matrices of bytes, see dot.h. */
#include "kernels/kernels.h"

#include "dot.h"

typedef struct Scratch {
  DotA *rows, *ones;
  int32_t *row_sums, *a_zeros, *terms, *b_zeros;
  int8_t *panels;
} Scratch;

/* Where the matrices of batch `rest` are. */
INLINE void find_batch(const GlowDotParams *p, int64_t rest, int64_t *a, int64_t *b, int64_t *c) {
  *a = *b = *c = 0;
  UNROLL for (int d = GLOW_PRODUCT_BATCH - 1; d >= 0; d--) {
    const int64_t i = rest % p->batch[d];
    rest /= p->batch[d];
    *a += i * p->a_batch[d];
    *b += i * p->b_batch[d];
    *c += i * p->c_batch[d];
  }
}

/* Rows [row, row + count) of A with their zero points and sums. */
INLINE void take_rows(const GlowDotParams *p, const Scratch *s, DotBlock *t, const uint8_t *a,
                      const uint8_t *zeros, int64_t row, int64_t count) {
  const bool whole = DOT_VNNI && !p->a_signed && p->ak == 1 && p->k == p->depth * DOT_GROUP;
  t->a = whole ? (const DotA *)(const void *)(a + row * p->am) : s->rows;
  t->lda = whole ? p->am : p->lda;
  ROLLED for (int64_t i = 0; i < count; i++) {
    const uint8_t *from = a + (row + i) * p->am;
    DotA *to = s->rows + i * p->lda;
    if (!whole && p->ak == 1) {
      dot_widen(to, from, p->k, p->a_signed);
    } else if (!whole) {
      ROLLED for (int64_t k = 0; k < p->k; k++) dot_widen(to + k, from + k * p->ak, 1, p->a_signed);
    }
    ROLLED for (int64_t k = p->k; k < p->depth * DOT_GROUP && !whole; k++) to[k] = 0;
    s->a_zeros[i] = dot_zero(zeros, p->a_zeros, row + i, p->a_signed) + dot_a_bias(p->a_signed);
    if (t->b_zeros)
      s->row_sums[i] = dot_sum(t->a + i * t->lda, p->k);
  }
}

void glow_dot(const GlowDotParams *params, void *const *ptrs, int64_t begin, int64_t end,
              char *scratch) {
  const GlowDotParams p = *params;
  const GlowDotPtrs at = GLOW_DOT_PTRS(ptrs);
  const Scratch s = {.rows = (DotA *)(void *)scratch,
                     .ones = (DotA *)(void *)(scratch + p.ones_at),
                     .row_sums = (int32_t *)(void *)(scratch + p.sums_at),
                     .a_zeros = (int32_t *)(void *)(scratch + p.sums_at) + p.block,
                     .terms = (int32_t *)(void *)(scratch + p.terms_at),
                     .b_zeros = (int32_t *)(void *)(scratch + p.terms_at) + p.columns,
                     .panels = (int8_t *)scratch + p.panels_at};
  const bool has_a = p.a_zeros || dot_a_bias(p.a_signed);
  const bool has_b = dot_b_moves((const uint8_t *)at.b_zero, p.b_zeros, p.b_signed);
  int64_t rows_of = -1, columns_of = -1;
  DotBlock t = {.groups = p.depth, .unsigned_b = !p.b_signed, .cm = p.cm, .cn = p.cn};
  t.a_zeros = has_a ? s.a_zeros : NULL;
  t.terms = s.terms;
  t.b_zeros = has_b ? s.b_zeros : NULL;
  t.row_sums = s.row_sums;
  ROLLED for (int64_t k = 0; k < p.depth * DOT_GROUP; k++) s.ones[k] = k < p.k;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t group = u % p.groups, block = u / p.groups % p.blocks;
    const int64_t batch = u / p.groups / p.blocks;
    const int64_t row = block * p.block, col = group * p.columns;
    const int64_t rows = p.m - row < p.block ? p.m - row : p.block;
    int64_t a_at, b_at, c_at;
    find_batch(&p, batch, &a_at, &b_at, &c_at);
    t.columns = p.n - col < p.columns ? p.n - col : p.columns;
    t.c = at.c + c_at + row * p.cm + col * p.cn;
    const int64_t columns_now = p.b_shared ? group : batch * p.groups + group;
    if (columns_now != columns_of) {
      columns_of = columns_now;
      t.b = p.packed ? (const int8_t *)at.b + col / DOT_PANEL * p.packed * DOT_BYTES : s.panels;
      if (!p.packed)
        dot_pack(s.panels, (const uint8_t *)at.b + b_at + col * p.bn, p.bk, p.bn, p.k, t.columns);
      if (has_a || has_b)
        dot_terms(&t, s.ones, p.k, s.terms, has_b ? s.b_zeros : NULL, (const uint8_t *)at.b_zero,
                  p.b_zeros, col, p.b_signed);
    }
    if (u / p.groups != rows_of) {
      rows_of = u / p.groups;
      take_rows(&p, &s, &t, (const uint8_t *)at.a + a_at, (const uint8_t *)at.a_zero, row, rows);
    }
    dot_block(&t, rows);
  }
}
