/* AffineGrid, in double, rounded once. Along an axis of N elements place i lies at
 * p = (2 i + 1 - N) / D, where D is N, or N - 1 (at least 1) with align_corners. Coordinate j of a
 * place is
 *
 *   p_last * Theta[j, 0] + ... + p_first * Theta[j, axes - 1] + Theta[j, axes]
 *
 * summed from the left. */
#include "kernels/ref/ref.h"

static double place(const GlowAffineGridMembers *m, int64_t i, int64_t n) {
  const int64_t divisor = !m->align_corners ? n : n > 1 ? n - 1 : 1;
  return (double)(2 * i + 1 - n) / (double)divisor;
}

GlowRunError glow_kernel_affine_grid(GlowCall *call) {
  const GlowAffineGridMembers *m = call->members;
  const GlowBuf *theta = &call->in[GLOW_AFFINE_GRID_IN_THETA];
  GlowBuf *y = &call->out[0];
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  const int64_t axes = y->dims[y->rank - 1], all = glow_buf_elements(y) / axes;
  const int64_t places = all / y->dims[0];
  if (theta->dims[0] != y->dims[0])
    return GLOW_RUN_SHAPE;
  for (int64_t u = 0; u < all; u++) {
    double sum[GLOW_MAX_RANK], column[GLOW_MAX_RANK];
    const int64_t map = u / places * axes * (axes + 1);
    int64_t rest = u % places;
    for (int64_t k = 0; k < axes; k++) {
      const int64_t n = y->dims[axes - k];
      const double p = place(m, rest % n, n);
      rest /= n;
      glow_load_real(theta, map + k, axes + 1, axes, column);
      for (int64_t j = 0; j < axes; j++)
        sum[j] = k ? sum[j] + p * column[j] : p * column[j];
    }
    glow_load_real(theta, map + axes, axes + 1, axes, column);
    for (int64_t j = 0; j < axes; j++)
      glow_ref_store_number(y, u * axes + j, sum[j] + column[j]);
  }
  return GLOW_RUN_OK;
}
