/* Convolutions in which each channel has a filter of its own, over NCHW16c and OIHW16o. */
#include "kernels/cpu/depthwise.h"
#include "backend/cpu/conv.h"
#include "kernels/cpu_rules.h"

#include <string.h>

static void read_params(const GlowConvView *c, GlowDepthwiseParams *p) {
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->y.type;
  *p = (GlowDepthwiseParams){
      .blocks = c->y.dims[1],
      .channels = c->oc,
      .oh = y->dims[2].size,
      .ow = y->dims[3].size,
      .ih = x->dims[2].size,
      .iw = x->dims[3].size,
      .kh = w->dims[2].size,
      .kw = w->dims[3].size,
      .sh = glow_conv_member(c->m->strides, 0, 1),
      .sw = glow_conv_member(c->m->strides, 1, 1),
      .dh = glow_conv_member(c->m->dilations, 0, 1),
      .dw = glow_conv_member(c->m->dilations, 1, 1),
      .pt = glow_conv_member(c->m->pads, 0, 0),
      .pl = glow_conv_member(c->m->pads, 1, 0),
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

/* As few tiles as cover a row, all of about the same width, and how many of their pixels a window
 * can leave the input from. */
static void choose_tile(const GlowIsa *isa, GlowDepthwiseParams *p) {
  int64_t tiles = glow_div_up(p->ow, isa->tile_pixels);
  p->cols = glow_div_up(p->ow, tiles);
  p->narrow = tiles * p->cols - p->ow;
  glow_conv_edges(&(GlowConvLine){p->ow, p->iw, p->kw, p->sw, p->dw, p->pl}, &p->left, &p->right);
  p->left = glow_min64(p->left, p->cols);
  p->right = glow_min64(p->right, p->cols);
}

bool glow_select_depthwise(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowDepthwiseParams p;
  GlowWork body = {0};
  if (!glow_conv_has_layout(&c->x, "NCHW16c") || !glow_conv_has_layout(&c->y, "NCHW16c"))
    return glow_select_fail(s, "its input and output must have the layout NCHW16c");
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  if (!glow_conv_epilogue(s, n, &c->y, &body))
    return false;
  read_params(c, &p);
  choose_tile(s->isa, &p);
  int64_t bottom = (p.oh - 1) * p.sh - p.pt + (p.kh - 1) * p.dh;
  int64_t zeros = (((p.cols - 1) * p.sw + (p.kw - 1) * p.dw) * p.xw + GLOW_CONV_BLOCK) * 4;
  bool padded = p.pt > 0 || bottom >= p.ih || p.left || p.right;
  GlowWorkSpec spec = {.kernel = "depthwise",
                       .params = &p,
                       .params_size = sizeof p,
                       .places = {c->y.place, c->x.place, c->w.place,
                                  c->has_bias ? c->b.place : glow_place_absent(),
                                  padded ? glow_place_zeros(zeros) : glow_place_absent()},
                       .nplaces = 5,
                       .nwritten = 1,
                       .units = c->y.dims[0] * p.blocks * p.oh,
                       .shards = c->m->shards > 1 ? c->m->shards : 0};
  spec.cost = spec.units * p.ow * p.kh * p.kw * GLOW_CONV_BLOCK;
  const char *names[2] = {
      glow_arena_printf(s->arena, "depthwise_tile_%d", (int)p.cols),
      p.narrow ? glow_arena_printf(s->arena, "depthwise_tile_%d", (int)p.cols - 1) : NULL};
  GlowWork *w = glow_select_work(s, n, &spec);
  w->tiles = (GlowTiles){glow_arena_copy(s->arena, names, sizeof names), 2, 6, 6};
  glow_conv_set_epilogue(w, &body);
  return true;
}
