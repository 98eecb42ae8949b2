/* Parameters of the element-wise loops; see kernels.ops for why every field is int64_t. */
#ifndef GLOW_KERNELS_CPU_STACK_H
#define GLOW_KERNELS_CPU_STACK_H

#include <stdint.h>

#define GLOW_STACK_DIMS 6

/* Extents from the outermost loop inward, unused ones 1 and first. The last one is contiguous in
 * every operand, or broadcast. */
typedef struct GlowStackParams {
  int64_t n[GLOW_STACK_DIMS];
} GlowStackParams;

/* What quantized lanes are converted with. */
typedef struct GlowLaneScale {
  float scale;
  int32_t offset;
} GlowLaneScale;

#endif
