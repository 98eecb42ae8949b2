/* Matrix products of kinds other than float, over plain views. Integers of one width wrap alike, so
 * unsigned ones use the kernels of the signed. */
#include "backend/cpu/select.h"
#include "cpu/work.h"

static GlowKind kernel_kind(GlowKind k) {
  switch (k) {
  case GLOW_KIND_U8:
    return GLOW_KIND_I8;
  case GLOW_KIND_U16:
    return GLOW_KIND_I16;
  case GLOW_KIND_U32:
    return GLOW_KIND_I32;
  case GLOW_KIND_U64:
    return GLOW_KIND_I64;
  default:
    return k;
  }
}

/* Strides along the batch axes of the result, which are its first ones. */
static void read_batch(const GlowView *v, uint32_t matrix, const GlowView *c, uint32_t batch,
                       int64_t *strides) {
  uint32_t own = v->rank - matrix;
  for (uint32_t a = 0; a < GLOW_PRODUCT_BATCH; a++) {
    uint32_t from = a + own - batch; /* wraps where the operand has no such axis */
    bool repeats = a >= batch || a + own < batch || v->dims[from] != c->dims[a];
    strides[a] = repeats ? 0 : v->strides[from];
  }
}

bool glow_select_product(GlowSelect *s, const GlowNode *n) {
  GlowView a, b, c;
  GlowProductParams p = {0};
  if (!glow_select_view(s, glow_node_in(n, 0), &a) ||
      !glow_select_view(s, glow_node_in(n, 1), &b) || !glow_select_view(s, glow_node_out(n, 0), &c))
    return false;
  bool rows = a.rank > 1, columns = b.rank > 1;
  uint32_t batch = c.rank - rows - columns;
  if (c.type->kind > GLOW_KIND_U64 || c.type->kind == GLOW_KIND_FLOAT || c.type->quantized)
    return glow_select_fail(s, "there is no kernel for its kind");
  if (a.type->layout || b.type->layout || c.type->layout || batch > GLOW_PRODUCT_BATCH)
    return glow_select_fail(s, "an operand has a blocked layout");
  p.m = rows ? a.dims[a.rank - 2] : 1;
  p.k = a.dims[a.rank - 1];
  p.n = columns ? b.dims[b.rank - 1] : 1;
  p.am = rows ? a.strides[a.rank - 2] : 0;
  p.ak = a.strides[a.rank - 1];
  p.bk = b.strides[b.rank - 1 - columns];
  p.bn = columns ? b.strides[b.rank - 1] : 0;
  p.cm = rows ? c.strides[batch] : 0;
  p.cn = columns ? c.strides[c.rank - 1] : 0;
  read_batch(&a, rows ? 2 : 1, &c, batch, p.a_batch);
  read_batch(&b, columns ? 2 : 1, &c, batch, p.b_batch);
  read_batch(&c, rows + columns, &c, batch, p.c_batch);
  int64_t units = p.m;
  for (uint32_t i = 0; i < GLOW_PRODUCT_BATCH; i++) {
    p.batch[i] = i < batch ? c.dims[i] : 1;
    units *= p.batch[i];
  }
  if (!units || !p.n)
    return true;
  GlowProductPlaces at = {.c = c.place, .a = a.place, .b = b.place};
  glow_work_product(s, n, kernel_kind(c.type->kind), &p, &at, &(GlowWorkSpec){.units = units});
  return glow_select_epilogue(s, n);
}
