/* Gradient rules of pools.
 *
 *   MaxPool      dY is added to zeros where Argmax says: along rows, one for each image and
 * channel. Where windows lie side by side, dY is repeated over each, and chosen for the first
 *                element that is the largest; that takes no indices
 *   AveragePool  dY divided by the number of elements of each window goes to all of them: a
 *                ConvTranspose of each channel with ones, with strides of 1 a Convolution; where
 *                windows lie side by side, an Expand
 *
 * Extents must be known. */
#include "autodiff/parts.h"
#include "lower/window.h"

/* ---- MaxPool --------------------------------------------------------------------------------- */

/* Where each element of Y stood in X flattened in row-major order: a result of the node, or of the
 * same node with this result. */
static GlowValue *argmax_of(const GlowGrad *g) {
  const GlowNode *n = g->n;
  const GlowMaxPoolMembers *old = n->members;
  if (n->nresults > 1 && !old->column_major)
    return glow_node_out(n, GLOW_MAX_POOL_OUT_ARGMAX);
  GlowMaxPoolMembers m = *old;
  m.column_major = false;
  GlowValue *x = glow_grad_in(g, 0);
  GlowNodeSpec spec = {.op = GLOW_OP_MAX_POOL, .ins = &x, .nins = 1, .members = &m, .nresults = 2};
  GlowNode *again = glow_node_create(g->b, &spec);
  return again ? &again->results[1] : NULL;
}

/* Extents of windows that lie side by side and fill X. */
typedef struct Tiles {
  uint32_t spatial, first;
  int64_t kernel[GLOW_MAX_RANK], in[GLOW_MAX_RANK], taps;
} Tiles;

/* False if windows do not lie so, or if their elements cannot be numbered in X's kind. */
static bool find_tiles(const GlowGrad *g, Tiles *t) {
  const GlowMaxPoolMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  *t = (Tiles){.spatial = x->rank - 2, .first = m->layout == GLOW_LAYOUT_NHWC ? 1 : 2, .taps = 1};
  for (uint32_t i = 0; i < t->spatial; i++) {
    int64_t k = glow_listed(m->kernels, i, 1), out = y->dims[t->first + i].size;
    t->kernel[i] = k;
    t->in[i] = x->dims[t->first + i].size;
    t->taps *= k;
    if ((out > 1 && glow_listed(m->strides, i, 1) != k) || t->in[i] != out * k ||
        (k > 1 && glow_listed(m->dilations, i, 1) > 1) || glow_listed(m->pads, i, 0) ||
        t->in[i] > 1 << 16 || t->taps > 128)
      return false;
  }
  return true;
}

/* v repeated over its window. */
static GlowValue *over_tiles(const GlowGrad *g, const Tiles *t, GlowValue *v) {
  return glow_grad_repeated(g, v, t->first, t->in, t->spatial);
}

/* Minus the number of each element of X in its window, broadcast over images and channels. */
static GlowValue *minus_number(const GlowGrad *g, const Tiles *t) {
  const GlowType *x = glow_grad_in(g, 0)->type;
  int64_t step = 1;
  GlowValue *sum = NULL;
  for (uint32_t i = t->spatial; i-- > 0; step *= t->kernel[i]) {
    int64_t *list = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)t->in[i] + 1);
    for (int64_t k = 0; k < t->in[i]; k++)
      list[k] = -(k % t->kernel[i]) * step;
    GlowValue *v =
        glow_constant_numbers(g->b->module, g->n, "order", GLOW_KIND_I8, list, (uint32_t)t->in[i]);
    v = glow_build_along(g->b, g->n, v, x->rank, t->first + i);
    sum = sum ? glow_then2(g->b, GLOW_OP_ADD, sum, v) : v;
  }
  return sum;
}

/* The numbers of the elements that are the largest of their windows, NaN above all; the first of
 * them is where MaxPool finds the largest of these negative numbers. */
static GlowValue *chosen(const GlowGrad *g, const Tiles *t) {
  GlowValue *x = glow_grad_in(g, 0), *top = over_tiles(g, t, glow_node_out(g->n, 0));
  GlowValue *is_top = glow_then2(g->b, GLOW_OP_EQUAL, x, top);
  is_top = glow_then2(g->b, GLOW_OP_OR, is_top, glow_then1(g->b, GLOW_OP_IS_NAN, x, NULL));
  GlowValue *none = glow_build_scalar(g->b, GLOW_KIND_I8, -(double)t->taps);
  GlowValue *number = glow_then3(g->b, GLOW_OP_WHERE, is_top, minus_number(g, t), none);
  GlowMaxPoolMembers m = *(const GlowMaxPoolMembers *)g->n->members;
  GlowValue *first = glow_then1(g->b, GLOW_OP_MAX_POOL, number, &m);
  GlowValue *there = glow_then2(g->b, GLOW_OP_EQUAL, number, over_tiles(g, t, first));
  return glow_then3(g->b, GLOW_OP_WHERE, there, over_tiles(g, t, g->dy[0]),
                    glow_build_scalar(g->b, x->type->kind, 0));
}

bool glow_grad_max_pool(GlowGrad *g) {
  const GlowMaxPoolMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(y))
    return false;
  Tiles t;
  if (glow_type_elements(x) && find_tiles(g, &t))
    return glow_grad_put(g, 0, chosen(g, &t));
  /* Elements of X and Y in a row; with channels last the maps of an image are one row. */
  int64_t rows = x->dims[0].size * (m->layout == GLOW_LAYOUT_NHWC ? 1 : x->dims[1].size);
  if (rows == 0)
    return glow_grad_put(g, 0, glow_grad_zeros(g, 0));
  int64_t wide[] = {rows, glow_type_elements(x) / rows};
  int64_t narrow[] = {rows, glow_type_elements(y) / rows};
  GlowValue *at = glow_build_shaped(g->b, g->n, argmax_of(g), 2, narrow);
  at = glow_then2(g->b, GLOW_OP_MOD, at, glow_constant_int(g->b->module, g->n, "row", wide[1]));
  GlowScatterElementsMembers add = {.axis = 1, .reduction = GLOW_SCATTER_REDUCTION_ADD};
  GlowValue *zeros = glow_build_shaped(g->b, g->n, glow_grad_zeros(g, 0), 2, wide);
  GlowValue *dx = glow_grad_added(g, GLOW_OP_SCATTER_ELEMENTS, &add, zeros, at,
                                  glow_build_shaped(g->b, g->n, g->dy[0], 2, narrow));
  return glow_grad_put(g, 0, glow_grad_shaped(g, dx, x));
}

/* ---- AveragePool ----------------------------------------------------------------------------- */

typedef struct Windows {
  uint32_t spatial, first, channel; /* axes */
  int64_t in[GLOW_MAX_RANK], out[GLOW_MAX_RANK], kernel[GLOW_MAX_RANK], stride[GLOW_MAX_RANK];
  int64_t dilation[GLOW_MAX_RANK], before[GLOW_MAX_RANK], behind[GLOW_MAX_RANK];
} Windows;

static Windows windows_of(const GlowGrad *g) {
  const GlowAveragePoolMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  Windows w = {.spatial = x->rank - 2, .first = last ? 1 : 2, .channel = last ? x->rank - 1 : 1};
  for (uint32_t i = 0; i < w.spatial; i++) {
    w.in[i] = x->dims[w.first + i].size;
    w.out[i] = y->dims[w.first + i].size;
    w.kernel[i] = glow_listed(m->kernels, i, 1);
    w.stride[i] = glow_listed(m->strides, i, 1);
    w.dilation[i] = glow_listed(m->dilations, i, 1);
    w.before[i] = glow_listed(m->pads, i, 0);
    w.behind[i] = glow_listed(m->pads, w.spatial + i, 0);
  }
  return w;
}

/* How many taps of a window count, along spatial axis i: those in X, or also those in the padding.
 * Windows may reach further. */
static int64_t taps_of(const Windows *w, uint32_t i, int64_t window, bool with_padding) {
  int64_t low = with_padding ? -w->before[i] : 0, count = 0;
  int64_t high = w->in[i] + (with_padding ? w->behind[i] : 0);
  for (int64_t k = 0; k < w->kernel[i]; k++) {
    int64_t at = window * w->stride[i] - w->before[i] + k * w->dilation[i];
    count += at >= low && at < high;
  }
  return count;
}

/* v divided by the number of elements of each window, axis by axis. */
static GlowValue *shared(const GlowGrad *g, const Windows *w, GlowValue *v) {
  bool padding = ((const GlowAveragePoolMembers *)g->n->members)->count_include_pad;
  GlowKind kind = v->type->kind;
  for (uint32_t i = 0; v && i < w->spatial; i++) {
    int64_t *taps = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)w->out[i] + 1);
    bool same = true;
    for (int64_t k = 0; k < w->out[i]; k++) {
      taps[k] = taps_of(w, i, k, padding);
      same = same && taps[k] == taps[0];
    }
    GlowValue *by = same ? glow_build_scalar(g->b, kind, w->out[i] ? (double)taps[0] : 1)
                         : glow_build_along(g->b, g->n,
                                            glow_constant_numbers(g->b->module, g->n, "taps", kind,
                                                                  taps, (uint32_t)w->out[i]),
                                            v->type->rank, w->first + i);
    v = glow_then2(g->b, GLOW_OP_DIV, v, by);
  }
  return v;
}

/* Whether windows lie side by side and fill X. */
static bool tile_exactly(const Windows *w, uint32_t rank) {
  for (uint32_t i = 0; i < w->spatial; i++)
    if (w->before[i] || (w->out[i] > 1 && w->stride[i] != w->kernel[i]) ||
        (w->kernel[i] > 1 && w->dilation[i] > 1) || w->out[i] * w->kernel[i] != w->in[i])
      return false;
  return rank + w->spatial <= GLOW_MAX_RANK;
}

/* Each element of v repeated over its window. */
static GlowValue *repeated(const GlowGrad *g, const Windows *w, GlowValue *v) {
  const GlowType *t = v->type;
  int64_t narrow[GLOW_MAX_RANK], wide[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t a = 0; a < t->rank; a++) {
    bool spatial = a >= w->first && a < w->first + w->spatial;
    wide[rank] = narrow[rank] = t->dims[a].size;
    rank++;
    if (spatial) {
      narrow[rank] = 1;
      wide[rank++] = w->kernel[a - w->first];
    }
  }
  v = glow_build_shaped(g->b, g->n, v, rank, narrow);
  v = glow_then2(g->b, GLOW_OP_EXPAND, v,
                 glow_constant_ints(g->b->module, g->n, "repeated", wide, rank));
  return glow_grad_shaped(g, v, glow_grad_in(g, 0)->type);
}

/* The filter of ones of each channel. */
static GlowValue *ones_of(const GlowGrad *g, const Windows *w, const GlowType *t) {
  int64_t dims[GLOW_MAX_RANK];
  dims[0] = t->dims[w->channel].size;
  dims[w->channel] = 1;
  for (uint32_t i = 0; i < w->spatial; i++)
    dims[w->first + i] = w->kernel[i];
  return glow_build_filled(g->b, glow_type_exact(g->b->module->ctx, t->kind, t->rank, dims),
                           (GlowScalar){.f = 1});
}

/* Each element of v added to all elements of its window: with strides of 1 a Convolution. */
static GlowValue *spread(const GlowGrad *g, const Windows *w, GlowValue *v) {
  const GlowAveragePoolMembers *old = g->n->members;
  uint32_t pads[2 * GLOW_MAX_RANK], around[2 * GLOW_MAX_RANK], more[GLOW_MAX_RANK], n = w->spatial;
  uint32_t channels = (uint32_t)v->type->dims[w->channel].size;
  bool slides = true;
  for (uint32_t i = 0; i < n; i++) {
    int64_t window = (w->kernel[i] - 1) * w->dilation[i];
    int64_t over = (w->out[i] - 1) * w->stride[i] + window + 1 - w->before[i] - w->in[i];
    pads[i] = (uint32_t)w->before[i];
    pads[n + i] = over > 0 ? (uint32_t)over : 0;
    more[i] = over < 0 ? (uint32_t)-over : 0;
    around[i] = (uint32_t)(window - w->before[i]);
    around[n + i] = (uint32_t)(window - over);
    slides = slides && w->stride[i] == 1 && over <= window && w->before[i] <= window;
  }
  GlowModule *m = g->b->module;
  GlowValue *ins[] = {v, ones_of(g, w, v->type)};
  if (slides)
    return glow_then(g->b, GLOW_OP_CONVOLUTION, ins, 2,
                     &(GlowConvolutionMembers){.layout = old->layout,
                                               .group = channels,
                                               .pads = glow_array_u32(m, around, 2 * n),
                                               .dilations = old->dilations});
  GlowConvTransposeMembers members = {.layout = old->layout,
                                      .group = channels,
                                      .strides = old->strides,
                                      .pads = glow_array_u32(m, pads, 2 * n),
                                      .dilations = old->dilations,
                                      .output_padding = glow_array_u32(m, more, n)};
  return glow_then(g->b, GLOW_OP_CONV_TRANSPOSE, ins, 2, &members);
}

bool glow_grad_average_pool(GlowGrad *g) {
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(y))
    return false;
  if (glow_type_elements(x) == 0 || glow_type_elements(y) == 0)
    return glow_grad_put(g, 0, glow_grad_zeros(g, 0));
  Windows w = windows_of(g);
  GlowValue *v = shared(g, &w, g->dy[0]);
  if (!v)
    return false;
  return glow_grad_put(g, 0, tile_exactly(&w, x->rank) ? repeated(g, &w, v) : spread(g, &w, v));
}
