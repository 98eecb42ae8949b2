/* Gradient rules of Convolution, ConvTranspose and FilterGradient, which are each other's: with
 * y = Convolution(x, w), all in the order NCHW,
 *
 *   by x  ConvTranspose(dy, w); with strides of 1 a Convolution of dy with w turned around; where
 *         windows of one place have strides, a Convolution, whose results lie between zeros
 *   by w  FilterGradient(x, dy)
 *   by b  the sum of dy over images and places
 *
 * y = ConvTranspose(x, w) is the derivative of a Convolution, so by x it is Convolution(dy, w), by
 * w FilterGradient(dy, x); dw = FilterGradient(x, dy) has ConvTranspose(dy, .) and Convolution(x,
 * .). Extents of places must be known; that of the batch may be open. */
#include "autodiff/parts.h"
#include "lower/window.h"

/* The numbers of a convolution from `large` maps to `small` ones, for each spatial axis. */
typedef struct Slide {
  uint32_t rank, spatial, group;
  int64_t kernel[GLOW_MAX_RANK], stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  int64_t before[GLOW_MAX_RANK]; /* padding in front */
  int64_t large[GLOW_MAX_RANK], small[GLOW_MAX_RANK];
  /* From the first place of the first window to the last place of the last one. */
  int64_t reach[GLOW_MAX_RANK];
  bool last; /* channels are the last axis of maps: NHWC */
} Slide;

static Slide slide_of(int layout, uint32_t rank, uint32_t group, GlowArray strides, GlowArray pads,
                      GlowArray dilations) {
  Slide s = {.rank = rank, .spatial = rank - 2, .group = group};
  s.last = layout == GLOW_LAYOUT_NHWC;
  for (uint32_t i = 0; i < s.spatial; i++) {
    s.stride[i] = glow_listed(strides, i, 1);
    s.before[i] = glow_listed(pads, i, 0);
    s.dilation[i] = glow_listed(dilations, i, 1);
  }
  return s;
}

/* Reads the extents of maps and filter, which are still in the node's order. False if one is not
 * known. */
static bool measure(Slide *s, const GlowType *large, const GlowType *small, const GlowType *w) {
  uint32_t first = s->last ? 1 : 2, channel = s->last ? s->rank - 1 : 1;
  if (large->unranked || small->unranked || !glow_type_is_static(w) ||
      large->dims[channel].kind != GLOW_DIM_EXACT || small->dims[channel].kind != GLOW_DIM_EXACT)
    return false;
  for (uint32_t i = 0; i < s->spatial; i++) {
    GlowDim a = large->dims[first + i], b = small->dims[first + i];
    if (a.kind != GLOW_DIM_EXACT || b.kind != GLOW_DIM_EXACT || b.size == 0)
      return false;
    s->large[i] = a.size;
    s->small[i] = b.size;
    s->kernel[i] = w->dims[first + i].size;
    s->reach[i] = (b.size - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] + 1;
  }
  return true;
}

/* Channels of maps, or the second axis of filters, moved behind the first axis. */
static GlowValue *to_nchw(const GlowGrad *g, const Slide *s, GlowValue *v) {
  uint32_t perm[GLOW_MAX_RANK] = {0, s->rank - 1};
  for (uint32_t i = 2; i < s->rank; i++)
    perm[i] = i - 1;
  return v && s->last ? glow_build_permuted(g->b, v, perm, s->rank) : v;
}

static GlowValue *from_nchw(const GlowGrad *g, const Slide *s, GlowValue *v) {
  uint32_t perm[GLOW_MAX_RANK] = {0};
  perm[s->rank - 1] = 1;
  for (uint32_t i = 1; i + 1 < s->rank; i++)
    perm[i] = i + 1;
  return v && s->last ? glow_build_permuted(g->b, v, perm, s->rank) : v;
}

static GlowArray list(const GlowGrad *g, const int64_t *values, uint32_t count) {
  uint32_t small[2 * GLOW_MAX_RANK];
  for (uint32_t i = 0; i < count; i++)
    small[i] = (uint32_t)values[i];
  return glow_array_u32(g->b->module, small, count);
}

/* ---- From large to small maps ---------------------------------------------------------------- */

/* The padding behind with which large maps have as many windows as small ones have places. What
 * lies behind the last window is cut off from *large if there is room for one more. */
static bool fit(const GlowGrad *g, const Slide *s, GlowValue **large, int64_t *pads) {
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t used = s->reach[i] - s->before[i];
    pads[i] = s->before[i];
    pads[s->spatial + i] = used > s->large[i] ? used - s->large[i] : 0;
    if (s->large[i] - used >= s->stride[i] && *large)
      *large = glow_build_part(g->b, g->n, *large, 2 + i, 0, used, 1);
  }
  return *large != NULL;
}

static GlowValue *convolved(const GlowGrad *g, const Slide *s, GlowValue *large, GlowValue *w) {
  int64_t pads[2 * GLOW_MAX_RANK];
  if (!w || !fit(g, s, &large, pads))
    return NULL;
  GlowConvolutionMembers m = {.layout = GLOW_LAYOUT_NCHW,
                              .group = s->group,
                              .strides = list(g, s->stride, s->spatial),
                              .pads = list(g, pads, 2 * s->spatial),
                              .dilations = list(g, s->dilation, s->spatial)};
  return glow_then(g->b, GLOW_OP_CONVOLUTION, (GlowValue *[]){large, w}, 2, &m);
}

static GlowValue *filter_gradient(const GlowGrad *g, const Slide *s, GlowValue *large,
                                  GlowValue *small) {
  int64_t pads[2 * GLOW_MAX_RANK];
  if (!small || !fit(g, s, &large, pads))
    return NULL;
  GlowFilterGradientMembers m = {.kernels = list(g, s->kernel, s->spatial),
                                 .group = s->group,
                                 .strides = list(g, s->stride, s->spatial),
                                 .pads = list(g, pads, 2 * s->spatial),
                                 .dilations = list(g, s->dilation, s->spatial)};
  return glow_then(g->b, GLOW_OP_FILTER_GRADIENT, (GlowValue *[]){large, small}, 2, &m);
}

/* ---- From small to large maps ---------------------------------------------------------------- */

/* The filter [group * out, in, window] as [group * in, out, window], turned around. */
static GlowValue *turned(const GlowGrad *g, const Slide *s, GlowValue *w) {
  const GlowType *t = w->type;
  int64_t group = s->group, out = t->dims[0].size / group, in = t->dims[1].size;
  int64_t split[GLOW_MAX_RANK + 1] = {group, out, in}, joined[GLOW_MAX_RANK] = {group * in, out};
  uint32_t perm[GLOW_MAX_RANK + 1] = {0, 2, 1};
  for (uint32_t i = 2; i < s->rank; i++) {
    split[1 + i] = joined[i] = t->dims[i].size;
    perm[1 + i] = 1 + i;
  }
  if (group == 1) {
    for (uint32_t i = 0; i < s->rank; i++)
      perm[i] = perm[1 + i] - 1;
    w = glow_build_permuted(g->b, w, perm, s->rank);
  } else {
    w = glow_build_shaped(g->b, g->n, w, s->rank + 1, split);
    w = w ? glow_build_permuted(g->b, w, perm, s->rank + 1) : NULL;
    w = glow_build_shaped(g->b, g->n, w, s->rank, joined);
  }
  for (uint32_t i = 0; w && i < s->spatial; i++)
    if (s->kernel[i] > 1)
      w = glow_build_part(g->b, g->n, w, 2 + i, -1, INT64_MIN, -1);
  return w;
}

/* Whether a Convolution with the filter turned around spreads small maps to large ones: strides
 * are 1, and no padding is larger than the window. Sets that padding. */
static bool spreads_by_convolution(const Slide *s, int64_t *pads) {
  if (s->group > 1 && s->rank == GLOW_MAX_RANK) /* turned() needs one more axis */
    return false;
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t window = (s->kernel[i] - 1) * s->dilation[i];
    pads[i] = window - s->before[i];
    pads[s->spatial + i] = s->large[i] - s->small[i] + s->before[i];
    if (s->stride[i] != 1 || pads[i] < 0 || pads[s->spatial + i] < 0)
      return false;
  }
  return true;
}

static GlowValue *convolved_turned(const GlowGrad *g, const Slide *s, GlowValue *small,
                                   GlowValue *w, const int64_t *pads) {
  GlowConvolutionMembers m = {.layout = GLOW_LAYOUT_NCHW,
                              .group = s->group,
                              .pads = list(g, pads, 2 * s->spatial),
                              .dilations = list(g, s->dilation, s->spatial)};
  return glow_then(g->b, GLOW_OP_CONVOLUTION, (GlowValue *[]){small, turned(g, s, w)}, 2, &m);
}

/* Whether windows of one place have strides that divide the large maps: each place of a small map
 * lies at the first of the places that it has in the large one. */
static bool has_places_apart(const Slide *s) {
  bool apart = false;
  if (s->group > 1 && s->rank == GLOW_MAX_RANK)
    return false;
  for (uint32_t i = 0; i < s->spatial; i++) {
    apart |= s->stride[i] > 1;
    if (s->kernel[i] != 1 || s->before[i] || s->large[i] != s->small[i] * s->stride[i])
      return false;
  }
  return apart;
}

/* Where small maps have their places in large ones, broadcast over images and channels. */
static GlowValue *places_of(const GlowGrad *g, const Slide *s) {
  GlowValue *all = NULL;
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t *first = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)s->large[i] + 1);
    for (int64_t k = 0; k < s->large[i]; k++)
      first[k] = k % s->stride[i] == 0;
    if (s->stride[i] == 1)
      continue;
    GlowValue *v = glow_constant_numbers(g->b->module, g->n, "places", GLOW_KIND_BOOL, first,
                                         (uint32_t)s->large[i]);
    v = glow_build_along(g->b, g->n, v, s->rank, 2 + i);
    all = all ? glow_then2(g->b, GLOW_OP_AND, all, v) : v;
  }
  return all;
}

/* Small maps convolved with the filter turned around, with zeros between the results. */
static GlowValue *spread_places(const GlowGrad *g, const Slide *s, GlowValue *small, GlowValue *w) {
  const int64_t none[2 * GLOW_MAX_RANK] = {0};
  GlowValue *v = convolved_turned(g, s, small, w, none);
  v = glow_grad_repeated(g, v, 2, s->large, s->spatial);
  return v ? glow_then3(g->b, GLOW_OP_WHERE, places_of(g, s), v,
                        glow_build_scalar(g->b, v->type->kind, 0))
           : NULL;
}

/* What lies between the last window and the end of large maps is padding of the result, or cut off
 * from it. */
static GlowValue *spread(const GlowGrad *g, const Slide *s, GlowValue *small, GlowValue *w) {
  int64_t pads[2 * GLOW_MAX_RANK], more[GLOW_MAX_RANK];
  if (!small || !w)
    return NULL;
  if (spreads_by_convolution(s, pads))
    return convolved_turned(g, s, small, w, pads);
  if (has_places_apart(s))
    return spread_places(g, s, small, w);
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t over = s->reach[i] - s->before[i] - s->large[i];
    pads[i] = s->before[i];
    pads[s->spatial + i] = over > 0 ? over : 0;
    more[i] = over < 0 ? -over : 0;
  }
  GlowConvTransposeMembers m = {.layout = GLOW_LAYOUT_NCHW,
                                .group = s->group,
                                .strides = list(g, s->stride, s->spatial),
                                .pads = list(g, pads, 2 * s->spatial),
                                .dilations = list(g, s->dilation, s->spatial),
                                .output_padding = list(g, more, s->spatial)};
  return glow_then(g->b, GLOW_OP_CONV_TRANSPOSE, (GlowValue *[]){small, w}, 2, &m);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* The derivative by the bias, operand 2. */
static bool by_bias(GlowGrad *g, GlowValue *dy) {
  int64_t axes[GLOW_MAX_RANK] = {0};
  if (glow_node_nins(g->n) < 3 || !g->wanted[2])
    return true;
  for (uint32_t i = 2; dy && i < dy->type->rank; i++)
    axes[i - 1] = i;
  return dy && glow_grad_put(g, 2, glow_grad_summed(g, dy, axes, dy->type->rank - 1));
}

bool glow_grad_convolution(GlowGrad *g) {
  const GlowConvolutionMembers *m = g->n->members;
  GlowValue *x = glow_grad_in(g, 0), *w = glow_grad_in(g, 1), *dy = g->dy[0];
  if (m->strategy != GLOW_CONV_STRATEGY_DIRECT) {
    bool winograd = m->strategy == GLOW_CONV_STRATEGY_WINOGRAD;
    glow_error(g->b->module->ctx, glow_node_loc(g->n),
               "Convolution with strategy = %s has no derivative; differentiate before -%s",
               winograd ? "winograd" : "bf16", winograd ? "winograd" : "use-bf16");
    return false;
  }
  if (x->type->unranked)
    return false;
  Slide s = slide_of(m->layout, x->type->rank, m->group, m->strides, m->pads, m->dilations);
  if (!measure(&s, x->type, dy->type, w->type))
    return false;
  dy = to_nchw(g, &s, dy);
  if (g->wanted[0] && !glow_grad_put(g, 0, from_nchw(g, &s, spread(g, &s, dy, to_nchw(g, &s, w)))))
    return false;
  if (g->wanted[1] &&
      !glow_grad_put(g, 1, from_nchw(g, &s, filter_gradient(g, &s, to_nchw(g, &s, x), dy))))
    return false;
  return by_bias(g, dy);
}

bool glow_grad_conv_transpose(GlowGrad *g) {
  const GlowConvTransposeMembers *m = g->n->members;
  GlowValue *x = glow_grad_in(g, 0), *w = glow_grad_in(g, 1), *dy = g->dy[0];
  if (x->type->unranked)
    return false;
  Slide s = slide_of(m->layout, x->type->rank, m->group, m->strides, m->pads, m->dilations);
  if (!measure(&s, dy->type, x->type, w->type))
    return false;
  dy = to_nchw(g, &s, dy);
  if (g->wanted[0] &&
      !glow_grad_put(g, 0, from_nchw(g, &s, convolved(g, &s, dy, to_nchw(g, &s, w)))))
    return false;
  if (g->wanted[1] &&
      !glow_grad_put(g, 1, from_nchw(g, &s, filter_gradient(g, &s, dy, to_nchw(g, &s, x)))))
    return false;
  return by_bias(g, dy);
}

bool glow_grad_filter_gradient(GlowGrad *g) {
  const GlowFilterGradientMembers *m = g->n->members;
  GlowValue *x = glow_grad_in(g, 0), *dy = glow_grad_in(g, 1), *dw = g->dy[0];
  if (x->type->unranked)
    return false;
  Slide s = slide_of(GLOW_LAYOUT_NCHW, x->type->rank, m->group, m->strides, m->pads, m->dilations);
  return measure(&s, x->type, dy->type, dw->type) &&
         (!g->wanted[0] || glow_grad_put(g, 0, spread(g, &s, dy, dw))) &&
         (!g->wanted[1] || glow_grad_put(g, 1, convolved(g, &s, x, dw)));
}
