/* Convolutions in which each channel has a filter of its own, over NCHW16c and OIHW16o. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

static GlowPlace bias_of(const GlowConvView *c) {
  return c->has_bias ? c->b.place : glow_place_absent();
}
static GlowPlace zeros_of(const GlowSetup *setup) {
  return setup->zeros ? glow_place_zeros(setup->zeros) : glow_place_absent();
}

static GlowWork *work_stored(GlowSelect *s, const GlowNode *n, const GlowConvView *c,
                             const GlowDepthwiseParams *conv) {
  GlowDepthwiseStoredParams p = {.conv = *conv, .g = c->g, .x = c->x_element, .y = c->y_element};
  GlowSetup setup = {0};
  glow_setup_depthwise_stored(&s->cpu, &p, &setup);
  return glow_work_depthwise_stored(s, n, &p, &setup,
                                    &(GlowDepthwiseStoredPlaces){.y = c->y.place,
                                                                 .x = c->x.place,
                                                                 .w = c->w.place,
                                                                 .bias = bias_of(c),
                                                                 .zeros = zeros_of(&setup)});
}

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
  if (c->x_element || c->y_element) {
    glow_conv_set_epilogue(work_stored(s, n, c, &p), &body);
    return true;
  }
  glow_setup_depthwise(&s->cpu, &p, &setup);
  GlowDepthwisePlaces at = {.y = c->y.place,
                            .x = c->x.place,
                            .w = c->w.place,
                            .bias = bias_of(c),
                            .zeros = zeros_of(&setup)};
  GlowWork *w = glow_work_depthwise(s, n, &p, &setup, &at);
  glow_conv_set_epilogue(w, &body);
  return true;
}
