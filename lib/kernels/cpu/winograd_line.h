/* The transforms of Winograd's convolution along one axis, for tiles of 4 and of 2 results, in the
 * order of operations that docs/Numerics states. A vector is one place of a line at some channels.
 */
#ifndef GLOW_KERNELS_CPU_WINOGRAD_LINE_H
#define GLOW_KERNELS_CPU_WINOGRAD_LINE_H

#include "kernels/winograd.h"
#include "vector.h"

/* Six vectors at d, `step` floats apart, give the values at the six points of F(4, 3), which are
 * stored at r, `to` floats apart. */
INLINE void input_points_4(const float *d, int64_t step, float *r, int64_t to) {
  const GlowVec a = vec_splat(GLOW_WINOGRAD_A), a2 = vec_splat(GLOW_WINOGRAD_A2);
  const GlowVec b = vec_splat(GLOW_WINOGRAD_B), b2 = vec_splat(GLOW_WINOGRAD_B2);
  const GlowVec product = vec_splat(GLOW_WINOGRAD_PRODUCT), sum = vec_splat(GLOW_WINOGRAD_SUM);
  const GlowVec d0 = vec_load(d), d1 = vec_load(d + step), d2 = vec_load(d + 2 * step);
  const GlowVec d3 = vec_load(d + 3 * step), d4 = vec_load(d + 4 * step);
  const GlowVec d5 = vec_load(d + 5 * step);
  const GlowVec even_a = vec_fma(-b2, d2, d4), odd_a = vec_fma(-b2, d1, d3);
  const GlowVec even_b = vec_fma(-a2, d2, d4), odd_b = vec_fma(-a2, d1, d3);
  vec_store(r, vec_fma(product, d0, vec_fma(-sum, d2, d4)));
  vec_store(r + to, vec_fma(a, odd_a, even_a));
  vec_store(r + 2 * to, vec_fma(-a, odd_a, even_a));
  vec_store(r + 3 * to, vec_fma(b, odd_b, even_b));
  vec_store(r + 4 * to, vec_fma(-b, odd_b, even_b));
  vec_store(r + 5 * to, vec_fma(product, d1, vec_fma(-sum, d3, d5)));
}

/* The same with four vectors and the four points of F(2, 3). */
INLINE void input_points_2(const float *d, int64_t step, float *r, int64_t to) {
  const GlowVec d0 = vec_load(d), d1 = vec_load(d + step), d2 = vec_load(d + 2 * step);
  vec_store(r, d0 - d2);
  vec_store(r + to, d1 + d2);
  vec_store(r + 2 * to, d2 - d1);
  vec_store(r + 3 * to, vec_load(d + 3 * step) - d1);
}

INLINE void input_points(int side, const float *d, int64_t step, float *r, int64_t to) {
  if (side == GLOW_WINOGRAD_LARGE)
    input_points_4(d, step, r, to);
  else
    input_points_2(d, step, r, to);
}

/* Six places, `step` floats apart, as four outputs. */
INLINE void output_line_4(const float *m, int64_t step, GlowVec *y) {
  const GlowVec a = vec_splat(GLOW_WINOGRAD_A), a2 = vec_splat(GLOW_WINOGRAD_A2);
  const GlowVec b = vec_splat(GLOW_WINOGRAD_B), b2 = vec_splat(GLOW_WINOGRAD_B2);
  const GlowVec a3 = vec_splat(GLOW_WINOGRAD_A3), b3 = vec_splat(GLOW_WINOGRAD_B3);
  const GlowVec m1 = vec_load(m + step), m2 = vec_load(m + 2 * step);
  const GlowVec m3 = vec_load(m + 3 * step), m4 = vec_load(m + 4 * step);
  const GlowVec even_a = m1 + m2, odd_a = m1 - m2, even_b = m3 + m4, odd_b = m3 - m4;
  y[0] = vec_load(m) + even_a + even_b;
  y[1] = vec_fma(b, odd_b, a * odd_a);
  y[2] = vec_fma(b2, even_b, a2 * even_a);
  y[3] = vec_fma(b3, odd_b, vec_fma(a3, odd_a, vec_load(m + 5 * step)));
}

/* Four places as two outputs. */
INLINE void output_line_2(const float *m, int64_t step, GlowVec *y) {
  const GlowVec m1 = vec_load(m + step), m2 = vec_load(m + 2 * step);
  y[0] = vec_load(m) + (m1 + m2);
  y[1] = m1 - m2 + vec_load(m + 3 * step);
}

INLINE void output_line(int side, const float *m, int64_t step, GlowVec *y) {
  if (side == GLOW_WINOGRAD_LARGE)
    output_line_4(m, step, y);
  else
    output_line_2(m, step, y);
}

#endif
