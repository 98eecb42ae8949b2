/* Convolutions: which kernel is for what. The layouts that each takes stand in its row of
 * lib/kernels/conv.ops.
 *
 *   conv        one group, or whole blocks of channels in each
 *   conv_few    one group of at most 15 channels, which are stored plain
 *   depthwise   one channel in and out of each group
 *   conv_stored, depthwise_stored  those whose input or output is stored in 16 bits
 *   winograd    that strategy
 *   bf16        that strategy
 *   conv_plain  plain layouts: anything, of any rank and in any order
 *
 * A block of the filter has 16 input channels. Where a group has fewer, the block may have their
 * number, which is faster: then no row of the filter is padding (OIHW3i32o for RGB images, and
 * OIHW32o for one channel). */
#include "backend/cpu/conv.h"
#include "ir/infer.h"
#include "target/cpu/requantize.h"
#include "target/cpu/rows.h"
#include "target/cpu/rules.h"

#include <string.h>

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_views(GlowSelect *s, const GlowNode *n, GlowConvView *c) {
  const GlowValue *bias = glow_node_in(n, GLOW_CONVOLUTION_IN_B);
  c->m = n->members;
  c->has_bias = bias != NULL;
  if (!glow_select_view(s, glow_node_out(n, 0), &c->y) ||
      !glow_select_view(s, glow_node_in(n, GLOW_CONVOLUTION_IN_X), &c->x) ||
      !glow_select_view(s, glow_node_in(n, GLOW_CONVOLUTION_IN_W), &c->w) ||
      (bias && !glow_select_view(s, bias, &c->b)))
    return false;
  c->map = c->y;
  c->pools = c->m->pool_kernels.count > 0;
  if (c->pools)
    glow_view_dense(glow_node_map(n), &c->map);
  return true;
}

static void read_geometry(GlowConvView *c) {
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->map.type;
  bool winograd = c->m->strategy == GLOW_CONV_STRATEGY_WINOGRAD; /* its filter is transformed */
  c->g = (GlowConvGeometry){
      .oh = y->dims[2].size,
      .ow = y->dims[3].size,
      .oc = c->oc,
      .ih = x->dims[2].size,
      .iw = x->dims[3].size,
      .ic = c->ic,
      .kh = winograd ? 3 : w->dims[2].size,
      .kw = winograd ? 3 : w->dims[3].size,
      .sh = glow_listed(c->m->strides, 0, 1),
      .sw = glow_listed(c->m->strides, 1, 1),
      .dh = glow_listed(c->m->dilations, 0, 1),
      .dw = glow_listed(c->m->dilations, 1, 1),
      .pt = glow_listed(c->m->pads, 0, 0),
      .pl = glow_listed(c->m->pads, 1, 0),
      .xn = c->x.strides[0],
      .xc = c->x.strides[1],
      .xh = c->x.strides[2],
      .xw = c->x.strides[3],
      .yn = c->y.strides[0],
      .yc = c->y.strides[1],
      .yh = c->y.strides[2],
      .yw = c->y.strides[3],
      .bias = c->has_bias,
  };
}

bool glow_conv_element(const GlowType *t, int64_t *element) {
  *element = t->kind == GLOW_KIND_FLOAT16    ? GLOW_CONV_ELEMENT_HALF
             : t->kind == GLOW_KIND_BFLOAT16 ? GLOW_CONV_ELEMENT_BFLOAT
                                             : GLOW_CONV_ELEMENT_FLOAT;
  return *element != GLOW_CONV_ELEMENT_FLOAT || t->kind == GLOW_KIND_FLOAT;
}

bool glow_conv_read(GlowSelect *s, const GlowNode *n, GlowConvView *c) {
  *c = (GlowConvView){0};
  if (!read_views(s, n, c))
    return false;
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->y.type;
  const bool floats = c->m->strategy == GLOW_CONV_STRATEGY_BF16 || w->kind == GLOW_KIND_FLOAT;
  if (!floats || !glow_conv_element(x, &c->x_element) || !glow_conv_element(y, &c->y_element))
    return glow_select_fail(s, "it is not of float");
  if (c->m->layout != GLOW_LAYOUT_NCHW || y->rank != 4)
    return glow_select_fail(s, "only two spatial axes in NCHW order are supported");
  bool winograd = c->m->strategy == GLOW_CONV_STRATEGY_WINOGRAD;
  c->groups = c->m->group ? c->m->group : 1;
  c->ic = w->dims[winograd ? 3 : 1].size;
  c->oc = y->dims[1].size;
  if (x->dims[0].size != y->dims[0].size || x->dims[1].size != c->ic * c->groups ||
      c->oc != w->dims[winograd ? 2 : 0].size || c->oc % c->groups ||
      (c->has_bias && (c->b.rank != 1 || c->b.dims[0] != c->oc || c->b.strides[0] != 1)))
    return glow_select_fail(s, "its operands do not fit each other");
  read_geometry(c);
  return true;
}

bool glow_conv_epilogue(GlowSelect *s, const GlowNode *n, const GlowView *y, GlowWork *w) {
  w->form = GLOW_BODY_EPILOGUE;
  if (!glow_select_epilogue_body(s, n, &w->body))
    return false;
  if (n->nextra > GLOW_MAX_RANK)
    return glow_select_fail(s, "its epilogue has too many operands");
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, n->nextra);
  w->noperands = n->nextra;
  w->operands = operands;
  for (uint32_t i = 0; i < n->nextra; i++) {
    GlowOperand *o = &operands[i];
    GlowView v;
    int64_t stride[GLOW_VIEW_RANK];
    const GlowValue *value = n->operands[n->noperands - n->nextra + i].value;
    if (!value || !glow_select_view(s, value, &v))
      return value ? false : glow_select_fail(s, "an operand of its epilogue is absent");
    if (!glow_select_operand(s, y, &v, stride, &o->channels))
      return false;
    if (stride[4] != 0 && stride[4] != 1)
      return glow_select_fail(s, "the channels of an operand of its epilogue are not contiguous");
    memcpy(o->stride, stride, 5 * sizeof *stride);
    o->place = v.place;
    o->kind = v.type->kind;
  }
  return true;
}

void glow_conv_set_epilogue(GlowWork *w, const GlowWork *body) {
  w->form = body->form;
  w->body = body->body;
  w->operands = body->operands;
  w->noperands = body->noperands;
}

/* ---- The choice ------------------------------------------------------------------------------ */

static bool has_elements(const GlowConvView *c) {
  for (uint32_t i = 0; i < c->y.rank; i++) {
    if (!c->y.dims[i])
      return false;
  }
  return true;
}

static bool is_plain(const GlowNode *n) {
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  return !x->layout && !w->layout && !glow_node_out(n, 0)->type->layout;
}

bool glow_select_conv(GlowSelect *s, const GlowNode *n) {
  GlowConvView c;
  GlowMaxPoolMembers pool;
  const GlowConvolutionMembers *m = n->members;
  if (glow_node_is_narrow(n))
    return glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type->layout ? glow_select_narrow_conv(s, n)
           : glow_narrow_has_lanes(n)                           ? glow_select_narrow_lanes(s, n)
                                                                : glow_select_plain_narrow(s, n);
  if (glow_node_pool(n, &pool) &&
      (m->strategy != GLOW_CONV_STRATEGY_WINOGRAD || !glow_winograd_can_pool(&pool) || is_plain(n)))
    return glow_select_fail(s, "its kernel does not pool");
  if (is_plain(n))
    return glow_select_conv_plain(s, n);
  if (!glow_conv_read(s, n, &c))
    return false;
  if (!has_elements(&c))
    return true;
  if ((c.x_element || c.y_element) && c.m->strategy != GLOW_CONV_STRATEGY_DIRECT)
    return glow_select_fail(s, "with its strategy X and Y are floats");
  if (c.m->strategy == GLOW_CONV_STRATEGY_WINOGRAD)
    return glow_select_winograd(s, n, &c);
  if (c.m->strategy == GLOW_CONV_STRATEGY_BF16)
    return glow_select_bf16_conv(s, n, &c);
  if (c.ic == 1 && c.groups == c.oc && c.x.type->layout &&
      glow_kernel_takes(glow_find_depthwise(), "w", s->isa, c.w.type->layout, NULL))
    return glow_select_depthwise(s, n, &c);
  return glow_select_conv_direct(s, n, &c);
}
