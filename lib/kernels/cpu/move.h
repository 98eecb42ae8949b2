/* Parameters of the kernels that move elements; see kernels.ops for why every field is int64_t. */
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

#define GLOW_TRANSPOSE_DIMS 4
#define GLOW_TRANSPOSE_TILE 16

/* A matrix whose rows are contiguous in the result and whose columns are contiguous in the source,
 * inside of other loops. Strides count elements. Units are stripes of the outer loops' matrices. */
typedef struct GlowTransposeParams {
  int64_t n[GLOW_TRANSPOSE_DIMS], to[GLOW_TRANSPOSE_DIMS], from[GLOW_TRANSPOSE_DIMS];
  int64_t rows, columns;       /* elements side by side in the result, in the source */
  int64_t row_from, column_to; /* the other side's strides */
  int64_t stripes;             /* of GLOW_TRANSPOSE_TILE columns each */
} GlowTransposeParams;

#endif
