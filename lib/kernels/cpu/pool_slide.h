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

#include "part.h"
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

/* What a call works with, and the rows [begin, end) of `planes` planes of results, one unless they
 * are whole ones. The first of these planes is where the others need no other care: all memory that
 * their stripes read or write in whole registers is there. */
typedef struct Slide {
  const GlowPoolParams *q;
  const float *x, *x_end; /* of all of X */
  const float *divisors;  /* of columns, whole registers */
  const float *counts;    /* divisors of rows */
  const float *limit;     /* nothing is written from here on */
  const float *plane;     /* the first of X */
  float *y;               /* of its results */
  int64_t begin, end, planes;
} Slide;

/* Lanes from column `at` on, `stride` apart, that are columns of X. */
INLINE GlowVecI slide_mask(int64_t at, int stride, int64_t columns) {
  typedef uint32_t Unsigned __attribute__((vector_size(GLOW_VL * 4)));
  static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const GlowVecI column = *(const GlowVecI *)lanes * stride + (int32_t)at;
  return (GlowVecI)((Unsigned)column < (Unsigned)((GlowVecI){0} + (int32_t)columns));
}

/* What the rows of a stripe have in common. */
typedef struct Stripe {
  int64_t column;     /* of results, the first */
  const float *first; /* the first tap of row 0 of X */
  int64_t next;       /* floats from row to row */
  int64_t low, rows;  /* rows of X from `low` on that whole registers can be read of */
  float *y;           /* row 0 of results */
  bool inside;        /* no tap lies beside a row */
  GlowVecI mask[MOST_SIDE];
} Stripe;

INLINE Stripe stripe_at(const Slide *s, int side, int stride, int64_t j) {
  const int64_t left = stride * j - s->q->before[2], reach = stride * GLOW_VL + side - 1;
  Stripe t = {.column = j, .first = s->plane + left, .next = s->q->xs[1], .rows = s->q->in[1]};
  t.y = s->y + j;
  UNROLL for (int k = 0; k < side; k++) t.mask[k] = slide_mask(left + k, stride, s->q->in[2]);
  t.inside = left >= 0 && left + (GLOW_VL - 1) * stride + side <= s->q->in[2];
  if (t.first < s->x || s->x_end - t.first < (t.rows - 1) * t.next + reach) {
    ROLLED while (t.low < t.rows && t.first + t.low * t.next < s->x) t.low++;
    ROLLED while (t.rows > t.low && s->x_end - t.first < (t.rows - 1) * t.next + reach) t.rows--;
  }
  t.rows = t.rows > t.low ? t.rows - t.low : 0;
  return t;
}

/* The `reach` floats of row r of X, in `few` if some lie beside the memory of X. `few` has room for
 * whole registers. */
INLINE const float *slide_row(const Slide *s, const Stripe *t, int reach, int64_t r, float *few) {
  const float *at = t->first + r * t->next;
  if ((uint64_t)(r - t->low) < (uint64_t)t->rows)
    return at;
  if (at >= s->x) {
    UNROLL for (int i = 0; i < reach; i += GLOW_VL)
        vec_store(few + i, get_first(at + i, s->x_end - (at + i)));
    return few;
  }
  ROLLED for (int i = 0; i < reach; i++) few[i] = at + i >= s->x && at + i < s->x_end ? at[i] : 0;
  return few;
}

/* Lanes of v that are columns of X, `padding` in the others. */
INLINE GlowVec slide_mask_out(GlowVec v, GlowVecI mask, GlowVec padding) {
  return (GlowVec)(((GlowVecI)v & mask) | ((GlowVecI)padding & ~mask));
}

/* Stores a register of row `row`. */
INLINE void slide_put(const Slide *s, const Stripe *t, int64_t row, GlowVec v) {
  float *to = t->y + row * s->q->out[2];
  if (to + GLOW_VL <= s->limit)
    vec_store(to, v);
  else
    put_first(to, v, s->limit > to ? s->limit - to : 0);
}

/* x86's maximum: the second of equals. */
#if defined(__AVX512F__) && GLOW_VL == 16
#define SLIDE_MAX(a, b) __builtin_ia32_maxps512(a, b, 4)
#elif defined(__AVX__) && GLOW_VL == 8
#define SLIDE_MAX(a, b) __builtin_ia32_maxps256(a, b)
#elif defined(__SSE__) && GLOW_VL == 4
#define SLIDE_MAX(a, b) __builtin_ia32_maxps(a, b)
#endif

/* The larger of two that are no NaN, the first of equals: one instruction, which LLVM does not find
 * behind masks. */
INLINE GlowVec slide_larger(bool nan, GlowVec a, GlowVec b) {
#ifdef SLIDE_MAX
  typedef float Floats __attribute__((vector_size(GLOW_VL * 4)));
  if (!nan)
    return (GlowVec)SLIDE_MAX((Floats)b, (Floats)a);
#endif
  const GlowVecI larger = b > a;
  return nan ? vec_top(a, b) : (GlowVec)(((GlowVecI)b & larger) | ((GlowVecI)a & ~larger));
}

/* How windows are joined. Maxima are taken as if no NaN were there unless `nan`. */
typedef struct SlideHow {
  bool mean, nan;
  int side;
} SlideHow;

/* Joins the row of X of which the first tap is at `at` to the `side` rows of results that read it.
 * `finite` becomes NaN where a tap is NaN, or infinite. */
INLINE void slide_join(const Stripe *t, SlideHow how, const float *at, GlowVec *result,
                       GlowVec *finite) {
  const int side = how.side;
  const GlowVec padding = vec_splat(how.mean ? 0 : -__builtin_inff());
  GlowVec tap[MOST_SIDE];
  UNROLL for (int k = 0; k < side; k++) tap[k] = vec_load(at + k);
  if (!how.mean)
    finite[0] *= tap[0], finite[1] *= tap[side - 1];
  UNROLL for (int k = 0; k < side; k++) tap[k] = slide_mask_out(tap[k], t->mask[k], padding);
  if (how.mean) {
    UNROLL for (int i = 0; i < side; i++) {
      UNROLL for (int k = 0; k < side; k++) result[i] += tap[k];
    }
    return;
  }
  UNROLL for (int k = 1; k < side; k++) tap[0] = slide_larger(how.nan, tap[0], tap[k]);
  UNROLL for (int i = 0; i < side; i++) result[i] = slide_larger(how.nan, result[i], tap[0]);
}

/* The row of results behind the first one becomes the first one. */
INLINE void slide_shift(SlideHow how, GlowVec *result) {
  UNROLL for (int i = 0; i < how.side - 1; i++) result[i] = result[i + 1];
  result[how.side - 1] = vec_splat(how.mean ? 0 : -__builtin_inff());
}

/* How many rows of results from the first one on read rows of X from r on, `stride` apart, that are
 * there in whole registers, and can be stored so. */
INLINE int64_t slide_easy(const Slide *s, const Stripe *t, int64_t r, int stride) {
  const int64_t left = t->low + t->rows - r, rows = s->end - s->begin;
  int64_t n = r < t->low || left <= 0 ? 0 : (left - 1) / stride + 1;
  n = n < rows ? n : rows;
  ROLLED while (n > 0 && s->limit - (t->y + (s->begin + n - 1) * s->q->out[2]) < GLOW_VL) n--;
  return n;
}

/* A plane; `easy` rows of it are such ones. Whether there may have been a NaN that `how` does not
 * know of. */
INLINE bool slide_stripe(const Slide *s, const Stripe *t, SlideHow how, int64_t easy) {
  const int side = how.side;
  const int64_t top = s->q->before[1], rows = s->q->in[1], columns = s->q->out[2];
  const GlowVec divisors = how.mean ? vec_load(s->divisors + t->column) : vec_splat(0);
  GlowVec result[MOST_SIDE], finite[2] = {vec_splat(0), vec_splat(0)};
  UNROLL for (int i = 0; i < side; i++) slide_shift(how, result);
  /* Rows beside X change no result. */
  int64_t r = s->begin > top ? s->begin - top : 0, row = r + top - (side - 1);
  ROLLED for (; row < s->end; r++, row++) {
    if (row == s->begin && easy > 0) {
      const float *at = t->first + r * t->next;
      float *to = t->y + row * columns;
      ROLLED for (const int64_t end = row + easy; row < end; row++, at += t->next, to += columns) {
        slide_join(t, how, at, result, finite);
        vec_store(to, how.mean ? result[0] / (vec_splat(s->counts[row]) * divisors) : result[0]);
        slide_shift(how, result);
      }
      if (row == s->end)
        break;
      r += easy;
    }
    float few[(1 + (MOST_SIDE + GLOW_VL - 2) / GLOW_VL) * GLOW_VL];
    if (r < rows)
      slide_join(t, how, slide_row(s, t, GLOW_VL + side - 1, r, few), result, finite);
    if (row >= s->begin)
      slide_put(s, t, row,
                how.mean ? result[0] / (vec_splat(s->counts[row]) * divisors) : result[0]);
    slide_shift(how, result);
  }
  const GlowVec all = finite[0] + finite[1];
  return !how.mean && !how.nan && __builtin_reduce_or(all != all) != 0;
}

/* The maxima of three columns, for each second one, of the row of X of which the first tap is at
 * `at`. `finite` becomes NaN where a tap is NaN, or infinite. */
INLINE GlowVec slide_three(const Stripe *t, bool nan, bool inside, const float *at,
                           GlowVec *finite) {
  GlowVec v[4], tap[3];
  v[0] = vec_load(at), v[1] = vec_load(at + GLOW_VL);
  v[2] = vec_load(at + 2), v[3] = vec_load(at + 2 + GLOW_VL);
  finite[0] *= v[0], finite[1] *= v[1], finite[2] *= v[3];
  tap[0] = EVEN(v[0], v[1]), tap[1] = ODD(v[0], v[1]), tap[2] = EVEN(v[2], v[3]);
  UNROLL for (int k = 0; k < 3 && !inside; k++) tap[k] =
      slide_mask_out(tap[k], t->mask[k], vec_splat(-__builtin_inff()));
  return slide_larger(nan, slide_larger(nan, tap[0], tap[1]), tap[2]);
}

/* The same of row r, which may lie beside X. */
INLINE GlowVec slide_line(const Slide *s, const Stripe *t, bool nan, bool inside, int64_t r,
                          GlowVec *finite) {
  float few[3 * GLOW_VL];
  if (r < 0 || r >= s->q->in[1])
    return vec_splat(-__builtin_inff());
  return slide_three(t, nan, inside, slide_row(s, t, 2 * GLOW_VL + 2, r, few), finite);
}

/* A row of X that two windows have in common is read once. Whether there may have been a NaN. */
INLINE bool slide_by_two(const Slide *s, const Stripe *t, bool nan, bool inside, int64_t easy) {
  const int64_t top = s->q->before[1], columns = s->q->out[2];
  GlowVec finite[3] = {vec_splat(0), vec_splat(0), vec_splat(0)};
  GlowVec first = slide_line(s, t, nan, inside, 2 * s->begin - top, finite);
  int64_t row = s->begin;
  if (easy > 0 && 2 * row - top + 1 >= t->low) {
    const float *at = t->first + (2 * row - top + 1) * t->next;
    float *to = t->y + row * columns;
    ROLLED for (int64_t n = easy; n > 0; n--, at += 2 * t->next, to += columns) {
      const GlowVec second = slide_three(t, nan, inside, at, finite);
      const GlowVec third = slide_three(t, nan, inside, at + t->next, finite);
      vec_store(to, slide_larger(nan, slide_larger(nan, first, second), third));
      first = third;
    }
    row += easy;
  }
  ROLLED for (; row < s->end; row++) {
    const GlowVec second = slide_line(s, t, nan, inside, 2 * row - top + 1, finite);
    const GlowVec third = slide_line(s, t, nan, inside, 2 * row - top + 2, finite);
    slide_put(s, t, row, slide_larger(nan, slide_larger(nan, first, second), third));
    first = third;
  }
  const GlowVec all = finite[0] + finite[1] + finite[2];
  return __builtin_reduce_or(all != all) != 0;
}

#define BY_TWO(name, nan, inside)                                                                  \
  APART bool slide_by_two_##name(const Slide *slide, const Stripe *stripe, int64_t easy) {         \
    const Slide s = *slide; /* no store changes them */                                            \
    const Stripe t = *stripe;                                                                      \
    return slide_by_two(&s, &t, nan, inside, easy);                                                \
  }
BY_TWO(inside, false, true)
BY_TWO(masked, false, false)
BY_TWO(nan, true, false)
#undef BY_TWO

INLINE void slide_planes(const Slide *s, bool mean, int side, int stride) {
  const int64_t xc = s->q->xc, yc = s->q->out[1] * s->q->out[2];
  ROLLED for (int64_t j = (s->q->out[2] - 1) / GLOW_VL * GLOW_VL; j >= 0; j -= GLOW_VL) {
    Stripe t = stripe_at(s, side, stride, j);
    const int64_t r = stride * s->begin - s->q->before[1] + side - 1;
    const int64_t easy = slide_easy(s, &t, r, stride);
    ROLLED for (int64_t i = 0; i < s->planes; i++, t.first += xc, t.y += yc) {
      if (stride == 2) {
        if (t.inside ? slide_by_two_inside(s, &t, easy) : slide_by_two_masked(s, &t, easy))
          slide_by_two_nan(s, &t, 0);
      } else if (slide_stripe(s, &t, (SlideHow){mean, false, side}, easy)) {
        slide_stripe(s, &t, (SlideHow){mean, true, side}, 0);
      }
    }
  }
}

/* Whether windows are such ones; *side is then 3 or 5. */
INLINE bool slides(const GlowPoolParams *q, bool mean, int64_t *side) {
  const int64_t stride = q->stride[2];
  bool all = q->kernel[0] == 1 && q->stride[0] == 1 && !q->before[0] && q->out[0] == q->in[0];
  UNROLL for (int a = 1; a < GLOW_POOL_DIMS; a++) all &=
      q->stride[a] == stride && q->dilation[a] == 1;
  *side = q->kernel[1];
  all = all && q->kernel[2] == *side && q->before[1] < *side && q->before[2] < *side;
  if (stride == 2)
    return all && *side == 3 && !mean;
  return all && stride == 1 && (*side == 3 || (*side == 5 && !mean));
}

#endif
