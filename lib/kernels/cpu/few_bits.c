/* Products of a few rows by weights of 2, 4 or 8 bits: glow_few_bits.
 *
 * Lanes are columns, so that sums run along k as those of products of floats do. A lane of a
 * register of words has the next weights of its column. A weight less its zero point is exact in
 * floats; the product with the scale is rounded as that of DequantizeLinear is. Two ways lead to
 * the difference, each takes two instructions:
 *
 *   fields    Weight q at bit b of the lower half of a lane needs no shift: below the exponent of
 *             2^(23 - b) its bits are the float 2^(23 - b) + q. Once the exponent has all bits, one
 *             mask leaves the weight and that exponent, and one subtraction the difference.
 *   a table   Where a register has 16 floats and zero points are the middle, a permutation by the
 *             lowest four bits of each lane finds differences of 4 bits.
 *
 * Product and sum take one each. Several rows share what is found of a weight. One row is
 * multiplied by the columns of two panels, whose sums do not wait for each other. Panels are short,
 * so a processor that fetches ahead of one begins anew at the next: while the kernel reads columns,
 * it fetches those that take their turn behind them. */
#include "kernels/kernels.h"

enum {
  PANEL = GLOW_FEW_BITS_PANEL,
  IN_PANEL = PANEL / GLOW_VL, /* vectors of columns */
  IN_LINE = 16 / GLOW_VL,     /* the same of a line of 64 bytes */
  HALF = 16,
  MOST = HALF / 2, /* weights of half a word */
  HAS_TABLE = GLOW_VL == 16,
  TABLE_BITS = 4,
  ROWS = GLOW_HAS_FMA ? 4 : 1,         /* that share weights */
  VECTORS = GLOW_HAS_FMA ? 4 : 1,      /* of columns for one row */
  BESIDE = GLOW_VL == 8 ? 2 : VECTORS, /* the same for ROWS rows: registers are few */
  EXPONENT = 0x7f800000
};

typedef uint32_t Words __attribute__((vector_size(GLOW_VL * 4), aligned(4)));

/* For each weight of half a word: what leaves that weight and the exponent above it, and what to
 * subtract then in each column. */
typedef struct Fields {
  int32_t mask[MOST];
  float minus[MOST][VECTORS * GLOW_VL] __attribute__((aligned(64)));
} Fields;

/* Some vectors of columns, in one panel or in two. */
typedef struct Columns {
  const uint32_t *w;
  const float *scale;
  const uint8_t *zero;    /* NULL: the middle */
  int64_t w_next, s_next; /* from a panel to the next one */
  int64_t w_then, s_then; /* from a vector to what takes its turn behind these columns */
} Columns;

/* How many rows and vectors of columns are multiplied at a time, and how differences are found;
 * numbers where this is used. */
typedef struct Form {
  int rows, vectors;
  bool in_table;
} Form;

INLINE GlowVecI splat(int32_t s) {
  GlowVecI v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = s;
  return v;
}

/* Element `at & 15` of 16 for each of 16 lanes. */
INLINE GlowVec look_up(const float *table, Words at) {
#if GLOW_VL == 16
  return (GlowVec)__builtin_ia32_permvarsf512(vec_load(table), (GlowVecI)at);
#else
  (void)at;
  return vec_load(table);
#endif
}

/* Where vector v of the columns begins; `next` as in Columns. */
INLINE int64_t begins(int v, int64_t next) { return v / IN_PANEL * next + v % IN_PANEL * GLOW_VL; }

/* Fetches the words of 4 bytes at `from` and in the vectors beside it; `next` as in Columns. */
INLINE void fetch(const void *from, const Form f, int64_t next) {
  UNROLL for (int v = 0; v < f.vectors; v += IN_LINE)
      __builtin_prefetch((const char *)from + begins(v, next) * 4);
}

/* Fills in what to subtract, for the zero points of a block. */
INLINE void set_minus(const GlowFewBitsParams *p, const Form f, Fields *fields, const Columns *at,
                      const uint8_t *zero) {
  typedef uint8_t Bytes __attribute__((vector_size(GLOW_VL), aligned(1)));
  UNROLL for (int v = 0; v < f.vectors; v++) {
    GlowVec z = vec_splat((float)(1 << (p->bits - 1)));
    if (zero)
      z = __builtin_convertvector(*(const Bytes *)(zero + begins(v, at->s_next)), GlowVec);
    ROLLED for (int j = 0; j < p->places; j++)
        vec_store(fields->minus[j] + v * GLOW_VL, z + (GlowVec)splat(fields->mask[j] & EXPONENT));
  }
}

/* Adds the products of element k of each row by the scaled differences. */
INLINE void add(GlowVec *sums, const Form f, GlowVec *difference, const GlowVec *scale,
                const float *const *a, int64_t k) {
  UNROLL for (int v = 0; v < f.vectors; v++) difference[v] *= scale[v];
  UNROLL for (int r = 0; r < f.rows; r++) {
    const GlowVec x = vec_splat(a[r][k]);
    UNROLL for (int v = 0; v < f.vectors; v++) sums[r * f.vectors + v] =
        vec_fma(x, difference[v], sums[r * f.vectors + v]);
  }
}

/* Adds the products of element k of each row by weight j of the words. */
INLINE void add_looked_up(GlowVec *sums, const Form f, const Words *words, int j,
                          const GlowVec *scale, const float *const *a, int64_t k) {
  static const float middle_8[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
  GlowVec w[VECTORS];
  UNROLL for (int v = 0; v < f.vectors; v++) w[v] =
      look_up(middle_8, words[v] >> (uint32_t)(j * TABLE_BITS));
  add(sums, f, w, scale, a, k);
}

/* The products of elements k to end of each row, at most as many as a word has, by its weights. */
INLINE void add_word(GlowVec *sums, const Form f, const Words *words, const GlowVec *scale,
                     const float *const *a, int64_t k, int64_t end) {
  enum { COUNT = 2 * HALF / TABLE_BITS };
  if (end - k < COUNT) {
    ROLLED for (int j = 0; j < end - k; j++) add_looked_up(sums, f, words, j, scale, a, k + j);
  } else {
    UNROLL for (int j = 0; j < COUNT; j++) add_looked_up(sums, f, words, j, scale, a, k + j);
  }
}

/* The same for the lower half of the words. */
INLINE void add_half(GlowVec *sums, const Form f, const Words *words, const Fields *fields,
                     const GlowVec *scale, const float *const *a, int64_t k, int64_t end) {
  Words part[VECTORS];
  UNROLL for (int v = 0; v < f.vectors; v++) part[v] = words[v] | (Words)splat(EXPONENT);
  ROLLED for (int j = 0; j < end - k; j++) {
    const Words mask = (Words)splat(fields->mask[j]);
    GlowVec w[VECTORS];
    UNROLL for (int v = 0; v < f.vectors; v++) w[v] =
        (GlowVec)(part[v] & mask) - vec_load(fields->minus[j] + v * GLOW_VL);
    add(sums, f, w, scale, a, k + j);
  }
}

/* c[r], vectors of columns, are rows a[r] by these columns. */
INLINE void multiply(const GlowFewBitsParams *p, const Form f, Fields *fields, float *const *c,
                     const float *const *a, const Columns *at) {
  GlowVec sums[ROWS * VECTORS] = {{0}};
  const uint32_t *w = at->w;
  const float *scales = at->scale;
  const uint8_t *zero = at->zero;
  ROLLED for (int64_t k = 0; k < p->k; scales += p->s_row) {
    const int64_t end = p->k - k < p->block ? p->k : k + p->block;
    GlowVec scale[VECTORS];
    UNROLL for (int v = 0; v < f.vectors; v++) scale[v] = vec_load(scales + begins(v, at->s_next));
    fetch(scales + at->s_then, f, at->s_next);
    if (!f.in_table && (zero || k == 0))
      set_minus(p, f, fields, at, zero);
    if (zero)
      zero += p->s_row;
    ROLLED for (; k < end; k += 2 * p->places, w += p->w_row) {
      const int64_t middle = end - k < p->places ? end : k + p->places;
      const int64_t last = end - middle < p->places ? end : middle + p->places;
      Words words[VECTORS];
      UNROLL for (int v = 0; v < f.vectors; v++) words[v] =
          *(const Words *)(w + begins(v, at->w_next));
      fetch(w + at->w_then, f, at->w_next);
      if (f.in_table) {
        add_word(sums, f, words, scale, a, k, last);
        continue;
      }
      add_half(sums, f, words, fields, scale, a, k, middle);
      UNROLL for (int v = 0; v < f.vectors; v++) words[v] >>= HALF;
      add_half(sums, f, words, fields, scale, a, middle, last);
    }
  }
  UNROLL for (int r = 0; r < f.rows; r++) UNROLL for (int v = 0; v < f.vectors; v++)
      vec_store(c[r] + v * GLOW_VL, sums[r * f.vectors + v]);
}

/* Rows from `row` on by vectors from number `first` on of panels up to `end`. Rows and panels that
 * are not there are the last ones again. */
INLINE void block(const GlowFewBitsParams *p, const Form f, Fields *fields,
                  const GlowFewBitsPtrs *at, int64_t row, int64_t first, int64_t end) {
  float results[ROWS][VECTORS * GLOW_VL], *c[ROWS];
  const float *a[ROWS];
  const int64_t panel = first / IN_PANEL, in_panel = first % IN_PANEL * GLOW_VL;
  const int64_t column = panel * PANEL + in_panel, s = panel * p->s_panel + in_panel;
  const bool has_next = panel + 1 < end;
  const int64_t panels = (f.vectors + IN_PANEL - 1) / IN_PANEL;
  const Columns columns = {at->w + panel * p->w_panel + in_panel,
                           at->scale + s,
                           at->zero ? at->zero + s : NULL,
                           has_next ? p->w_panel : 0,
                           has_next ? p->s_panel : 0,
                           panels * p->w_panel,
                           panels * p->s_panel};
  const int64_t behind = end * PANEL < p->n ? end * PANEL : p->n;
  const int64_t count =
      behind - column < f.vectors * GLOW_VL ? behind - column : f.vectors * GLOW_VL;
  UNROLL for (int r = 0; r < f.rows; r++) {
    c[r] = results[r];
    a[r] = at->a + (row + r < p->m ? row + r : p->m - 1) * p->k;
  }
  multiply(p, f, fields, c, a, &columns);
  ROLLED for (int64_t r = 0; r < f.rows && row + r < p->m && count > 0; r++) __builtin_memcpy(
      at->c + (row + r) * p->n + column, results[r], (size_t)count * sizeof(float));
}

INLINE void blocks(const GlowFewBitsParams *p, const bool in_table, const GlowFewBitsPtrs *at,
                   int64_t begin, int64_t end) {
  const Form one = {1, VECTORS, in_table}, several = {ROWS, BESIDE, in_table};
  int64_t row = 0;
  Fields fields;
  ROLLED for (int j = 0; j < p->places; j++) {
    const int32_t bit = j * (int32_t)p->bits;
    fields.mask[j] = ((1 << p->bits) - 1) << bit | (127 + 23 - bit) << 23;
  }
  ROLLED for (; ROWS > 1 && p->m - row > 1; row += ROWS)
      ROLLED for (int64_t v = begin * IN_PANEL; v < end * IN_PANEL; v += BESIDE)
          block(p, several, &fields, at, row, v, end);
  ROLLED for (; row < p->m; row++)
      ROLLED for (int64_t v = begin * IN_PANEL; v < end * IN_PANEL; v += VECTORS)
          block(p, one, &fields, at, row, v, end);
}

void glow_few_bits(const GlowFewBitsParams *p, void *const *ptrs, int64_t begin, int64_t end,
                   char *scratch) {
  const GlowFewBitsPtrs at = GLOW_FEW_BITS_PTRS(ptrs);
  (void)scratch;
  if (HAS_TABLE && p->bits == TABLE_BITS && !at.zero)
    blocks(p, true, &at, begin, end);
  else
    blocks(p, false, &at, begin, end);
}
