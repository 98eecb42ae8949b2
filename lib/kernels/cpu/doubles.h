/* A register of doubles, for kernels that sum in double. */
#ifndef GLOW_KERNELS_CPU_DOUBLES_H
#define GLOW_KERNELS_CPU_DOUBLES_H

#include "num/bits.h"
#include "vector.h"

enum { LANES = GLOW_VL / 2 };

/* Memory need not be aligned. */
typedef double Doubles __attribute__((vector_size(GLOW_VL * 4), aligned(8)));
typedef int64_t Longs __attribute__((vector_size(GLOW_VL * 4), aligned(8)));

INLINE Doubles doubles_splat(double s) {
  Doubles v;
  UNROLL for (int l = 0; l < LANES; l++) v[l] = s;
  return v;
}
INLINE Doubles doubles_fma(Doubles a, Doubles b, Doubles c) {
#if GLOW_HAS_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  Doubles r;
  ROLLED for (int l = 0; l < LANES; l++) r[l] = glow_fma(a[l], b[l], c[l]);
  return r;
#endif
}

/* An integer that a double holds, below 2^31 in size: the last bits of its sum with 1.5 * 2^52. */
INLINE int32_t whole_of(double v) { return (int32_t)(uint32_t)glow_double_bits(v + 0x1.8p52); }

#endif
