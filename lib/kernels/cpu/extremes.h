/* Maxima and minima of rows of neighbours, which are exact in any order. */
#ifndef GLOW_KERNELS_CPU_EXTREMES_H
#define GLOW_KERNELS_CPU_EXTREMES_H

#include "vector.h"

/* The extrema of the bits of a row as signed and as unsigned integers, I and U. What nobody asks
 * for is not computed. WAYS registers take turns, since each waits for its last extremum. */
#define EXTREMES(I, U, WAYS)                                                                       \
  typedef struct Extremes_##I {                                                                    \
    I most, least;                                                                                 \
    U umost, uleast;                                                                               \
  } Extremes_##I;                                                                                  \
  INLINE Extremes_##I extremes_##I(const void *row, int64_t n) {                                   \
    enum { LANES = GLOW_VL * 4 / sizeof(I) };                                                      \
    typedef I Signed __attribute__((vector_size(GLOW_VL * 4), aligned(sizeof(I))));                \
    typedef U Unsigned __attribute__((vector_size(GLOW_VL * 4), aligned(sizeof(I))));              \
    Signed most[WAYS], least[WAYS];                                                                \
    Unsigned umost[WAYS], uleast[WAYS];                                                            \
    const I *x = row;                                                                              \
    int64_t j = LANES;                                                                             \
    I few[LANES];                                                                                  \
    if (n < LANES) {                                                                               \
      ROLLED for (int64_t l = 0; l < LANES; l++) few[l] = x[l < n ? l : 0];                        \
      x = few, n = LANES;                                                                          \
    }                                                                                              \
    UNROLL for (int w = 0; w < WAYS; w++) {                                                        \
      most[w] = least[w] = *(const Signed *)x;                                                     \
      umost[w] = uleast[w] = *(const Unsigned *)x;                                                 \
    }                                                                                              \
    ROLLED for (; WAYS > 1 && j + WAYS * LANES <= n; j += WAYS * LANES) {                          \
      UNROLL for (int w = 0; w < WAYS; w++) EXTREME_STEP(w, x + j + w * LANES)                     \
    }                                                                                              \
    ROLLED for (; j < n; j += LANES) /* the last ones twice */                                     \
        EXTREME_STEP(0, x + (j + LANES <= n ? j : n - LANES))                                      \
            UNROLL for (int w = 1; w < WAYS; w++) {                                                \
      most[0] = __builtin_elementwise_max(most[0], most[w]);                                       \
      least[0] = __builtin_elementwise_min(least[0], least[w]);                                    \
      umost[0] = __builtin_elementwise_max(umost[0], umost[w]);                                    \
      uleast[0] = __builtin_elementwise_min(uleast[0], uleast[w]);                                 \
    }                                                                                              \
    return (Extremes_##I){__builtin_reduce_max(most[0]), __builtin_reduce_min(least[0]),           \
                          __builtin_reduce_max(umost[0]), __builtin_reduce_min(uleast[0])};        \
  }
#define EXTREME_STEP(w, from)                                                                      \
  {                                                                                                \
    const Signed v = *(const Signed *)(from);                                                      \
    most[w] = __builtin_elementwise_max(most[w], v);                                               \
    least[w] = __builtin_elementwise_min(least[w], v);                                             \
    umost[w] = __builtin_elementwise_max(umost[w], (Unsigned)v);                                   \
    uleast[w] = __builtin_elementwise_min(uleast[w], (Unsigned)v);                                 \
  }
EXTREMES(int32_t, uint32_t, 2)

/* The maximum and the minimum of a row of floating point numbers, whose infinity has the bits INF:
 * numbers below zero have the order of their bits backwards, and a NaN is beyond an infinity. */
#define REAL_EXTREMES(kind, S, I, U, INF)                                                          \
  INLINE U nan_##kind(Extremes_##I e) {                                                            \
    const U lowest = (U)((U)1 << (sizeof(U) * 8 - 1) | INF);                                       \
    return e.most > INF ? (U)e.most : e.umost > lowest ? e.umost : 0;                              \
  }                                                                                                \
  INLINE S most_of_##kind(Extremes_##I e) {                                                        \
    const U nan = nan_##kind(e), bits = nan ? nan : e.most >= 0 ? (U)e.most : e.uleast;            \
    S v;                                                                                           \
    __builtin_memcpy(&v, &bits, sizeof v);                                                         \
    return v;                                                                                      \
  }                                                                                                \
  INLINE S least_of_##kind(Extremes_##I e) {                                                       \
    const U nan = nan_##kind(e), bits = nan ? nan : (I)e.umost < 0 ? e.umost : e.uleast;           \
    S v;                                                                                           \
    __builtin_memcpy(&v, &bits, sizeof v);                                                         \
    return v;                                                                                      \
  }                                                                                                \
  INLINE S most_##kind(const S *x, int64_t n) { return most_of_##kind(extremes_##I(x, n)); }       \
  INLINE S least_##kind(const S *x, int64_t n) { return least_of_##kind(extremes_##I(x, n)); }
REAL_EXTREMES(float, float, int32_t, uint32_t, 0x7f800000)

#endif
