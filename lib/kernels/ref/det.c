/* Det: determinants of the matrices in the last two axes, by Gaussian elimination with partial
 * pivoting in float (double for double).
 *
 * In step k the row with the largest magnitude in column k (the first of equals, a NaN above all)
 * changes places with row k; row i > k loses f = a[i][k] / a[k][k] times row k by one fused
 * multiply-add for each element. The determinant is the product of the pivots in ascending order,
 * negated for each exchange; that of no rows is 1. */
#include "kernels/ref/ref.h"
#include "num/fma.h"

static int64_t matrix_size(const GlowBuf *x) { return x->dims[x->rank - 1]; }

size_t glow_scratch_det(const GlowCall *call) {
  int64_t n = matrix_size(&call->in[0]);
  return (size_t)(n * n) * sizeof(double);
}

#define ELIMINATION(T, FMA)                                                                        \
  static bool exceeds_##T(T a, T b) {                                                              \
    a = a < 0 ? -a : a;                                                                            \
    b = b < 0 ? -b : b;                                                                            \
    return a > b || (a != a && b == b);                                                            \
  }                                                                                                \
  static T det_##T(T *a, int64_t n) {                                                              \
    T det = 1;                                                                                     \
    for (int64_t k = 0; k < n; k++) {                                                              \
      int64_t pivot = k;                                                                           \
      for (int64_t i = k + 1; i < n; i++)                                                          \
        pivot = exceeds_##T(a[i * n + k], a[pivot * n + k]) ? i : pivot;                           \
      for (int64_t j = k; pivot != k && j < n; j++) {                                              \
        T swap = a[k * n + j];                                                                     \
        a[k * n + j] = a[pivot * n + j];                                                           \
        a[pivot * n + j] = swap;                                                                   \
      }                                                                                            \
      det = pivot != k ? -det : det;                                                               \
      det *= a[k * n + k];                                                                         \
      if (a[k * n + k] == 0)                                                                       \
        return 0;                                                                                  \
      for (int64_t i = k + 1; i < n; i++) {                                                        \
        const T f = a[i * n + k] / a[k * n + k];                                                   \
        for (int64_t j = k + 1; j < n; j++)                                                        \
          a[i * n + j] = FMA(-f, a[k * n + j], a[i * n + j]);                                      \
      }                                                                                            \
    }                                                                                              \
    return det;                                                                                    \
  }
ELIMINATION(float, glow_fmaf)
ELIMINATION(double, glow_fma)

GlowRunError glow_kernel_det(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  int64_t n = matrix_size(x), count = glow_buf_elements(y);
  for (int64_t i = 0; i < count; i++) {
    if (x->kind == GLOW_KIND_DOUBLE) {
      glow_load_double(x, i * n * n, 1, n * n, call->scratch);
      double det = det_double(call->scratch, n);
      glow_store_double(y, i, 1, 1, &det);
    } else {
      glow_load_float(x, i * n * n, 1, n * n, call->scratch);
      float det = det_float(call->scratch, n);
      glow_store_float(y, i, 1, 1, &det);
    }
  }
  return GLOW_RUN_OK;
}
