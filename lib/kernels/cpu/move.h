/* Parameters of the kernels that move elements; see conv.h for why every field is int64_t. */
#ifndef GLOW_KERNELS_CPU_MOVE_H
#define GLOW_KERNELS_CPU_MOVE_H

#include <stdint.h>

#define GLOW_MOVE_DIMS 8

/* A box of elements: extents from the outermost loop inward, unused ones 1, and the
 * strides of both sides in bytes. Each innermost step moves `run` contiguous bytes. */
typedef struct GlowMoveParams {
  int64_t n[GLOW_MOVE_DIMS];
  int64_t to[GLOW_MOVE_DIMS], from[GLOW_MOVE_DIMS];
  int64_t run;
} GlowMoveParams;

#endif
