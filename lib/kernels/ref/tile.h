/* The inner loops of contractions: a few rows times 16 columns, one fused multiply-add chain for
 * each output, in the order of docs/Numerics. Shared by Convolution and MatMul. */
#ifndef GLOW_KERNELS_REF_TILE_H
#define GLOW_KERNELS_REF_TILE_H

#include "num/fma.h"

enum { GLOW_TILE_ROWS = 6, GLOW_TILE_COLUMNS = 16 };

/* out[i][l] += sum over k of a[i][k] * w[k][l], for GLOW_TILE_ROWS rows i and GLOW_TILE_COLUMNS
 * columns l. k runs over `nparts` parts of `length` elements. Part j of row i begins at a[i] +
 * parts[j]; *w has all parts one after the other, and moves on to what follows them. */
#define GLOW_TILE_PARAMS(T)                                                                        \
  const T *const *a, const int64_t *parts, int64_t nparts, int64_t length, const T **w, T *out

/* Continues the chains whose sums so far stand in `out`. */
static inline void glow_tile_float(GLOW_TILE_PARAMS(float)) {
  GlowVec8 acc[GLOW_TILE_ROWS][2];
  GlowVec8 *rows = (GlowVec8 *)out;
  const float *v = *w;
#pragma GCC unroll 6
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    acc[i][0] = rows[2 * i];
    acc[i][1] = rows[2 * i + 1];
  }
  for (int64_t j = 0; j < nparts; j++) {
    const int64_t at = parts[j];
    for (int64_t k = 0; k < length; k++, v += GLOW_TILE_COLUMNS) {
      const GlowVec8 w0 = *(const GlowVec8 *)v, w1 = *(const GlowVec8 *)(v + 8);
#pragma GCC unroll 6
      for (int i = 0; i < GLOW_TILE_ROWS; i++) {
        const float s = a[i][at + k];
        const GlowVec8 x = {s, s, s, s, s, s, s, s};
        glow_vec8_fma(&acc[i][0], &x, &w0);
        glow_vec8_fma(&acc[i][1], &x, &w1);
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    rows[2 * i] = acc[i][0];
    rows[2 * i + 1] = acc[i][1];
  }
  *w = v;
}

/* The same for other types, one element at a time. */
#define GLOW_TILE_PLAIN(NAME, T, ADD)                                                              \
  static inline void NAME(GLOW_TILE_PARAMS(T)) {                                                   \
    const T *v = *w;                                                                               \
    for (int64_t j = 0; j < nparts; j++)                                                           \
      for (int64_t k = 0; k < length; k++, v += GLOW_TILE_COLUMNS)                                 \
        for (int i = 0; i < GLOW_TILE_ROWS; i++)                                                   \
          for (int l = 0; l < GLOW_TILE_COLUMNS; l++)                                              \
            out[i * GLOW_TILE_COLUMNS + l] =                                                       \
                ADD(a[i][parts[j] + k], v[l], out[i * GLOW_TILE_COLUMNS + l]);                     \
    *w = v;                                                                                        \
  }
#define GLOW_WRAPPING_ADD(x, y, z) (int32_t)((uint32_t)(z) + (uint32_t)(x) * (uint32_t)(y))
GLOW_TILE_PLAIN(glow_tile_double, double, glow_fma)
GLOW_TILE_PLAIN(glow_tile_i32, int32_t, GLOW_WRAPPING_ADD)

/* The same where lanes do not mix: out[i][l] += sum over j of a[i][parts[j] + l] * w[j][l]. w[j]
 * begins at w + j * step. */
#define GLOW_LANES_PARAMS(T)                                                                       \
  const T *const *a, const int64_t *parts, int64_t nparts, int64_t step, const T *w, T *out

static inline void glow_lanes_float(GLOW_LANES_PARAMS(float)) {
  GlowVec8 acc[GLOW_TILE_ROWS][2];
  GlowVec8 *rows = (GlowVec8 *)out;
#pragma GCC unroll 6
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    acc[i][0] = rows[2 * i];
    acc[i][1] = rows[2 * i + 1];
  }
  for (int64_t j = 0; j < nparts; j++) {
    const float *v = w + j * step;
    const GlowVec8 w0 = *(const GlowVec8 *)v, w1 = *(const GlowVec8 *)(v + 8);
#pragma GCC unroll 6
    for (int i = 0; i < GLOW_TILE_ROWS; i++) {
      const float *x = a[i] + parts[j];
      glow_vec8_fma(&acc[i][0], (const GlowVec8 *)x, &w0);
      glow_vec8_fma(&acc[i][1], (const GlowVec8 *)(x + 8), &w1);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    rows[2 * i] = acc[i][0];
    rows[2 * i + 1] = acc[i][1];
  }
}

#define GLOW_LANES_PLAIN(NAME, T, ADD)                                                             \
  static inline void NAME(GLOW_LANES_PARAMS(T)) {                                                  \
    for (int64_t j = 0; j < nparts; j++)                                                           \
      for (int i = 0; i < GLOW_TILE_ROWS; i++)                                                     \
        for (int l = 0; l < GLOW_TILE_COLUMNS; l++)                                                \
          out[i * GLOW_TILE_COLUMNS + l] =                                                         \
              ADD(a[i][parts[j] + l], w[j * step + l], out[i * GLOW_TILE_COLUMNS + l]);            \
  }
GLOW_LANES_PLAIN(glow_lanes_double, double, glow_fma)
GLOW_LANES_PLAIN(glow_lanes_i32, int32_t, GLOW_WRAPPING_ADD)

#endif
