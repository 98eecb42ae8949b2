/* Shared by inference of operators with a sliding window: see window.c. */
#ifndef GLOW_IR_INFER_WINDOW_H
#define GLOW_IR_INFER_WINDOW_H

#include "ir/infer/hooks.h"
#include "ops/listed.h"

typedef struct Window {
  uint32_t spatial; /* number of spatial axes */
  uint32_t first;   /* the first of them */
  uint32_t channel; /* the channel axis */
  GlowArray strides, pads, dilations;
  bool ceil;
  const char *prefix; /* in messages, stands before the names of the lists; NULL: none */
} Window;

static inline Window window_of(const GlowType *x, int layout) {
  bool nhwc = layout == GLOW_LAYOUT_NHWC;
  return (Window){.spatial = x->rank - 2, .first = nhwc ? 1 : 2, .channel = nhwc ? x->rank - 1 : 1};
}

/* Whether each list of w is empty or has a value for each spatial axis (pads: two), and no stride
 * or dilation is 0. Reports. */
bool glow_infer_window(const GlowInfer *in, const Window *w);
/* How many windows of `kernel` elements fit into `size` along spatial axis i. */
bool glow_infer_slide(const GlowInfer *in, const Window *w, uint32_t i, GlowDim size,
                      GlowDim kernel, GlowDim *result);

/* For a Convolution with strategy = winograd: whether its operands and members allow this strategy.
 * Changes *f from the type of W to the type of the filter before its transform. */
bool glow_infer_winograd(const GlowInfer *in, const GlowType **f);

#endif
