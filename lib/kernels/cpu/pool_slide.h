/* Windows of 3 x 3 or 5 x 5 that move by one element, for pool_rows.c.
 *
 * A stripe is as many columns of results as a register has lanes. Down a stripe each row of X is
 * read once for every column of a window, and goes to the results whose windows it lies in: `side`
 * of them, the last of which it ends. Means add up the taps in their order; maxima are taken of the
 * taps of a row, then of rows. What lies outside of a row reads as padding.
 *
 * Stripes are taken from the right to the left: what one writes beyond a row the next row, or a
 * stripe further left, overwrites. */
#ifndef GLOW_KERNELS_CPU_POOL_SLIDE_H
#define GLOW_KERNELS_CPU_POOL_SLIDE_H

#include "pool_window.h"

enum { MOST_SIDE = 5 };

typedef struct Slide {
  const GlowPoolParams *q;
  const float *x, *x_end; /* of all of X */
  const float *divisors;  /* of columns, whole registers */
  const float *plane;
  float *y;           /* of the plane's results */
  const float *limit; /* nothing is written from here on */
  int64_t begin, end; /* rows of results */
} Slide;

/* Lanes from column `at` on that are columns of X. */
INLINE GlowVecI slide_mask(int64_t at, int64_t columns) {
  typedef uint32_t Unsigned __attribute__((vector_size(GLOW_VL * 4)));
  static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const GlowVecI column = *(const GlowVecI *)lanes + (int32_t)at;
  return (GlowVecI)((Unsigned)column < (Unsigned)((GlowVecI){0} + (int32_t)columns));
}

/* A register of which some lanes may lie outside of X. */
INLINE GlowVec slide_load_few(const Slide *s, const float *at) {
  float v[GLOW_VL] = {0};
  ROLLED for (int l = 0; l < GLOW_VL; l++) if (at + l >= s->x && at + l < s->x_end) v[l] = at[l];
  return vec_load(v);
}

/* The taps of row r of X for the columns of a stripe, which begin with tap 0 at column `left`. */
INLINE void slide_taps(const Slide *s, int side, int64_t r, int64_t left, const GlowVecI *mask,
                       GlowVec padding, GlowVec *tap) {
  const float *at = s->plane + r * s->q->xs[1] + left;
  if (r < 0 || r >= s->q->in[1]) {
    UNROLL for (int k = 0; k < side; k++) tap[k] = padding;
    return;
  }
  if (at >= s->x && at + side + GLOW_VL <= s->x_end) {
    UNROLL for (int k = 0; k < side; k++) tap[k] = vec_load(at + k);
  } else {
    UNROLL for (int k = 0; k < side; k++) tap[k] = slide_load_few(s, at + k);
  }
  UNROLL for (int k = 0; k < side; k++) tap[k] =
      (GlowVec)(((GlowVecI)tap[k] & mask[k]) | ((GlowVecI)padding & ~mask[k]));
}

/* Stores a register of row `row` from column j on. */
INLINE void slide_put(const Slide *s, int64_t row, int64_t j, GlowVec v) {
  float *to = s->y + row * s->q->out[2] + j;
  if (to + GLOW_VL <= s->limit)
    vec_store(to, v);
  else
    vec_store_first(to, v, s->limit > to ? s->limit - to : 0);
}

INLINE void slide_means(const Slide *s, int side, int64_t j) {
  const int64_t left = j - s->q->before[2], top = s->q->before[1];
  const GlowVec columns = vec_load(s->divisors + j), zero = vec_splat(0);
  GlowVec sum[MOST_SIDE], tap[MOST_SIDE];
  GlowVecI mask[MOST_SIDE];
  UNROLL for (int k = 0; k < side; k++) {
    mask[k] = slide_mask(left + k, s->q->in[2]);
    sum[k] = zero;
  }
  ROLLED for (int64_t row = s->begin - (side - 1); row < s->end; row++) {
    slide_taps(s, side, row - top + side - 1, left, mask, zero, tap);
    sum[side - 1] = zero;
    UNROLL for (int i = 0; i < side; i++) {
      UNROLL for (int k = 0; k < side; k++) sum[i] += tap[k];
    }
    if (row >= s->begin) {
      int64_t first, count, limit;
      clip_axis(s->q, 1, row, &first, &count, &limit);
      const float rows = (float)(s->q->include_pad ? limit : count);
      slide_put(s, row, j, sum[0] / (vec_splat(rows) * columns));
    }
    UNROLL for (int i = 0; i < side - 1; i++) sum[i] = sum[i + 1];
  }
}

/* The larger of two that are no NaN, the first of equals. */
INLINE GlowVec slide_larger(bool nan, GlowVec a, GlowVec b) {
  const GlowVecI larger = b > a;
  return nan ? vec_top(a, b) : (GlowVec)(((GlowVecI)b & larger) | ((GlowVecI)a & ~larger));
}

/* Whether there was a NaN, which `nan` says that there may be. */
INLINE bool slide_maxima(const Slide *s, int side, bool nan, int64_t j) {
  const int64_t left = j - s->q->before[2], top = s->q->before[1];
  const GlowVec low = vec_splat(-__builtin_inff());
  GlowVec max[MOST_SIDE], tap[MOST_SIDE];
  GlowVecI mask[MOST_SIDE], seen = {0};
  UNROLL for (int k = 0; k < side; k++) {
    mask[k] = slide_mask(left + k, s->q->in[2]);
    max[k] = low;
  }
  ROLLED for (int64_t row = s->begin - (side - 1); row < s->end; row++) {
    slide_taps(s, side, row - top + side - 1, left, mask, low, tap);
    GlowVec line = tap[0];
    UNROLL for (int k = 0; k < side; k++) seen |= tap[k] != tap[k];
    UNROLL for (int k = 1; k < side; k++) line = slide_larger(nan, line, tap[k]);
    max[side - 1] = line;
    UNROLL for (int i = 0; i < side - 1; i++) max[i] = slide_larger(nan, max[i], line);
    if (row >= s->begin)
      slide_put(s, row, j, max[0]);
    UNROLL for (int i = 0; i < side - 1; i++) max[i] = max[i + 1];
  }
  return __builtin_reduce_or(seen) != 0;
}

/* The rows of a plane. */
INLINE void slide_plane(const Slide *s, bool mean, int side) {
  ROLLED for (int64_t j = (s->q->out[2] - 1) / GLOW_VL * GLOW_VL; j >= 0; j -= GLOW_VL) {
    if (mean)
      slide_means(s, side, j);
    else if (slide_maxima(s, side, false, j))
      slide_maxima(s, side, true, j);
  }
}

/* Whether windows are such ones; *side is then 3 or 5. */
INLINE bool slides(const GlowPoolParams *q, bool mean, int64_t *side) {
  bool all = q->kernel[0] == 1 && q->stride[0] == 1 && !q->before[0] && q->out[0] == q->in[0];
  UNROLL for (int a = 1; a < GLOW_POOL_DIMS; a++) all &= q->stride[a] == 1 && q->dilation[a] == 1;
  *side = q->kernel[1];
  return all && q->kernel[1] == q->kernel[2] && (*side == 3 || (*side == 5 && !mean)) &&
         q->before[2] < *side;
}

#endif
