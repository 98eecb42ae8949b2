/* The members of conversions to and from quantized lanes. */
#ifndef GLOW_KERNELS_CPU_LANE_SCALE_H
#define GLOW_KERNELS_CPU_LANE_SCALE_H

#include <stdint.h>

typedef struct GlowLaneScale {
  float scale;
  int32_t offset;
} GlowLaneScale;

/* Whether a scale is neither tiny nor huge: then a quotient by it is a product by its reciprocal,
 * corrected by the residual. */
#define GLOW_LANE_SCALE_IS_USUAL(scale) ((scale) > 0x1p-100F && (scale) < 0x1p100F)

#endif
