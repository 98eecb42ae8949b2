/* QuantizeLinear and DequantizeLinear: a scale and zero point for the whole tensor, for each slice
 * of an axis, or for each block of slices and place in them (ONNX, operator set 21). */
#include "kernels/ref/ref.h"

enum { ROW = 64 };

/* X as [outer][extent][inner]. Element [o][e][i] has the scale and zero point of number
 *
 * e                                              one for each slice (blocks is 0)
 * (o * blocks + e / block) * lanes + i % lanes   one for each block; 0 if there is one for all */
typedef struct GlowGrid {
  const GlowBuf *scale, *zero;
  int64_t outer, extent, inner;
  int64_t block, blocks, lanes;
} GlowGrid;

static GlowRunError misfit(GlowCall *call, int64_t extent) {
  call->detail = extent;
  return GLOW_RUN_SHAPE;
}

static GlowRunError grid_of(GlowCall *call, int64_t axis, int64_t block, GlowGrid *g) {
  const GlowBuf *x = &call->in[0], *scale = &call->in[1], *zero = &call->in[2];
  int64_t count = glow_buf_elements(scale);
  *g = (GlowGrid){.scale = scale, .zero = zero, .outer = 1, .extent = 1, .inner = 1};
  if (glow_buf_present(zero) && glow_buf_elements(zero) != count)
    return misfit(call, glow_buf_elements(zero));
  g->block = g->blocks = g->lanes = 1;
  if (count == 1 && block == 0) {
    g->inner = glow_buf_elements(x);
    return GLOW_RUN_OK;
  }
  uint32_t a = glow_ref_axis(axis, x->rank);
  if (a >= x->rank)
    return misfit(call, x->rank);
  for (uint32_t i = 0; i < x->rank; i++)
    *(i < a ? &g->outer : i == a ? &g->extent : &g->inner) *= x->dims[i];
  if (block == 0) {
    g->blocks = 0;
    return count == g->extent ? GLOW_RUN_OK : misfit(call, count);
  }
  g->block = block;
  g->blocks = (g->extent + block - 1) / block;
  g->lanes = g->inner;
  return count == g->outer * g->blocks * g->inner ? GLOW_RUN_OK : misfit(call, count);
}

/* A row of elements, all of one slice, with their parameters. */
typedef struct GlowQuantRow {
  int64_t at, count;
  float scale[ROW];
  double zero[ROW];
} GlowQuantRow;

static void load_parameters(const GlowGrid *g, int64_t from, int64_t step, GlowQuantRow *r) {
  int64_t n = step ? r->count : 1;
  float f[ROW] = {0};
  int64_t k[ROW] = {0};
  bool is_float = glow_buf_present(g->zero) && glow_ref_class(g->zero) == GLOW_ROW_FLOAT;
  glow_load_float(g->scale, from, 1, n, r->scale);
  if (is_float)
    glow_load_float(g->zero, from, 1, n, f);
  else if (glow_buf_present(g->zero))
    glow_load_int(g->zero, from, 1, n, k);
  for (int64_t i = 0; i < r->count; i++) {
    int64_t j = step ? i : 0;
    r->scale[i] = r->scale[j];
    r->zero[i] = is_float ? (double)f[j] : (double)k[j];
  }
}

typedef void GlowQuantRowFn(GlowCall *call, const GlowQuantRow *r);

static void each_row(GlowCall *call, const GlowGrid *g, GlowQuantRowFn *fn) {
  GlowQuantRow r = {.at = 0};
  for (int64_t o = 0; o < g->outer; o++)
    for (int64_t e = 0; e < g->extent; e++)
      for (int64_t i = 0; i < g->inner; i += ROW) {
        r.count = g->inner - i < ROW ? g->inner - i : ROW;
        if (g->blocks == 0)
          load_parameters(g, e, 0, &r);
        else if (g->lanes == 1)
          load_parameters(g, o * g->blocks + e / g->block, 0, &r);
        else
          load_parameters(g, (o * g->blocks + e / g->block) * g->lanes + i, 1, &r);
        fn(call, &r);
        r.at += r.count;
      }
}

static void load_numbers(const GlowBuf *b, int64_t at, int64_t n, float *v) {
  int64_t k[ROW];
  if (glow_ref_class(b) == GLOW_ROW_FLOAT) {
    glow_load_float(b, at, 1, n, v);
    return;
  }
  glow_load_int(b, at, 1, n, k);
  for (int64_t i = 0; i < n; i++)
    v[i] = (float)k[i];
}

/* v rounded to `kind`, the kind of the scale, in which the division is done. */
static float narrowed(GlowKind kind, float v) {
  return kind == GLOW_KIND_FLOAT16    ? glow_half_to_float(glow_half_from_float(v))
         : kind == GLOW_KIND_BFLOAT16 ? glow_bfloat_to_float(glow_bfloat_from_float(v))
                                      : v;
}

static void quantize_row(GlowCall *call, const GlowQuantRow *r) {
  const GlowQuantizeLinearMembers *m = call->members;
  GlowKind precision = call->in[1].kind;
  GlowBuf *y = &call->out[0];
  float v[ROW];
  int64_t q[ROW];
  load_numbers(&call->in[0], r->at, r->count, v);
  for (int64_t i = 0; i < r->count; i++)
    v[i] = narrowed(precision, narrowed(precision, v[i]) / r->scale[i]);
  if (glow_ref_class(y) == GLOW_ROW_FLOAT) {
    for (int64_t i = 0; i < r->count; i++)
      v[i] = narrowed(precision, v[i] + (float)r->zero[i]);
    glow_ref_store_small(y, r->at, r->count, v, m->saturate);
    return;
  }
  for (int64_t i = 0; i < r->count; i++)
    q[i] = glow_ref_clamped(y->kind, (double)glow_rintf(v[i]), (int64_t)r->zero[i]);
  glow_store_int(y, r->at, 1, r->count, q);
}

/* Integers are subtracted exactly; the difference becomes a float. */
static void dequantize_row(GlowCall *call, const GlowQuantRow *r) {
  const GlowBuf *x = &call->in[0];
  float v[ROW];
  int64_t k[ROW];
  if (glow_ref_class(x) == GLOW_ROW_FLOAT) {
    glow_load_float(x, r->at, 1, r->count, v);
    for (int64_t i = 0; i < r->count; i++)
      v[i] = v[i] - (float)r->zero[i];
  } else {
    glow_load_int(x, r->at, 1, r->count, k);
    for (int64_t i = 0; i < r->count; i++)
      v[i] = (float)(k[i] - (int64_t)r->zero[i]);
  }
  for (int64_t i = 0; i < r->count; i++)
    v[i] *= r->scale[i];
  glow_store_float(&call->out[0], r->at, 1, r->count, v);
}

GlowRunError glow_kernel_quantize_linear(GlowCall *call) {
  const GlowQuantizeLinearMembers *m = call->members;
  GlowGrid g;
  GlowRunError e = grid_of(call, m->axis, m->block, &g);
  if (e == GLOW_RUN_OK)
    each_row(call, &g, quantize_row);
  return e;
}

GlowRunError glow_kernel_dequantize_linear(GlowCall *call) {
  const GlowDequantizeLinearMembers *m = call->members;
  GlowGrid g;
  GlowRunError e = grid_of(call, m->axis, m->block, &g);
  if (e == GLOW_RUN_OK)
    each_row(call, &g, dequantize_row);
  return e;
}

/* X and Y are of the same layout, and so is each element's place; what no index names stays 0. */
GlowRunError glow_kernel_lookup_table(GlowCall *call) {
  const GlowBuf *x = &call->in[0], *table = &call->in[1];
  GlowBuf *y = &call->out[0];
  const uint8_t *from = x->data, *results = table->data;
  uint8_t *to = y->data;
  int64_t index[GLOW_MAX_RANK] = {0};
  if (table->dims[0] != 256)
    return misfit(call, table->dims[0]);
  if (y->nblocks) {
    int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL], bytes = 1;
    for (uint32_t a = glow_ref_physical(y, dims, strides); a-- > 0;)
      bytes *= dims[a];
    __builtin_memset(to, 0, (size_t)bytes);
  }
  if (glow_buf_elements(x) > 0)
    do
      to[glow_index_offset(y, index)] = results[from[glow_index_offset(x, index)]];
    while (glow_next_index(x->rank, x->dims, index));
  return GLOW_RUN_OK;
}
