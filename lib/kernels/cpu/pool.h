/* Parameters of the pooling kernels; see kernels.ops for why every field is int64_t. Three spatial
 * axes, unused ones of extent 1; strides count elements. An image is what one index of the outer
 * channel axis holds; `lanes` channels lie next to each other: 16 in NCHW16c, all in NHWC, 1 in
 * NCHW. */
#ifndef GLOW_KERNELS_CPU_POOL_H
#define GLOW_KERNELS_CPU_POOL_H

#include <stdint.h>

#define GLOW_POOL_DIMS 3

typedef struct GlowPoolParams {
  int64_t n, c, lanes;
  int64_t in[GLOW_POOL_DIMS], out[GLOW_POOL_DIMS];
  int64_t kernel[GLOW_POOL_DIMS], stride[GLOW_POOL_DIMS], dilation[GLOW_POOL_DIMS];
  int64_t before[GLOW_POOL_DIMS], after[GLOW_POOL_DIMS]; /* padding */
  int64_t xn, xc, xs[GLOW_POOL_DIMS];
  int64_t yn, yc, ys[GLOW_POOL_DIMS];
  int64_t include_pad;  /* whether the divisor counts padding */
  int64_t norm;         /* the bits of LpPool's p, a float */
  int64_t column_major; /* of the index that a maximum stood at */
} GlowPoolParams;

#endif
