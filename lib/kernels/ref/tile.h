/* The inner loops of contractions: a few rows times 16 columns, one fused multiply-add chain for
 * each output, in the order of docs/Numerics. Shared by Convolution and MatMul. */
#ifndef GLOW_KERNELS_REF_TILE_H
#define GLOW_KERNELS_REF_TILE_H

#include "num/bf16.h"
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

/* One row of a tile by two steps of k, whose rows of w follow each other, or by one. */
static inline void glow_tile_bf16_pair(float *even, float *odd, float a, float b, const float *w,
                                       bool both) {
  uint32_t low = 0;
  float e[GLOW_TILE_COLUMNS], o[GLOW_TILE_COLUMNS];
  for (int l = 0; l < GLOW_TILE_COLUMNS; l++) {
    e[l] = glow_fmaf(a, w[l], even[l]);
    o[l] = both ? glow_fmaf(b, w[GLOW_TILE_COLUMNS + l], odd[l]) : odd[l] + 0.0f;
    low |= (uint32_t)(glow_bf16_is_low(e[l]) | glow_bf16_is_low(o[l]));
  }
  for (int l = 0; low && l < GLOW_TILE_COLUMNS; l++) {
    e[l] = glow_bf16_fma(a, w[l], even[l]);
    o[l] = both ? glow_bf16_fma(b, w[GLOW_TILE_COLUMNS + l], odd[l]) : o[l];
  }
  __builtin_memcpy(even, e, sizeof e);
  __builtin_memcpy(odd, o, sizeof o);
}

/* The same of numbers rounded to bfloat16, with order = tile: all k in one call. Each
 * sum is added to what `out` holds, the bias or +0. */
static inline void glow_tile_bf16(GLOW_TILE_PARAMS(float)) {
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    float sum[GLOW_TILE_COLUMNS] = {0}, even[GLOW_TILE_COLUMNS] = {0}, odd[GLOW_TILE_COLUMNS] = {0};
    const float *v = *w;
    const int64_t pairs = nparts * ((length + 1) / 2);
    int64_t at = 0;
    for (int64_t j = 0; j < nparts; j++) {
      const float *x = a[i] + parts[j];
      for (int64_t k = 0; k < length; k += 2) {
        const bool both = k + 1 < length;
        glow_tile_bf16_pair(even, odd, x[k], both ? x[k + 1] : 0, v, both);
        v += (both ? 2 : 1) * GLOW_TILE_COLUMNS;
        if (++at % GLOW_BF16_PAIRS && at < pairs)
          continue;
        const float none = at % GLOW_BF16_PAIRS ? 0.0f : -0.0f; /* zeros fill the last chunk */
        for (int l = 0; l < GLOW_TILE_COLUMNS; l++) {
          sum[l] = glow_bf16_add(sum[l], glow_bf16_add(even[l] + none, odd[l] + none));
          even[l] = odd[l] = 0;
        }
      }
    }
    for (int l = 0; l < GLOW_TILE_COLUMNS; l++)
      out[i * GLOW_TILE_COLUMNS + l] += sum[l];
  }
  *w += nparts * length * GLOW_TILE_COLUMNS;
}

/* A step of chains of a row of a tile; `a` is what glow_bf16_round gives. */
static inline void glow_tile_pair_step(float *sum, float a, const float *w) {
  uint32_t low = 0;
  float s[GLOW_TILE_COLUMNS];
  for (int l = 0; l < GLOW_TILE_COLUMNS; l++) {
    s[l] = glow_fmaf(a, w[l], sum[l]);
    low |= (uint32_t)glow_bf16_is_low(s[l]);
  }
  for (int l = 0; low && l < GLOW_TILE_COLUMNS; l++)
    s[l] = glow_bf16_fma(a, w[l], sum[l]);
  __builtin_memcpy(sum, s, sizeof s);
}

/* The same of numbers rounded to bfloat16 in pairs, the odd one first: order = pair. Chains
 * continue, and what they begin with is a zero if it is denormal. */
static inline void glow_tile_pair(GLOW_TILE_PARAMS(float)) {
  for (int i = 0; i < GLOW_TILE_ROWS; i++) {
    float *sum = out + i * GLOW_TILE_COLUMNS;
    const float *v = *w;
    for (int l = 0; l < GLOW_TILE_COLUMNS; l++)
      sum[l] = glow_bf16_flush(sum[l]);
    for (int64_t j = 0; j < nparts; j++) {
      const float *x = a[i] + parts[j];
      for (int64_t k = 0; k < length; k += 2) {
        const bool both = k + 1 < length;
        if (both)
          glow_tile_pair_step(sum, x[k + 1], v + GLOW_TILE_COLUMNS);
        for (int l = 0; !both && l < GLOW_TILE_COLUMNS; l++)
          sum[l] += 0.0f; /* a zero fills the last pair */
        glow_tile_pair_step(sum, x[k], v);
        v += (both ? 2 : 1) * GLOW_TILE_COLUMNS;
      }
    }
  }
  *w += nparts * length * GLOW_TILE_COLUMNS;
}

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
