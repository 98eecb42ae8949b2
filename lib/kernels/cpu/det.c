/* Det: elimination with partial pivoting, as docs/Numerics.md has it, in a copy of the matrix. */
#include "kernels/kernels.h"

#include "num/half.h"

#define LANES _Pragma("clang loop vectorize(enable) interleave(disable)")

enum { FEW = 8 }; /* elements that are no register */

#define ELIMINATION(C, FMA)                                                                        \
  INLINE int exceeds_##C(C a, C b) {                                                               \
    a = a < 0 ? -a : a;                                                                            \
    b = b < 0 ? -b : b;                                                                            \
    return (a > b) | ((a != a) & (b == b));                                                        \
  }                                                                                                \
  INLINE void subtract_##C(C *restrict y, const C *restrict x, C f, int64_t n) {                   \
    if (n < FEW)                                                                                   \
      ROLLED for (int64_t j = 0; j < n; j++) y[j] = FMA(-f, x[j], y[j]);                           \
    else                                                                                           \
      LANES for (int64_t j = 0; j < n; j++) y[j] = FMA(-f, x[j], y[j]);                            \
  }                                                                                                \
  /* Moves the row of the pivot of column k up; whether that exchanged rows. */                    \
  INLINE int take_pivot_##C(C *a, int64_t n, int64_t k) {                                          \
    int64_t pivot = k;                                                                             \
    ROLLED for (int64_t i = k + 1; i < n; i++) pivot =                                             \
        exceeds_##C(a[i * n + k], a[pivot * n + k]) ? i : pivot;                                   \
    if (pivot == k)                                                                                \
      return 0;                                                                                    \
    ROLLED for (int64_t j = k; j < n; j++) {                                                       \
      const C swap = a[k * n + j];                                                                 \
      a[k * n + j] = a[pivot * n + j];                                                             \
      a[pivot * n + j] = swap;                                                                     \
    }                                                                                              \
    return 1;                                                                                      \
  }                                                                                                \
  INLINE C eliminate_##C(C *a, int64_t n) {                                                        \
    C det = 1;                                                                                     \
    ROLLED for (int64_t k = 0; k < n; k++) {                                                       \
      det = take_pivot_##C(a, n, k) ? -det : det;                                                  \
      const C top = a[k * n + k];                                                                  \
      det *= top;                                                                                  \
      if (top == 0)                                                                                \
        return 0;                                                                                  \
      ROLLED for (int64_t i = k + 1; i < n; i++)                                                   \
          subtract_##C(a + i * n + k + 1, a + k * n + k + 1, a[i * n + k] / top, n - k - 1);       \
    }                                                                                              \
    return det;                                                                                    \
  }
ELIMINATION(float, glow_fmaf)
ELIMINATION(double, glow_fma)

#define DET(kind, S, C, LOAD, STORE)                                                               \
  void glow_det_##kind(const GlowDetParams *p, void *const *ptrs, int64_t begin, int64_t end,      \
                       char *scratch) {                                                            \
    const int64_t count = p->n * p->n;                                                             \
    S *y = GLOW_DET_PTRS(ptrs).y;                                                                  \
    C *a = (C *)scratch;                                                                           \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const S *restrict x = (const S *)GLOW_DET_PTRS(ptrs).x + u * count;                          \
      LANES for (int64_t i = 0; i < count; i++) a[i] = LOAD(x[i]);                                 \
      y[u] = STORE(eliminate_##C(a, p->n));                                                        \
    }                                                                                              \
  }
#define PLAIN(v) (v)
DET(float, float, float, PLAIN, PLAIN)
DET(double, double, double, PLAIN, PLAIN)
DET(float16, uint16_t, float, glow_half_to_float, glow_half_from_float)
DET(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float)
