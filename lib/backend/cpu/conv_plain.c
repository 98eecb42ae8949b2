/* Convolutions over plain layouts, transposed ones too: what has no kernel of its own. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

/* A Convolution or a ConvTranspose. */
typedef struct Plain {
  bool transposed, nhwc;
  GlowView x, w, b, y;
  bool has_bias;
  int64_t groups;
  GlowArray strides, pads, dilations;
} Plain;

static bool read_views(GlowSelect *s, const GlowNode *n, Plain *c) {
  const GlowValue *bias = glow_node_in(n, 2);
  c->has_bias = bias != NULL;
  return glow_select_view(s, glow_node_out(n, 0), &c->y) &&
         glow_select_view(s, glow_node_in(n, 0), &c->x) &&
         glow_select_view(s, glow_node_in(n, 1), &c->w) &&
         (!bias || glow_select_view(s, bias, &c->b));
}

static bool read_extents(GlowSelect *s, const Plain *c, GlowConvPlainParams *p) {
  uint32_t rank = c->y.rank, channel = c->nhwc ? rank - 1 : 1, first = c->nhwc ? 1 : 2;
  if (rank < 3 || c->x.rank != rank || c->w.rank != rank || rank - 2 > GLOW_CONV_AXES)
    return glow_select_fail(s, "it has no spatial axes");
  p->groups = c->groups ? c->groups : 1;
  p->images = c->y.dims[0];
  p->axes = rank - 2;
  p->taps = 1;
  for (uint32_t i = 0; i < p->axes; i++) {
    p->in[i] = c->x.dims[first + i];
    p->out[i] = c->y.dims[first + i];
    p->window[i] = c->w.dims[first + i];
    p->stride[i] = glow_listed(c->strides, i, 1);
    p->dilation[i] = glow_listed(c->dilations, i, 1);
    p->pad[i] = glow_listed(c->pads, i, 0);
    p->xs[i] = c->x.strides[first + i];
    p->ys[i] = c->y.strides[first + i];
    p->taps *= p->window[i];
  }
  p->ic = c->transposed ? c->w.dims[0] / p->groups : c->w.dims[channel];
  p->oc = c->transposed ? c->w.dims[channel] : c->w.dims[0] / p->groups;
  if (c->x.dims[channel] != p->ic * p->groups || c->y.dims[channel] != p->oc * p->groups ||
      c->x.dims[0] != p->images || (c->has_bias && c->b.strides[0] != 1))
    return glow_select_fail(s, "its operands do not fit each other");
  p->xn = c->x.strides[0];
  p->xc = c->x.strides[channel];
  p->yn = c->y.strides[0];
  p->yc = c->y.strides[channel];
  return true;
}

/* Strides of a dense filter: [O, I, taps] or [O, taps, I], and O and I change places if it is
 * transposed. */
static void filter_strides(const Plain *c, GlowConvPlainParams *p) {
  int64_t inner = c->transposed ? p->oc : p->ic;
  int64_t outer_stride = inner * p->taps, inner_stride = c->nhwc ? 1 : p->taps;
  p->wo = c->transposed ? inner_stride : outer_stride;
  p->wc = c->transposed ? outer_stride : inner_stride;
  p->wt = c->nhwc ? inner : 1;
  p->wg = p->ic * p->oc * p->taps;
}

static bool select_plain(GlowSelect *s, const GlowNode *n, const Plain *c) {
  GlowConvPlainParams p = {.transposed = c->transposed, .bias = c->has_bias};
  if (!glow_conv_element(c->y.type, &p.element))
    return glow_select_fail(s, "it is not of float, float16 or bfloat16");
  if (c->x.type->kind != c->y.type->kind)
    return glow_select_fail(s, "its input and its result differ in kind");
  if (c->x.type->layout || c->w.type->layout || c->y.type->layout || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "no kernel takes its layouts");
  if (!read_extents(s, c, &p))
    return false;
  filter_strides(c, &p);
  if (!glow_view_extent(&c->y, 0, c->y.rank))
    return true; /* no elements */
  GlowSetup setup = {0};
  glow_setup_conv_plain(&s->cpu, &p, &setup);
  GlowConvPlainPlaces at = {.y = c->y.place,
                            .x = c->x.place,
                            .w = c->w.place,
                            .bias = c->has_bias ? c->b.place : glow_place_absent()};
  glow_work_conv_plain(s, n, &p, &setup, &at);
  return true;
}

bool glow_select_conv_plain(GlowSelect *s, const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  Plain c = {.nhwc = m->layout == GLOW_LAYOUT_NHWC,
             .groups = m->group,
             .strides = m->strides,
             .pads = m->pads,
             .dilations = m->dilations};
  if (m->strategy != GLOW_CONV_STRATEGY_DIRECT)
    return glow_select_fail(s, "only the strategy 'direct' takes plain layouts");
  return read_views(s, n, &c) && select_plain(s, n, &c) && glow_select_epilogue(s, n);
}

bool glow_select_conv_transpose(GlowSelect *s, const GlowNode *n) {
  const GlowConvTransposeMembers *m = n->members;
  Plain c = {.transposed = true,
             .nhwc = m->layout == GLOW_LAYOUT_NHWC,
             .groups = m->group,
             .strides = m->strides,
             .pads = m->pads,
             .dilations = m->dilations};
  return read_views(s, n, &c) && select_plain(s, n, &c) && glow_select_epilogue(s, n);
}
