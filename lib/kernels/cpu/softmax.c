/* Softmax and LogSoftmax of rows, each row through all steps while it is in the first-level cache:
 * the maximum, exponentials and their sum, quotients. Two rows take turns, so that no step waits
 * for the end of the one before. Sums have the lanes and the tree of reduce.c. */
#include "exp.h"
#include "extremes.h"
#include "kernels/kernels.h"
#include "part.h"

#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define BELOW(n) UNROLL for (int l = 0; l < (n); l++)
#define EACH UNROLL for (int v = 0; v < 16 / GLOW_VL; v++)

enum { AHEAD = 2048, TURNS = 2, LONG = 1024 }; /* floats; rows by turns, up to so many floats */
typedef float Lanes __attribute__((vector_size(64), aligned(4)));

/* Copies count < 16 elements. */
INLINE void copy_few(float *to, const float *from, int64_t count) {
  UNROLL for (int64_t size = 8; size; size /= 2) {
    if (count & size) {
      __builtin_memcpy(to, from, (size_t)size * sizeof *to);
      to += size, from += size;
    }
  }
}

/* Loads count < 16 elements, and -infinity behind them. */
INLINE void load_few(float *to, const float *from, int64_t count) {
  if (HAS_PARTS) {
    load_part(to, from, count);
    LANES16 to[l] = l < count ? to[l] : -__builtin_inff();
  } else {
    LANES16 to[l] = -__builtin_inff();
    copy_few(to, from, count);
  }
}

/* The largest element of a row, and at most how far below it the smallest one is. Maxima of bits
 * leave the units of floats free. The greatest bits are those of the smallest number below zero; in
 * a row without one, zero stands for the smallest element. The distance is NaN if an element is. */
INLINE float extremes(const float *x, int64_t n, float *span) {
  enum { INF = 0x7f800000 };
  const Extremes_int32_t e = extremes_int32_t(x, n);
  uint32_t most = (uint32_t)e.most;
  float top, bottom;
  if (e.most < 0) /* the least bits are those of the largest number below zero */
    most = extremes_int32_t(x, n).uleast;
  __builtin_memcpy(&top, &most, sizeof top);
  __builtin_memcpy(&bottom, &e.umost, sizeof bottom);
  bottom = bottom >= 0.0f ? 0.0f : bottom;
  if (e.most > INF)
    bottom = top;
  *span = bottom - top;
  return top;
}

/* The sum of e^(x - max) over a row, whose terms go to y if `keep`. Behind the end of the row terms
 * are +0, which change no sum of such terms. */
INLINE float sum_of_powers(const float *x, float *y, bool keep, int64_t n, float max, bool near) {
  /* The next row, or memory takes longer to answer than a short row takes. */
  const int64_t whole = n / 16 * 16, ahead = n > AHEAD ? n : AHEAD;
  float e[16], in[16];
  GlowVec sum[16 / GLOW_VL];
  EACH sum[v] = vec_splat(0.0f);
  ROLLED for (int64_t j = 0; j < whole; j += 16) {
    __builtin_prefetch(x + ahead + j);
    EACH {
      const GlowVec p = vec_exp(vec_load(x + j + v * GLOW_VL) - max, near);
      sum[v] += p;
      if (keep)
        vec_store(y + j + v * GLOW_VL, p);
    }
  }
  if (whole < n) {
    load_few(in, x + whole, n - whole);
    EACH vec_store(e + v * GLOW_VL, vec_exp(vec_load(in + v * GLOW_VL) - max, false));
    EACH sum[v] += vec_load(e + v * GLOW_VL);
    if (keep)
      copy_few(y + whole, e, n - whole);
  }
  EACH vec_store(e + v * GLOW_VL, sum[v]);
  BELOW(8) e[l] += e[l + 8];
  BELOW(4) e[l] += e[l + 4];
  BELOW(2) e[l] += e[l + 2];
  return e[0] + e[1];
}

/* Whether one of 16 exponentials is so small that what a quotient leaves may be no float. */
INLINE bool has_tiny(const float *y) {
  const Lanes v = *(const Lanes *)y;
  return __builtin_reduce_or((v > 0.0f) & (v < 0x1p-100f)) != 0;
}

/* What the quotients of a row are made of: `less` is what the reciprocal was rounded by. */
typedef struct Divisor {
  float sum, inverse, less;
} Divisor;

/* Divides 16 exponentials by their sum, in a third of the time of divisions: the product with the
 * reciprocal is right up to the last place, and the exact rest rounds it, since the reciprocal is
 * rounded (Markstein). `close`: the reciprocal is so close to the quotient that its product needs
 * no correction to be right up to that. `far`: there may be tiny exponentials. */
INLINE void divide(float *y, Divisor d, bool close, bool far) {
  if (!GLOW_HAS_FMA || (far && has_tiny(y))) {
    LANES16 y[l] = y[l] / d.sum;
  } else {
    LANES16 {
      const float e = y[l];
      const float q = close ? e * d.inverse : glow_fmaf(e, d.inverse, e * d.less);
      y[l] = glow_fmaf(glow_fmaf(-q, d.sum, e), d.inverse, q);
    }
  }
}

/* STEP takes 16 elements of a row from `from` to `to`, which may be the same memory. The last 16,
 * if they overlap others, are taken first and stored last; `few`: 16 elements of a shorter row. */
#define ROW(to, from, n, few, STEP)                                                                \
  {                                                                                                \
    const int64_t whole = (n) / 16 * 16, rest = (n)-whole, last = whole ? (n)-16 : 0;              \
    if (rest && whole)                                                                             \
      *(Lanes *)few = *(const Lanes *)((from) + last);                                             \
    else if (rest)                                                                                 \
      copy_few(few, from, rest);                                                                   \
    if (rest)                                                                                      \
      STEP(few);                                                                                   \
    ROLLED for (int64_t j = 0; j < whole; j += 16) {                                               \
      float some[16];                                                                              \
      *(Lanes *)some = *(const Lanes *)((from) + j);                                               \
      STEP(some);                                                                                  \
      *(Lanes *)((to) + j) = *(const Lanes *)some;                                                 \
    }                                                                                              \
    if (rest && whole)                                                                             \
      *(Lanes *)((to) + last) = *(const Lanes *)few;                                               \
    else if (rest)                                                                                 \
      copy_few(to, few, rest);                                                                     \
  }

INLINE void divide_row(float *y, int64_t n, Divisor d, bool close, bool far) {
  float few[16] = {0};
#define STEP(v) divide(v, d, close, far)
  ROW(y, y, n, few, STEP)
#undef STEP
}

/* `near`: no exponential is tiny. The rest of the division 1 / sum is exact; a part of 2^-25 of a
 * number is at most half a unit of its last place. */
INLINE void divide_by_sum(float *y, int64_t n, float sum, bool near) {
  const float inverse = 1.0f / sum, rest = glow_fmaf(-inverse, sum, 1.0f);
  const Divisor d = {sum, inverse, rest * inverse};
  if (!near)
    divide_row(y, n, d, false, true);
  else if (rest <= 0x1p-25f && rest >= -0x1p-25f)
    divide_row(y, n, d, true, false);
  else
    divide_row(y, n, d, false, false);
}

INLINE void subtract_row(const float *x, float *y, int64_t n, float max, float log) {
  float few[16] = {0};
#define STEP(v) LANES16 v[l] = (v[l] - max) - log
  ROW(y, x, n, few, STEP)
#undef STEP
}

/* Some rows, at most TURNS. */
INLINE void softmax_rows(const float *x, float *y, int64_t rows, int64_t n, bool log) {
  float max[TURNS], span[TURNS], sum[TURNS];
  ROLLED for (int64_t i = 0; i < rows; i++) max[i] = extremes(x + i * n, n, &span[i]);
  ROLLED for (int64_t i = 0; i < rows; i++) {
    sum[i] = span[i] > -87.0f ? sum_of_powers(x + i * n, y + i * n, !log, n, max[i], true)
                              : sum_of_powers(x + i * n, y + i * n, !log, n, max[i], false);
  }
  ROLLED for (int64_t i = 0; i < rows; i++) {
    if (log)
      subtract_row(x + i * n, y + i * n, n, max[i], glow_logf(sum[i]));
    else
      divide_by_sum(y + i * n, n, sum[i], span[i] > -69.0f);
  }
}

void glow_softmax(const GlowSoftmaxParams *p, void *const *ptrs, int64_t begin, int64_t end,
                  char *scratch) {
  const int64_t n = p->n, turns = n > LONG ? 1 : TURNS;
  (void)scratch;
  ROLLED for (int64_t u = begin; u < end; u += turns)
      softmax_rows(GLOW_SOFTMAX_PTRS(ptrs).x + u * n, GLOW_SOFTMAX_PTRS(ptrs).y + u * n,
                   end - u < turns ? end - u : turns, n, p->log);
}
