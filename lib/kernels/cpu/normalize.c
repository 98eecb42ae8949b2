/* Normalization of rows: their elements, less the mean if they are centered, divided by the root of
 * the mean of their squares. Some rows at a time go through all steps while they are in the cache,
 * since a lane of a sum waits for its last addition. Sums have the lanes and the tree of reduce.c.
 */
#include "kernels/kernels.h"

#include "num/math.h"

#define BELOW(n) UNROLL for (int l = 0; l < (n); l++)

/* Rows side by side: as many as keep their lanes in half of the registers. */
enum { GROUP = GLOW_TILE_PIXELS == 1 ? 1 : GLOW_VL == 4 ? 2 : 4 };

typedef float Lanes __attribute__((vector_size(64), aligned(4)));

/* A number of each row. It stays in a register: a load of numbers that were stored one by one waits
 * until all of them are in the cache. */
typedef float Numbers __attribute__((vector_size(4 * GROUP)));

/* What changes no number that it is added to. */
INLINE void clear(Lanes *v) { BELOW(16)(*v)[l] = -0.0f; }

/* The first `count` elements, then what changes no sum. */
INLINE void load_first(Lanes *v, const float *x, int64_t count) {
  clear(v);
  __builtin_memcpy(v, x, (size_t)count * sizeof *x);
}

/* The sums of N rows, of which each has its lanes, over n. */
INLINE Numbers means_of(const Lanes *sum, int64_t n, int N) {
  Numbers all = {0};
  UNROLL for (int r = 0; r < N; r++) {
    Lanes v = sum[r];
    BELOW(8) v[l] += v[l + 8];
    BELOW(4) v[l] += v[l + 4];
    BELOW(2) v[l] += v[l + 2];
    all[r] = v[0] + v[1];
  }
  return all / (float)n;
}

/* The mean of each of N rows, the first of which begins at x. */
INLINE Numbers means(const float *x, int64_t n, int N) {
  const int64_t whole = n / 16 * 16;
  Lanes sum[GROUP], v;
  UNROLL for (int r = 0; r < N; r++) clear(&sum[r]);
  ROLLED for (int64_t j = 0; j < whole; j += 16) {
    UNROLL for (int r = 0; r < N; r++) sum[r] += *(const Lanes *)(x + r * n + j);
  }
  if (whole < n) {
    UNROLL for (int r = 0; r < N; r++) {
      load_first(&v, x + r * n + whole, n - whole);
      sum[r] += v;
    }
  }
  return means_of(sum, n, N);
}

/* The mean of the squares of what differs from the mean. */
INLINE Numbers variances(const float *x, int64_t n, Numbers mean, int N) {
  const int64_t whole = n / 16 * 16;
  Lanes sum[GROUP], v;
  UNROLL for (int r = 0; r < N; r++) clear(&sum[r]);
  ROLLED for (int64_t j = 0; j < whole; j += 16) {
    UNROLL for (int r = 0; r < N; r++) {
      v = *(const Lanes *)(x + r * n + j) - mean[r];
      sum[r] += v * v;
    }
  }
  if (whole < n) {
    UNROLL for (int r = 0; r < N; r++) {
      load_first(&v, x + r * n + whole, n - whole);
      v = v - mean[r];
      v = v * v;
      BELOW(16) v[l] = l < n - whole ? v[l] : -0.0f;
      sum[r] += v;
    }
  }
  return means_of(sum, n, N);
}

/* y = (x - mean) * inverse * s + b. Each of s and b is a number, or one for each column. */
INLINE void scale(const float *x, float *y, int64_t n, float mean, float inverse, float s,
                  const float *scales, float b, const float *biases) {
  const int64_t whole = n / 16 * 16;
  ROLLED for (int64_t j = 0; j < whole; j += 16) {
    Lanes v = (*(const Lanes *)(x + j) - mean) * inverse;
    v = scales ? v * *(const Lanes *)(scales + j) : v * s;
    *(Lanes *)(y + j) = biases ? v + *(const Lanes *)(biases + j) : v + b;
  }
  ROLLED for (int64_t j = whole; j < n; j++) {
    const float v = (x[j] - mean) * inverse * (scales ? scales[j] : s);
    y[j] = v + (biases ? biases[j] : b);
  }
}

/* The number of a row, or what changes nothing. */
INLINE float of_row(const float *v, int64_t period, int64_t row, float absent) {
  return period ? v[row % period] : absent;
}

/* What rows are multiplied by, but for their factors. */
INLINE Numbers inverses_of(const GlowNormalizeParams *p, Numbers variance) {
  const float epsilon = glow_float_from_bits((uint32_t)p->epsilon);
  return p->outside ? 1.0f / (__builtin_elementwise_sqrt(variance) + epsilon)
                    : 1.0f / __builtin_elementwise_sqrt(variance + epsilon);
}

INLINE void rows(const GlowNormalizeParams *p, const GlowNormalizePtrs *at, int64_t row, int N) {
  const int64_t n = p->n;
  const float *x = at->x + row * n;
  const Numbers mean = p->centered ? means(x, n, N) : (Numbers){0};
  const Numbers inverses = inverses_of(p, variances(x, n, mean, N));
  ROLLED for (int r = 0; r < N; r++) {
    const float s = of_row(at->scale, p->scales, row + r, 1.0f);
    const float b = of_row(at->bias, p->biases, row + r, -0.0f);
    float *y = at->y + (row + r) * n, inverse = inverses[r];
    inverse = p->factors ? inverse * at->factor[(row + r) % p->factors] : inverse;
    if (p->scale_columns && p->bias_columns)
      scale(x + r * n, y, n, mean[r], inverse, s, at->scale, b, at->bias);
    else if (p->scale_columns)
      scale(x + r * n, y, n, mean[r], inverse, s, at->scale, b, (const float *)0);
    else if (p->bias_columns)
      scale(x + r * n, y, n, mean[r], inverse, s, (const float *)0, b, at->bias);
    else if (p->scales || p->biases)
      scale(x + r * n, y, n, mean[r], inverse, s, (const float *)0, b, (const float *)0);
    else
      scale(x + r * n, y, n, mean[r], inverse, 1.0f, (const float *)0, -0.0f, (const float *)0);
  }
}

void glow_normalize(const GlowNormalizeParams *p, void *const *ptrs, int64_t begin, int64_t end,
                    char *scratch) {
  const GlowNormalizePtrs at = GLOW_NORMALIZE_PTRS(ptrs);
  int64_t u = begin;
  (void)scratch;
  ROLLED for (; u + GROUP <= end; u += GROUP) rows(p, &at, u, GROUP);
  ROLLED for (; u < end; u++) rows(p, &at, u, 1);
}
