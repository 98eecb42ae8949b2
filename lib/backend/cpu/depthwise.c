/* Convolutions in which each channel has a filter of its own, over NCHW16c and OIHW16o. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

bool glow_select_depthwise(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowDepthwiseParams p = {.g = c->g, .images = c->y.dims[0], .blocks = c->y.dims[1]};
  GlowSetup setup = {0};
  GlowWork body = {0};
  const GlowKernel *k = glow_find_depthwise();
  if (!glow_select_layout(s, k, "y", &c->y, NULL) || !glow_select_layout(s, k, "x", &c->x, NULL))
    return false;
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  if (!glow_conv_epilogue(s, n, &c->y, &body))
    return false;
  glow_setup_depthwise(&s->cpu, &p, &setup);
  GlowDepthwisePlaces at = {.y = c->y.place,
                            .x = c->x.place,
                            .w = c->w.place,
                            .bias = c->has_bias ? c->b.place : glow_place_absent(),
                            .zeros =
                                setup.zeros ? glow_place_zeros(setup.zeros) : glow_place_absent()};
  GlowWork *w = glow_work_depthwise(s, n, &p, &setup, &at);
  glow_conv_set_epilogue(w, &body);
  return true;
}
