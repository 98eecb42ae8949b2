/* Parameters of the kernels that follow lines along one axis: `outer` times `inner` lines of n
 * elements, `inner` apart; see kernels.ops for why every field is int64_t. */
#ifndef GLOW_KERNELS_CPU_LINES_H
#define GLOW_KERNELS_CPU_LINES_H

#include <stdint.h>

typedef struct GlowLinesParams {
  int64_t n, inner;
  int64_t last;               /* of equal elements the last one is taken */
  int64_t exclusive, reverse; /* scans */
  int64_t bytes;              /* of an element, where its kind does not matter */
} GlowLinesParams;

/* Matrices of rows by columns of `bytes` bytes each; `upper`: what is below the diagonal is zero,
 * otherwise what is above. */
typedef struct GlowTriluParams {
  int64_t rows, columns, bytes, upper;
} GlowTriluParams;

#endif
