/* Parameters of the products of kinds other than float; see kernels.ops for why every field is
 * int64_t. Strides count elements; unused batch axes have extent 1. */
#ifndef GLOW_KERNELS_CPU_PRODUCT_H
#define GLOW_KERNELS_CPU_PRODUCT_H

#include <stdint.h>

#define GLOW_PRODUCT_BATCH 6

typedef struct GlowProductParams {
  int64_t m, n, k;
  int64_t am, ak, bk, bn, cm, cn;
  int64_t batch[GLOW_PRODUCT_BATCH];
  int64_t a_batch[GLOW_PRODUCT_BATCH], b_batch[GLOW_PRODUCT_BATCH], c_batch[GLOW_PRODUCT_BATCH];
} GlowProductParams;

#endif
