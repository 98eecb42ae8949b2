/* Parameters of the reduction kernels; see kernels.ops for why every field is int64_t. Strides
 * count elements; unused axes have extent 1. */
#ifndef GLOW_KERNELS_CPU_REDUCE_H
#define GLOW_KERNELS_CPU_REDUCE_H

#include <stdint.h>

#define GLOW_REDUCE_DIMS 4

typedef struct GlowReduceParams {
  int64_t kept[GLOW_REDUCE_DIMS], kept_stride[GLOW_REDUCE_DIMS]; /* results, without `inner` */
  int64_t reduced[GLOW_REDUCE_DIMS], reduced_stride[GLOW_REDUCE_DIMS];
  int64_t count; /* elements of one result, not 0 */
  int64_t inner; /* neighbouring results behind the last reduced axis; 0: the lanes rule */
  int64_t mean;  /* whether the result is divided by count */
} GlowReduceParams;

#endif
