/* Parameters of the kernel for convolutions over plain layouts; see kernels.ops for why every field
 * is int64_t. */
#ifndef GLOW_KERNELS_CPU_CONV_PLAIN_H
#define GLOW_KERNELS_CPU_CONV_PLAIN_H

#include <stdint.h>

#define GLOW_CONV_AXES 6 /* spatial axes */

typedef enum GlowConvElement { GLOW_CONV_FLOAT, GLOW_CONV_HALF, GLOW_CONV_BFLOAT } GlowConvElement;

/* Strides count elements. Channels are those of one group. In a transposed convolution outputs
 * whose places agree modulo the strides are a phase: they meet the same taps. */
typedef struct GlowConvPlainParams {
  int64_t element; /* a GlowConvElement */
  int64_t transposed;
  int64_t images, groups, ic, oc, axes, taps;
  int64_t in[GLOW_CONV_AXES], out[GLOW_CONV_AXES], window[GLOW_CONV_AXES];
  int64_t stride[GLOW_CONV_AXES], dilation[GLOW_CONV_AXES], pad[GLOW_CONV_AXES];
  int64_t xn, xc, xs[GLOW_CONV_AXES]; /* strides of the input: image, channel, spatial axes */
  int64_t yn, yc, ys[GLOW_CONV_AXES];
  int64_t wg, wo, wc, wt; /* strides of the filter: group, output channel, input channel, tap */
  int64_t bias;           /* whether there is a bias */
  int64_t phases, chunks; /* chunks: registers' worth of outputs in the largest phase of an image */
  int64_t parts, rows; /* pieces of a group's output channels; output channels of the full tile */
  int64_t taps_at, offsets_at, masks_at, results_at,
      filter_at; /* bytes into scratch; see the kernel */
} GlowConvPlainParams;

#endif
