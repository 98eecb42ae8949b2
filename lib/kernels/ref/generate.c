/* Constants, ranges, and what is known from a shape. */
#include "kernels/ref/ref.h"

/* Every element, then zero in the padding lanes. */
static void fill(GlowBuf *out, GlowScalar value) {
  if (glow_buf_elements(out) == 0)
    return;
  uint64_t one[2] = {0, 0};
  GlowBuf element = *out;
  element.data = one;
  if (value.is_int && glow_ref_class(out) >= GLOW_ROW_INT)
    glow_store_int(&element, 0, 1, 1, &value.i);
  else
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

/* ---- Range -------------------------------------------------------------------------------------
 */

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
