/* Operators that make up their elements: constants, ranges, one-hot vectors, and what follows from
 * a shape. */
#include "kernels/ref/ref.h"

/* Sets every element to `value`, and the padding lanes to zero. */
static void fill(GlowBuf *out, GlowScalar value) {
  if (glow_buf_elements(out) == 0)
    return;
  uint64_t one[2] = {0, 0};
  GlowBuf element = *out;
  element.data = one;
  bool number = out->kind != GLOW_KIND_STRING && out->kind != GLOW_KIND_COMPLEX64 &&
                out->kind != GLOW_KIND_COMPLEX128; /* others are 0: no bits are set */
  if (number && value.is_int && glow_ref_class(out) >= GLOW_ROW_INT)
    glow_store_int(&element, 0, 1, 1, &value.i);
  else if (number)
    glow_ref_store_number(&element, 0, value.f);
  GlowBoxCopy c = {.dst = out->data, .src = one, .bits = glow_ref_bits(out->kind)};
  c.rank = glow_ref_physical(out, c.dims, c.dst_strides);
  glow_box_copy(&c);
  glow_ref_clear_padding(out);
}

GlowRunError glow_kernel_splat(GlowCall *call) {
  const GlowSplatMembers *m = call->members;
  fill(&call->out[0], m->value);
  return GLOW_RUN_OK;
}
GlowRunError glow_kernel_constant_of_shape(GlowCall *call) {
  const GlowConstantOfShapeMembers *m = call->members;
  fill(&call->out[0], m->value);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_shape(GlowCall *call) {
  const GlowShapeMembers *m = call->members;
  int64_t rank = call->in[0].rank, start = m->start < 0 ? m->start + rank : m->start;
  start = start < 0 ? 0 : start;
  for (int64_t i = 0; i < call->out[0].dims[0]; i++)
    glow_store_int(&call->out[0], i, 1, 1, &call->in[0].dims[start + i]);
  return GLOW_RUN_OK;
}
GlowRunError glow_kernel_size(GlowCall *call) {
  int64_t n = glow_buf_elements(&call->in[0]);
  glow_store_int(&call->out[0], 0, 1, 1, &n);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_eye_like(GlowCall *call) {
  const GlowEyeLikeMembers *m = call->members;
  GlowBuf *out = &call->out[0];
  int64_t rows = out->dims[0], columns = out->dims[1];
  if (glow_buf_elements(out) == 0)
    return GLOW_RUN_OK;
  glow_ref_clear(out);
  int64_t k = m->k < -rows ? -rows : m->k > columns ? columns : m->k;
  for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; i++)
    glow_ref_store_number(out, i * columns + i + k, 1);
  return GLOW_RUN_OK;
}

/* ---- OneHot ---------------------------------------------------------------------------------- */

/* Element i as an index: truncated. A number that does not fit becomes an index beyond every
 * extent. */
static int64_t index_of(const GlowBuf *b, int64_t i) {
  float f;
  double d;
  switch (glow_ref_class(b)) {
  case GLOW_ROW_FLOAT:
    glow_load_float(b, i, 1, 1, &f);
    return glow_trunc_i64((double)f);
  case GLOW_ROW_DOUBLE:
    glow_load_double(b, i, 1, 1, &d);
    return glow_trunc_i64(d);
  case GLOW_ROW_INT:
    return glow_ref_int(b, i);
  case GLOW_ROW_UINT:
    break;
  }
  int64_t v = glow_ref_int(b, i);
  return v < 0 ? INT64_MAX : v;
}

GlowRunError glow_kernel_one_hot(GlowCall *call) {
  const GlowOneHotMembers *m = call->members;
  const GlowBuf *indices = &call->in[0], *values = &call->in[2], *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, out->rank);
  int64_t depth = out->dims[axis], given = index_of(&call->in[1], 0);
  if (given != depth) {
    call->detail = given;
    return GLOW_RUN_SHAPE;
  }
  int64_t inner = glow_ref_extent(indices, axis, indices->rank);
  glow_ref_move(out, 0, values, 0, glow_buf_elements(out), 0);
  for (int64_t i = 0, n = glow_buf_elements(indices); i < n; i++) {
    int64_t v = index_of(indices, i), at = v < 0 ? v + depth : v;
    if (at >= 0 && at < depth)
      glow_ref_move(out, (i / inner * depth + at) * inner + i % inner, values, 1, 1, 1);
  }
  return GLOW_RUN_OK;
}

/* ---- Range ----------------------------------------------------------------------------------- */

/* Sets the result's extent; SHAPE if it is more than there is room for. */
static GlowRunError range_extent(GlowCall *call, double count) {
  GlowBuf *out = &call->out[0];
  if (!(count <= (double)out->dims[0])) {
    call->detail = count < 0x1p62 ? (int64_t)count : INT64_MAX;
    return count == count ? GLOW_RUN_SHAPE : GLOW_RUN_VALUE;
  }
  out->dims[0] = count > 0 ? (int64_t)count : 0;
  return GLOW_RUN_OK;
}

static GlowRunError range_ints(GlowCall *call) {
  int64_t start = glow_ref_int(&call->in[0], 0), limit = glow_ref_int(&call->in[1], 0);
  int64_t delta = glow_ref_int(&call->in[2], 0);
  if (delta == 0)
    return GLOW_RUN_VALUE;
  bool any = delta > 0 ? limit > start : limit < start;
  uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : (uint64_t)0 - (uint64_t)delta;
  GlowRunError e = range_extent(call, any ? (double)((span - 1) / step + 1) : 0);
  for (int64_t i = 0; e == GLOW_RUN_OK && i < call->out[0].dims[0]; i++) {
    int64_t v = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
    glow_store_int(&call->out[0], i, 1, 1, &v);
  }
  return e;
}

/* ceil((limit - start) / delta) elements start + i * delta, each operation in T. */
#define RANGE(T, LOAD, STORE)                                                                      \
  static GlowRunError range_##T(GlowCall *call) {                                                  \
    T start, limit, delta;                                                                         \
    LOAD(&call->in[0], 0, 1, 1, &start);                                                           \
    LOAD(&call->in[1], 0, 1, 1, &limit);                                                           \
    LOAD(&call->in[2], 0, 1, 1, &delta);                                                           \
    double span = ((double)limit - (double)start) / (double)delta;                                 \
    GlowRunError e = delta == 0 ? GLOW_RUN_VALUE : range_extent(call, glow_ceil(span));            \
    for (int64_t i = 0; e == GLOW_RUN_OK && i < call->out[0].dims[0]; i++) {                       \
      T v = start + (T)i * delta;                                                                  \
      STORE(&call->out[0], i, 1, 1, &v);                                                           \
    }                                                                                              \
    return e;                                                                                      \
  }
RANGE(float, glow_load_float, glow_store_float)
RANGE(double, glow_load_double, glow_store_double)

GlowRunError glow_kernel_range(GlowCall *call) {
  switch (glow_ref_class(&call->in[0])) {
  case GLOW_ROW_FLOAT:
    return range_float(call);
  case GLOW_ROW_DOUBLE:
    return range_double(call);
  default:
    return range_ints(call);
  }
}
