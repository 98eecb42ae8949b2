/* A convolution's shape in the form that its kernels use: see conv.c. */
#ifndef GLOW_KERNELS_REF_CONV_PLAN_H
#define GLOW_KERNELS_REF_CONV_PLAN_H

#include "kernels/ref/ref.h"

enum { GLOW_CONV_LANES = 16 };

typedef struct GlowConvPlan {
  const GlowBuf *x, *w, *b; /* b may be absent */
  GlowBuf *y;
  uint32_t spatial;            /* number of spatial axes, at least 1 */
  uint32_t c_axis, first_axis; /* of channels in X and Y, input channels in W; first spatial one */
  int64_t batch, groups, in_channels, out_channels; /* channels: of one group */
  int64_t in[GLOW_MAX_RANK], out[GLOW_MAX_RANK], kernel[GLOW_MAX_RANK];
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  int64_t before[GLOW_MAX_RANK], padded[GLOW_MAX_RANK]; /* extents of the input with its padding */
  int64_t taps, places, outputs;                        /* products of kernel, padded and out */
  bool depthwise; /* one input channel for each group: lanes are groups */
  bool wide;      /* computes in double */
  bool pairs;     /* order = pair */
  int64_t pad;    /* what is read outside of X */
  int64_t width;  /* channels in one place of the packed input */
  int64_t panels; /* groups of 16 lanes in the packed weights of one group */
  /* Places in scratch and its size, in bytes; the input is at 0. */
  size_t weights_at, bias_at, taps_at, total;
} GlowConvPlan;

GlowConvPlan glow_conv_plan(const GlowCall *call);
static inline bool glow_conv_is_winograd(const GlowCall *call) {
  return ((const GlowConvolutionMembers *)call->members)->strategy == GLOW_CONV_STRATEGY_WINOGRAD;
}

#endif
