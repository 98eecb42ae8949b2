/* Rules for pools over windows. They have kernels; -lower=all brings them down:
 *
 *   AveragePool  a depthwise Convolution with ones, divided by the number of elements. It adds in
 *                the order of the mean; a tap in the padding adds 0 to a sum that is never -0
 *   LpPool       the sums of such a Convolution of |X|^p, then the p-th root
 *   MaxPool      Gather of the taps of each window, then TopK with k = 1, which takes the first of
 *                equals. A tap in the padding reads the element of the first tap inside
 *
 * All extents must be known. */
#include <math.h>

#include "lower/window.h"
#include "ops/lower.h"

/* A pool of X with the spatial axes from `first` on. */
typedef struct Pool {
  GlowBuilder *b;
  const GlowNode *n;
  const GlowType *x, *y;
  GlowSlide s;
  int64_t after[GLOW_MAX_RANK]; /* padding behind the last place */
  uint32_t first, channel;      /* the first spatial axis, the axis of the channels */
  int layout;
} Pool;

/* False while extents are open. */
static bool begin(Pool *p, GlowBuilder *b, const GlowNode *n, int layout, GlowArray kernels,
                  GlowArray strides, GlowArray pads, GlowArray dilations) {
  const GlowType *x = glow_node_in(n, 0)->type, *y = n->results[0].type;
  bool nhwc = layout == GLOW_LAYOUT_NHWC;
  if (!glow_type_is_static(x) || !glow_type_is_static(y) || x->layout || y->layout)
    return false;
  *p = (Pool){.b = b, .n = n, .x = x, .y = y, .first = nhwc ? 1 : 2, .layout = layout};
  p->channel = nhwc ? x->rank - 1 : 1;
  p->s = glow_slide_begin(x->rank - 2, strides, pads, dilations);
  for (uint32_t i = 0; i < p->s.spatial; i++) {
    p->s.in[i] = x->dims[p->first + i].size;
    p->s.out[i] = y->dims[p->first + i].size;
    p->s.kernel[i] = glow_listed(kernels, i, 1);
    p->after[i] = glow_listed(pads, p->s.spatial + i, 0);
  }
  glow_slide_finish(&p->s);
  return true;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* The sums of the windows of x, which is float or double. Windows of ceil mode may reach beyond the
 * padding; the Convolution gets enough padding at the end for them. */
static GlowValue *window_sums(const Pool *p, GlowValue *x) {
  GlowModule *m = p->b->module;
  uint32_t spatial = p->s.spatial, lists[4][2 * GLOW_MAX_RANK];
  int64_t dims[GLOW_MAX_RANK] = {0};
  if (!x)
    return NULL;
  for (uint32_t i = 0; i < spatial; i++) {
    int64_t reach = (p->s.out[i] - 1) * p->s.stride[i] + (p->s.kernel[i] - 1) * p->s.dilation[i];
    int64_t after = reach + 1 - p->s.in[i] - p->s.before[i];
    lists[0][i] = (uint32_t)p->s.stride[i];
    lists[1][i] = (uint32_t)p->s.before[i];
    lists[1][spatial + i] = (uint32_t)(after > 0 ? after : 0);
    lists[2][i] = (uint32_t)p->s.dilation[i];
    dims[p->first + i] = p->s.kernel[i];
  }
  dims[0] = p->x->dims[p->channel].size;
  dims[p->channel] = 1;
  GlowConvolutionMembers members = {.layout = p->layout,
                                    .group = (uint32_t)dims[0],
                                    .strides = glow_array_u32(m, lists[0], spatial),
                                    .pads = glow_array_u32(m, lists[1], 2 * spatial),
                                    .dilations = glow_array_u32(m, lists[2], spatial),
                                    .strategy = GLOW_CONV_STRATEGY_DIRECT};
  const GlowType *t = glow_type_exact(m->ctx, x->type->kind, p->x->rank, dims);
  GlowValue *ones = glow_build_filled(p->b, t, (GlowScalar){.f = 1});
  return glow_then(p->b, GLOW_OP_CONVOLUTION, (GlowValue *[]){x, ones}, 2, &members);
}

/* The number by which the sum of each window is divided; it lies along the spatial axes. With
 * `padding`, taps in the padding count; those that ceil mode has beyond the padding never do. */
static GlowValue *divisors(const Pool *p, bool padding) {
  const GlowSlide *s = &p->s;
  int64_t dims[GLOW_MAX_RANK];
  int64_t *counts = GLOW_NEW_ARRAY(p->b->module->arena, int64_t, (size_t)s->windows + 1);
  for (int64_t w = 0; w < s->windows; w++) {
    int64_t rest = w;
    counts[w] = 1;
    for (uint32_t i = s->spatial; i-- > 0; rest /= s->out[i]) {
      int64_t origin = rest % s->out[i] * s->stride[i] - s->before[i], inside = 0;
      int64_t end = s->in[i] + (padding ? p->after[i] : 0);
      for (int64_t k = 0; k < s->kernel[i]; k++) {
        int64_t at = origin + k * s->dilation[i];
        inside += (padding || at >= 0) && at < end;
      }
      counts[w] *= inside;
    }
  }
  for (uint32_t a = 0; a < p->x->rank; a++)
    dims[a] = a >= p->first && a < p->first + s->spatial ? s->out[a - p->first] : 1;
  GlowValue *list = glow_constant_ints(p->b->module, p->n, "count", counts, (uint32_t)s->windows);
  return glow_build_shaped(p->b, p->n, list, p->x->rank, dims);
}

/* v as the result of the node: of its kind, or quantized. */
static bool finish(const Pool *p, GlowValue *v, GlowValue **results) {
  if (v && p->y->quantized) {
    GlowNode *q = glow_node_create(
        p->b, &(GlowNodeSpec){.op = GLOW_OP_QUANTIZE, .ins = &v, .nins = 1, .types = &p->y});
    results[0] = q ? &q->results[0] : NULL;
  } else {
    results[0] = glow_then_cast(p->b, v, p->y->kind);
  }
  return results[0] != NULL;
}

static bool nothing(const Pool *p, GlowValue **results) {
  results[0] =
      glow_build_filled(p->b, p->y, (GlowScalar){.is_int = !glow_kind_is_float(p->y->kind)});
  return results[0] != NULL;
}

bool glow_lower_average_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowAveragePoolMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  Pool p;
  if (!begin(&p, b, n, m->layout, m->kernels, m->strides, m->pads, m->dilations))
    return false;
  if (glow_type_elements(p.y) == 0)
    return nothing(&p, results);
  x = p.x->quantized ? glow_then1(b, GLOW_OP_DEQUANTIZE, x, NULL)
                     : glow_then_cast(b, x, glow_sum_kind(p.x->kind));
  GlowValue *sum = window_sums(&p, x);
  if (!sum)
    return false;
  GlowValue *by = glow_then_cast(b, divisors(&p, m->count_include_pad), sum->type->kind);
  return finish(&p, glow_then2(b, GLOW_OP_DIV, sum, by), results);
}

bool glow_lower_lp_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowLpPoolMembers *m = n->members;
  GlowKind kind = glow_sum_kind(glow_node_in(n, 0)->type->kind);
  Pool p;
  if (!begin(&p, b, n, m->layout, m->kernels, m->strides, m->pads, m->dilations))
    return false;
  if (glow_type_elements(p.y) == 0)
    return nothing(&p, results);
  GlowValue *x = glow_then_cast(b, glow_node_in(n, 0), kind);
  if (m->p == 2) {
    x = glow_then2(b, GLOW_OP_MUL, x, x);
  } else {
    x = glow_then1(b, GLOW_OP_ABS, x, NULL);
    if (m->p != 1)
      x = glow_then2(b, GLOW_OP_POW, x, glow_build_scalar(b, kind, m->p));
  }
  GlowValue *v = window_sums(&p, x);
  double root = kind == GLOW_KIND_DOUBLE ? 1.0 / (double)m->p : (double)(1.0f / m->p);
  if (m->p == 2)
    v = glow_then1(b, GLOW_OP_SQRT, v, NULL);
  else if (m->p != 1)
    v = glow_then2(b, GLOW_OP_POW, v, glow_build_scalar(b, kind, root));
  return finish(&p, v, results);
}

/* ---- MaxPool --------------------------------------------------------------------------------- */

/* A flat list [windows, taps] of the place of each tap. A tap in the padding gets the place of the
 * first tap inside; if there is none, all taps of the window get `none`, and *empty is set. */
static GlowValue *tap_places(const Pool *p, bool column_major, int64_t none, bool *empty) {
  const GlowSlide *s = &p->s;
  int64_t count = s->windows * s->taps;
  int64_t *at = GLOW_NEW_ARRAY(p->b->module->arena, int64_t, (size_t)count + 1);
  for (int64_t w = 0; w < s->windows; w++) {
    int64_t *row = at + w * s->taps, first = -1;
    for (int64_t t = 0; t < s->taps; t++) {
      row[t] = glow_slide_place(s, w, t, column_major);
      first = first < 0 ? row[t] : first;
    }
    *empty |= first < 0;
    for (int64_t t = 0; t < s->taps; t++)
      row[t] = row[t] >= 0 ? row[t] : first < 0 ? none : first;
  }
  return glow_constant_ints(p->b->module, p->n, "taps", at, (uint32_t)count);
}

/* The lowest number of the kind of X, as a slice of the map x along `axis`. */
static GlowValue *lowest(const Pool *p, GlowValue *x, uint32_t axis) {
  GlowKind kind = p->x->kind;
  const GlowKindInfo *info = &glow_kind_info[kind];
  GlowScalar low = {.is_int = info->cls != GLOW_CLASS_FLOAT};
  GlowDim dims[3];
  memcpy(dims, x->type->dims, sizeof dims);
  dims[axis] = GLOW_EXACT(1);
  if (info->cls == GLOW_CLASS_SINT)
    low.i = (int64_t)(~UINT64_C(0) << (info->bits - 1));
  low.f = low.is_int ? (double)low.i : -INFINITY;
  if (p->x->quantized)
    low = (GlowScalar){.f = ((double)low.i - p->x->offset) * (double)p->x->scale};
  return glow_build_filled(p->b, glow_type_with_dims(p->b->module->ctx, x->type, 3, dims), low);
}

/* The index of each maximum in X flattened; 0 where a window is empty. `best` has the number of its
 * tap in the window, with the windows along `axis`. */
static GlowValue *argmax(const Pool *p, GlowValue *best, uint32_t axis, bool column_major) {
  GlowBuilder *b = p->b;
  const GlowNode *n = p->n;
  int64_t channels = p->x->dims[p->channel].size, batch = p->x->dims[0].size;
  bool empty = false, nhwc = axis == 1;
  GlowValue *taps = tap_places(p, column_major, -1, &empty);
  GlowValue *row = glow_build_along(b, n, glow_build_count(b, n, p->s.windows, p->s.taps), 3, axis);
  GlowValue *at = glow_then2(b, GLOW_OP_ADD, best, row);
  at = glow_build_shaped(b, n, at, 4,
                         nhwc ? (int64_t[]){batch, p->s.windows, channels, 1}
                              : (int64_t[]){batch, channels, p->s.windows, 1});
  GlowValue *place = glow_then2(b, GLOW_OP_GATHER_ND, taps, at), *flat;
  GlowValue *each = glow_build_count(b, n, nhwc ? batch : batch * channels, p->s.places);
  each = glow_build_shaped(b, n, each, 3, (int64_t[]){batch, nhwc ? 1 : channels, 1});
  flat = glow_then2(b, GLOW_OP_ADD, place, each);
  if (nhwc) {
    flat = glow_then2(b, GLOW_OP_MUL, flat, glow_constant_int(b->module, n, "channels", channels));
    flat = glow_then2(b, GLOW_OP_ADD, flat,
                      glow_build_along(b, n, glow_build_count(b, n, channels, 1), 3, 2));
  }
  if (empty) {
    GlowValue *zero = glow_constant_int(b->module, n, "zero", 0);
    flat = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, place, zero), zero, flat);
  }
  return flat;
}

/* TopK of the taps. The values keep their bits; if they are quantized, their type has Y's scale and
 * offset. */
static GlowNode *largest(const Pool *p, GlowValue *taps, uint32_t axis) {
  GlowTopKMembers members = {.k = 1, .axis = axis, .largest = true, .sorted = true};
  GlowContext *ctx = p->b->module->ctx;
  GlowDim dims[4];
  memcpy(dims, taps->type->dims, sizeof dims);
  dims[axis] = GLOW_EXACT(1);
  const GlowType *index = glow_type_scalar(ctx, GLOW_KIND_I64);
  const GlowType *types[] = {glow_type_with_dims(ctx, p->y, 4, dims),
                             glow_type_with_dims(ctx, index, 4, dims)};
  return glow_node_create(p->b, &(GlowNodeSpec){.op = GLOW_OP_TOP_K,
                                                .ins = &taps,
                                                .nins = 1,
                                                .members = &members,
                                                .types = types,
                                                .nresults = 2});
}

bool glow_lower_max_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowMaxPoolMembers *m = n->members;
  int64_t dims[GLOW_MAX_RANK];
  bool empty = false;
  Pool p;
  if (!begin(&p, b, n, m->layout, m->kernels, m->strides, m->pads, m->dilations))
    return false;
  if (glow_type_elements(p.y) == 0) {
    if (n->nresults > 1)
      results[1] = glow_build_filled(b, n->results[1].type, (GlowScalar){.is_int = true});
    return nothing(&p, results);
  }
  int64_t batch = p.x->dims[0].size, channels = p.x->dims[p.channel].size;
  uint32_t axis = m->layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  int64_t flat[] = {batch, axis == 1 ? p.s.places : channels, axis == 1 ? channels : p.s.places};
  GlowValue *x = glow_build_shaped(b, n, glow_node_in(n, 0), 3, flat);
  GlowValue *taps = tap_places(&p, false, p.s.places, &empty);
  if (empty && x)
    x = glow_build_concat(b, (GlowValue *[]){x, lowest(&p, x, axis)}, 2, axis);
  taps = glow_build_shaped(b, n, taps, 2, (int64_t[]){p.s.windows, p.s.taps});
  x = x && taps ? glow_build_picked(b, x, taps, axis) : NULL;
  GlowNode *top = x ? largest(&p, x, axis + 1) : NULL;
  if (!top)
    return false;
  for (uint32_t i = 0; i < p.y->rank; i++)
    dims[i] = p.y->dims[i].size;
  results[0] = glow_build_shaped(b, n, &top->results[0], p.y->rank, dims);
  if (n->nresults > 1) {
    flat[axis] = p.s.windows;
    GlowValue *best = glow_build_shaped(b, n, &top->results[1], 3, flat);
    results[1] = glow_build_shaped(b, n, argmax(&p, best, axis, m->column_major), p.y->rank, dims);
  }
  return results[0] != NULL && (n->nresults < 2 || results[1] != NULL);
}
