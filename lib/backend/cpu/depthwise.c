/* Convolutions in which each channel has a filter of its own, over NCHW16c and OIHW16o. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "target/cpu/rules.h"

#include <string.h>

/* As few tiles as cover a row, all of about the same width, and how many of their pixels a window
 * can leave the input from. */
static void choose_tile(const GlowIsa *isa, GlowDepthwiseParams *p) {
  int64_t tiles = glow_div_up(p->g.ow, isa->tile_pixels);
  p->cols = glow_div_up(p->g.ow, tiles);
  p->narrow = tiles * p->cols - p->g.ow;
  glow_conv_edges(&(GlowConvLine){p->g.ow, p->g.iw, p->g.kw, p->g.sw, p->g.dw, p->g.pl}, &p->left,
                  &p->right);
  p->left = glow_min64(p->left, p->cols);
  p->right = glow_min64(p->right, p->cols);
}

bool glow_select_depthwise(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowDepthwiseParams p = {.g = c->g, .blocks = c->y.dims[1]};
  GlowWork body = {0};
  if (!glow_conv_has_layout(&c->x, "NCHW16c") || !glow_conv_has_layout(&c->y, "NCHW16c"))
    return glow_select_fail(s, "its input and output must have the layout NCHW16c");
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  if (!glow_conv_epilogue(s, n, &c->y, &body))
    return false;
  choose_tile(s->isa, &p);
  int64_t bottom = (p.g.oh - 1) * p.g.sh - p.g.pt + (p.g.kh - 1) * p.g.dh;
  int64_t zeros = (((p.cols - 1) * p.g.sw + (p.g.kw - 1) * p.g.dw) * p.g.xw + GLOW_CONV_BLOCK) * 4;
  bool padded = p.g.pt > 0 || bottom >= p.g.ih || p.left || p.right;
  GlowDepthwisePlaces at = {.y = c->y.place,
                            .x = c->x.place,
                            .w = c->w.place,
                            .bias = c->has_bias ? c->b.place : glow_place_absent(),
                            .zeros = padded ? glow_place_zeros(zeros) : glow_place_absent()};
  GlowDepthwiseTiles tiles = {
      .full = glow_select_tile_found(s, glow_find_depthwise_tile(s->isa, p.cols))};
  if (p.narrow)
    tiles.small = glow_select_tile_found(s, glow_find_depthwise_tile(s->isa, p.cols - 1));
  GlowWork *w = glow_work_depthwise(s, n, &p, &tiles, &at,
                                    &(GlowWorkSpec){.units = c->y.dims[0] * p.blocks * p.g.oh});
  glow_conv_set_epilogue(w, &body);
  return true;
}
