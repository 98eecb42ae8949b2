/* Windows of 3 x 3 or 5 x 5 that move by one element, and maxima of 3 x 3 that move by two, for
 * pool_rows.c.
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

#if GLOW_VL == 4
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#elif GLOW_VL == 8
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define EVEN(a, b)                                                                                 \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b)                                                                                  \
  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#endif

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

/* Lanes from column `at` on, `stride` apart, that are columns of X. */
INLINE GlowVecI slide_mask(int64_t at, int stride, int64_t columns) {
  typedef uint32_t Unsigned __attribute__((vector_size(GLOW_VL * 4)));
  static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const GlowVecI column = *(const GlowVecI *)lanes * stride + (int32_t)at;
  return (GlowVecI)((Unsigned)column < (Unsigned)((GlowVecI){0} + (int32_t)columns));
}

/* A register of which some lanes may lie outside of X. */
INLINE GlowVec slide_load_few(const Slide *s, const float *at) {
  float v[GLOW_VL] = {0};
  ROLLED for (int l = 0; l < GLOW_VL; l++) if (at + l >= s->x && at + l < s->x_end) v[l] = at[l];
  return vec_load(v);
}

/* What the rows of a stripe have in common. */
typedef struct Stripe {
  const float *first; /* the first tap of row 0 of X */
  int64_t next;       /* floats from row to row */
  int64_t low, rows;  /* rows of X from `low` on that whole registers can be read of */
  bool inside;        /* no tap lies beside a row */
  GlowVecI mask[MOST_SIDE];
} Stripe;

INLINE Stripe stripe_at(const Slide *s, int side, int stride, int64_t j) {
  const int64_t left = stride * j - s->q->before[2], reach = stride * GLOW_VL + side - 1;
  Stripe t = {.first = s->plane + left, .next = s->q->xs[1], .rows = s->q->in[1]};
  UNROLL for (int k = 0; k < side; k++) t.mask[k] = slide_mask(left + k, stride, s->q->in[2]);
  t.inside = left >= 0 && left + (GLOW_VL - 1) * stride + side <= s->q->in[2];
  ROLLED while (t.low < t.rows && t.first + t.low * t.next < s->x) t.low++;
  ROLLED while (t.rows > t.low && s->x_end - t.first < (t.rows - 1) * t.next + reach) t.rows--;
  t.rows = t.rows > t.low ? t.rows - t.low : 0;
  return t;
}

/* The taps of row r of X for the columns of a stripe that move by one. `finite`, unless NULL,
 * becomes NaN where a tap is NaN, or infinite. */
INLINE void slide_taps(const Slide *s, const Stripe *t, int side, int64_t r, GlowVec padding,
                       GlowVec *tap, GlowVec *finite) {
  const float *at = t->first + r * t->next;
  if ((uint64_t)(r - t->low) < (uint64_t)t->rows) {
    UNROLL for (int k = 0; k < side; k++) tap[k] = vec_load(at + k);
  } else if (r < 0 || r >= s->q->in[1]) {
    UNROLL for (int k = 0; k < side; k++) tap[k] = padding;
    return;
  } else {
    UNROLL for (int k = 0; k < side; k++) tap[k] = slide_load_few(s, at + k);
  }
  if (finite)
    finite[0] *= tap[0], finite[1] *= tap[side - 1];
  UNROLL for (int k = 0; k < side; k++) tap[k] =
      (GlowVec)(((GlowVecI)tap[k] & t->mask[k]) | ((GlowVecI)padding & ~t->mask[k]));
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
  const Stripe t = stripe_at(s, side, 1, j);
  const int64_t top = s->q->before[1], inner = s->q->in[1] - side + 1;
  const GlowVec columns = vec_load(s->divisors + j), zero = vec_splat(0);
  const GlowVec whole = vec_splat((float)side) * columns;
  GlowVec sum[MOST_SIDE], tap[MOST_SIDE];
  UNROLL for (int k = 0; k < side; k++) sum[k] = zero;
  ROLLED for (int64_t row = s->begin - (side - 1); row < s->end; row++) {
    slide_taps(s, &t, side, row - top + side - 1, zero, tap, NULL);
    sum[side - 1] = zero;
    UNROLL for (int i = 0; i < side; i++) {
      UNROLL for (int k = 0; k < side; k++) sum[i] += tap[k];
    }
    if (row >= s->begin) {
      GlowVec divisor = whole;
      if (row < top || row - top >= inner) {
        int64_t first, count, limit;
        clip_axis(s->q, 1, row, &first, &count, &limit);
        divisor = vec_splat((float)(s->q->include_pad ? limit : count)) * columns;
      }
      slide_put(s, row, j, sum[0] / divisor);
    }
    UNROLL for (int i = 0; i < side - 1; i++) sum[i] = sum[i + 1];
  }
}

/* The larger of two that are no NaN, the first of equals. */
INLINE GlowVec slide_larger(bool nan, GlowVec a, GlowVec b) {
  const GlowVecI larger = b > a;
  return nan ? vec_top(a, b) : (GlowVec)(((GlowVecI)b & larger) | ((GlowVecI)a & ~larger));
}

/* Whether there may have been a NaN, which `nan` says that there may be. */
INLINE bool slide_maxima(const Slide *s, int side, bool nan, int64_t j) {
  const Stripe t = stripe_at(s, side, 1, j);
  const int64_t top = s->q->before[1];
  const GlowVec low = vec_splat(-__builtin_inff());
  GlowVec max[MOST_SIDE], tap[MOST_SIDE], finite[2] = {vec_splat(0), vec_splat(0)};
  UNROLL for (int k = 0; k < side; k++) max[k] = low;
  ROLLED for (int64_t row = s->begin - (side - 1); row < s->end; row++) {
    slide_taps(s, &t, side, row - top + side - 1, low, tap, finite);
    GlowVec line = tap[0];
    UNROLL for (int k = 1; k < side; k++) line = slide_larger(nan, line, tap[k]);
    max[side - 1] = line;
    UNROLL for (int i = 0; i < side - 1; i++) max[i] = slide_larger(nan, max[i], line);
    if (row >= s->begin)
      slide_put(s, row, j, max[0]);
    UNROLL for (int i = 0; i < side - 1; i++) max[i] = max[i + 1];
  }
  const GlowVec all = finite[0] + finite[1];
  return __builtin_reduce_or(all != all) != 0;
}

/* The maxima of three columns of row r of X, for each second column. `finite` becomes NaN where a
 * tap is NaN, or infinite. */
INLINE GlowVec slide_line(const Slide *s, const Stripe *t, bool nan, bool inside, int64_t r,
                          GlowVec *finite) {
  const GlowVec low = vec_splat(-__builtin_inff());
  const float *at = t->first + r * t->next;
  float few[2 * GLOW_VL + 2];
  GlowVec v[4], tap[3];
  if ((uint64_t)(r - t->low) >= (uint64_t)t->rows) {
    if (r < 0 || r >= s->q->in[1])
      return low;
    ROLLED for (int i = 0; i < 2 * GLOW_VL + 2; i++) few[i] =
        at + i >= s->x && at + i < s->x_end ? at[i] : 0;
    at = few;
  }
  v[0] = vec_load(at), v[1] = vec_load(at + GLOW_VL);
  v[2] = vec_load(at + 2), v[3] = vec_load(at + 2 + GLOW_VL);
  finite[0] *= v[0], finite[1] *= v[1], finite[2] *= v[3];
  tap[0] = EVEN(v[0], v[1]), tap[1] = ODD(v[0], v[1]), tap[2] = EVEN(v[2], v[3]);
  UNROLL for (int k = 0; k < 3 && !inside; k++) tap[k] =
      (GlowVec)(((GlowVecI)tap[k] & t->mask[k]) | ((GlowVecI)low & ~t->mask[k]));
  return slide_larger(nan, slide_larger(nan, tap[0], tap[1]), tap[2]);
}

/* As slide_maxima; a row of X that two windows have in common is read once. Whether there may have
 * been a NaN. */
INLINE bool slide_by_two(const Slide *s, const Stripe *t, bool nan, bool inside, int64_t j) {
  const int64_t top = s->q->before[1];
  GlowVec finite[3] = {vec_splat(0), vec_splat(0), vec_splat(0)};
  GlowVec first = slide_line(s, t, nan, inside, 2 * s->begin - top, finite);
  ROLLED for (int64_t row = s->begin; row < s->end; row++) {
    const GlowVec second = slide_line(s, t, nan, inside, 2 * row - top + 1, finite);
    const GlowVec third = slide_line(s, t, nan, inside, 2 * row - top + 2, finite);
    slide_put(s, row, j, slide_larger(nan, slide_larger(nan, first, second), third));
    first = third;
  }
  const GlowVec all = finite[0] + finite[1] + finite[2];
  return __builtin_reduce_or(all != all) != 0;
}

INLINE void slide_stripe_by_two(const Slide *s, int64_t j) {
  const Stripe t = stripe_at(s, 3, 2, j);
  if (t.inside ? slide_by_two(s, &t, false, true, j) : slide_by_two(s, &t, false, false, j))
    slide_by_two(s, &t, true, false, j);
}

/* The rows of a plane. */
INLINE void slide_plane(const Slide *s, bool mean, int side, int stride) {
  ROLLED for (int64_t j = (s->q->out[2] - 1) / GLOW_VL * GLOW_VL; j >= 0; j -= GLOW_VL) {
    if (stride == 2)
      slide_stripe_by_two(s, j);
    else if (mean)
      slide_means(s, side, j);
    else if (slide_maxima(s, side, false, j))
      slide_maxima(s, side, true, j);
  }
}

/* Whether windows are such ones; *side is then 3 or 5. */
INLINE bool slides(const GlowPoolParams *q, bool mean, int64_t *side) {
  const int64_t stride = q->stride[2];
  bool all = q->kernel[0] == 1 && q->stride[0] == 1 && !q->before[0] && q->out[0] == q->in[0];
  UNROLL for (int a = 1; a < GLOW_POOL_DIMS; a++) all &=
      q->stride[a] == stride && q->dilation[a] == 1;
  *side = q->kernel[1];
  all = all && q->kernel[1] == q->kernel[2] && q->before[2] < *side;
  if (stride == 2)
    return all && *side == 3 && !mean;
  return all && stride == 1 && (*side == 3 || (*side == 5 && !mean));
}

#endif
