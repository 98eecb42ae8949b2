/* The members of conversions to and from quantized lanes. */
#ifndef GLOW_KERNELS_CPU_LANE_SCALE_H
#define GLOW_KERNELS_CPU_LANE_SCALE_H

#include <stdint.h>

typedef struct GlowLaneScale {
  float scale;
  int32_t offset;
} GlowLaneScale;

#endif
