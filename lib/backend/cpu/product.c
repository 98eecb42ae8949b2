/* Matrix products of kinds other than float, over plain views, and of bytes in i32. Integers of one
 * width wrap alike, so unsigned ones use the kernels of the signed. */
#include "backend/cpu/select.h"
#include "cpu/work.h"

static GlowKind kernel_kind(GlowKind k) {
  return k == GLOW_KIND_U32 ? GLOW_KIND_I32 : k == GLOW_KIND_U64 ? GLOW_KIND_I64 : k;
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

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* How many zero points there are for `lines` rows or columns, and where. */
static bool read_zeros(GlowSelect *s, const GlowValue *v, int64_t lines, GlowPlace *place,
                       int64_t *count) {
  GlowView view;
  *place = glow_place_absent();
  *count = 0;
  if (!v)
    return true;
  if (!glow_select_dense(s, v, &view))
    return false;
  *place = view.place;
  *count = glow_view_extent(&view, 0, view.rank);
  return *count == 1 || *count == lines ||
         glow_select_fail(s, "there are zero points for each of its matrices");
}

/* Batches of the same B are more rows. */
static void batch_to_rows(GlowDotParams *p) {
  for (int i = GLOW_PRODUCT_BATCH; i-- > 0;) {
    bool one = p->batch[i] == 1;
    if (!one && (p->b_batch[i] || p->a_zeros > 1 || p->a_batch[i] != p->am * p->m ||
                 p->c_batch[i] != p->cm * p->m))
      return;
    p->m *= p->batch[i];
    p->batch[i] = 1;
  }
}

bool glow_select_mat_mul_integer(GlowSelect *s, const GlowNode *n) {
  GlowView a, b, c;
  GlowDotParams p = {0};
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  GlowDotPlaces at = {0};
  const GlowType *w = glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B)->type;
  if (!glow_select_view(s, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_A), &a) ||
      !glow_select_view(s, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B), &b) ||
      !glow_select_view(s, glow_node_out(n, 0), &c))
    return false;
  bool rows = a.rank > 1, columns = w->rank > 1;
  uint32_t batch = c.rank - rows - columns;
  if (a.type->layout || c.type->layout || batch > GLOW_PRODUCT_BATCH)
    return glow_select_fail(s, "an operand has a blocked layout");
  p.m = rows ? a.dims[a.rank - 2] : 1;
  p.k = a.dims[a.rank - 1];
  p.n = columns ? w->dims[w->rank - 1].size : 1;
  if (w->layout) {
    if (!glow_kernel_takes(glow_find_dot(), "b", s->isa, w->layout, blocks) ||
        !glow_view_is_dense(&b) || blocks[0] * blocks[2] < p.k)
      return glow_select_fail(s, "its right operand has a layout of another kernel");
    p.packed = blocks[0];
  } else {
    p.bk = b.strides[b.rank - 1 - columns];
    p.bn = columns ? b.strides[b.rank - 1] : 0;
    read_batch(&b, columns ? 2 : 1, &c, batch, p.b_batch);
  }
  p.am = rows ? a.strides[a.rank - 2] : 0;
  p.ak = a.strides[a.rank - 1];
  p.cm = rows ? c.strides[batch] : 0;
  p.cn = columns ? c.strides[c.rank - 1] : 1;
  p.a_signed = a.type->kind == GLOW_KIND_I8;
  p.b_signed = w->kind == GLOW_KIND_I8;
  read_batch(&a, rows ? 2 : 1, &c, batch, p.a_batch);
  read_batch(&c, rows + columns, &c, batch, p.c_batch);
  int64_t elements = p.m * p.n;
  for (uint32_t i = 0; i < GLOW_PRODUCT_BATCH; i++) {
    p.batch[i] = i < batch ? c.dims[i] : 1;
    elements *= p.batch[i];
  }
  if (!elements)
    return true;
  if (!read_zeros(s, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_AZERO), p.m, &at.a_zero, &p.a_zeros) ||
      !read_zeros(s, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_BZERO), p.n, &at.b_zero, &p.b_zeros))
    return false;
  batch_to_rows(&p);
  at.a = a.place;
  at.b = b.place;
  at.c = c.place;
  GlowSetup setup = {0};
  glow_setup_dot(&s->cpu, &p, &setup);
  glow_work_dot(s, n, &p, &setup, &at);
  return true;
}
