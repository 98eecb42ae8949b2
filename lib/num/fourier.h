/* Fourier transforms of lines in double, the same bits everywhere: interpreter and kernels call
 * this one body, which has no fused multiply-adds.
 *
 * A line of n points with no prime factor above 7 takes Stockham's passes of radix 4, then 2, 3, 5
 * and 7: a pass reads r points n / r apart and writes them beside each other, so nothing is
 * reordered in the end. For s lines that came out of the passes before,
 *
 *   y[q + s (r p + k)] = w^(k p) sum over j of x[q + s (p + j m)] e^(-2 pi i j k / r)
 *
 * where m = n / (s r), w = e^(-2 pi i / (r m)), q < s, p < m, k < r. Other n take Bluestein's
 * convolution with a chirp, by transforms whose length is a power of two. A real line of an even
 * number of samples is one of half as many points, which are pairs of samples.
 *
 * What only the lengths decide, roots of unity most of all, is a table that is made once. */
#ifndef GLOW_NUM_FOURIER_H
#define GLOW_NUM_FOURIER_H

#include <stdbool.h>
#include <stdint.h>

#include "num/math.h"

#define GLOW_FOURIER_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define GLOW_FOURIER_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GLOW_FOURIER_UNROLL
#endif
/* Kernels, which know a vector length, run these loops in vectors. */
#if !defined(GLOW_VL)
#define GLOW_FOURIER_LANES
#elif GLOW_VL >= 8
#define GLOW_FOURIER_LANES _Pragma("clang loop vectorize_width(4) interleave(disable)")
#else
#define GLOW_FOURIER_LANES _Pragma("clang loop vectorize(enable) interleave(disable)")
#endif

/* A transform of lines. What is loaded is `loaded` points, with 0 for samples that are not given:
 * the samples; pairs of samples of a real line if `halved`; of a one-sided spectrum (`back`) one
 * more than half of them. Results are points, but those of `back` are the real parts, or if
 * `halved` pairs of results. */
typedef struct GlowFourier {
  int64_t length;          /* samples of a line */
  int64_t points, chirp;   /* of the complex transform; of the convolution that does it, or 0 */
  int64_t loaded, results; /* points */
  bool inverse;            /* without the division by the length */
  bool back;               /* from a one-sided spectrum to a real line; implies inverse */
  bool halved;
} GlowFourier;

/* Points of a line, and where the next pass puts its results: four arrays of
 * glow_fourier_room. */
typedef struct GlowFourierLine {
  double *re, *im, *to_re, *to_im;
} GlowFourierLine;

/* ---- Plans ----------------------------------------------------------------------------------- */

/* The radix of the next pass over n > 1 points; 0: there is none. */
static inline int64_t glow_fourier_radix(int64_t n) {
  return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : n % 7 == 0 ? 7 : 0;
}

/* A transform of `length` samples, which are pairs if `complex`. `one_sided`: of a real line only
 * the results up to half of the length, or the inverse of that. */
static inline GlowFourier glow_fourier_plan(int64_t length, bool complex, bool inverse,
                                            bool one_sided) {
  GlowFourier f = {.length = length, .points = length, .inverse = inverse};
  f.back = inverse && one_sided;
  f.halved = length % 2 == 0 && (f.back || (!complex && !inverse));
  if (f.halved)
    f.points = length / 2;
  f.loaded = f.back ? length / 2 + 1 : f.points;
  f.results = f.back ? f.points : one_sided ? length / 2 + 1 : length;
  int64_t rest = f.points;
  while (rest > 1 && glow_fourier_radix(rest))
    rest /= glow_fourier_radix(rest);
  if (rest > 1)
    for (f.chirp = 1; f.chirp < 2 * f.points - 1;)
      f.chirp *= 2;
  return f;
}

/* Numbers in an array of a line. */
static inline int64_t glow_fourier_room(const GlowFourier *f) {
  int64_t most = f->chirp > f->length ? f->chirp : f->length;
  return (most + 8) / 8 * 8;
}

/* Numbers of the roots of all passes over n points. */
static inline int64_t glow_fourier_roots(int64_t n) {
  int64_t count = 0;
  while (n > 1) {
    int64_t radix = glow_fourier_radix(n);
    n /= radix;
    count += 2 * (radix - 1) * n;
  }
  return count;
}

/* Numbers of the table: roots of the passes; the chirp and the spectrum of its mirror image; for
 * lines that are halved the roots between both halves. Real parts stand before imaginary ones. */
static inline int64_t glow_fourier_table(const GlowFourier *f) {
  return glow_fourier_roots(f->chirp ? f->chirp : f->points) +
         (f->chirp ? 2 * f->points + 2 * f->chirp : 0) + (f->halved ? 2 * (f->points + 1) : 0);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* x * w to y, or x if it is not turned. */
GLOW_FOURIER_INLINE void glow_fourier_turn(bool turned, double re, double im, const double *w,
                                           int64_t m, double *yr, double *yi) {
  *yr = turned ? re * w[0] - im * w[m] : re;
  *yi = turned ? re * w[m] + im * w[0] : im;
}

GLOW_FOURIER_INLINE void glow_fourier_odd(const int r, bool turned, const double *xr,
                                          const double *xi, int64_t apart, double *yr, double *yi,
                                          int64_t s, const double *w, int64_t m) {
  /* Cosines and sines of 2 pi / r, twice that, and so on. */
  static const double turns[3][2][3] = {
      {{-0.5}, {0.86602540378443864676}},
      {{0.30901699437494742410, -0.80901699437494742410},
       {0.95105651629515357212, 0.58778525229247312917}},
      {{0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624},
       {0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048}}};
  enum { MOST = 3 };
  const int half = r / 2;
  const double(*const turn)[3] = turns[half - 1];
  double sr[MOST], si[MOST], dr[MOST], di[MOST], ar = xr[0], ai = xi[0];
  GLOW_FOURIER_UNROLL for (int j = 0; j < half; j++) {
    const int64_t one = (j + 1) * apart, other = (r - 1 - j) * apart;
    sr[j] = xr[one] + xr[other];
    si[j] = xi[one] + xi[other];
    dr[j] = xr[one] - xr[other];
    di[j] = xi[one] - xi[other];
    ar += sr[j];
    ai += si[j];
  }
  const double x0r = xr[0], x0i = xi[0];
  yr[0] = ar;
  yi[0] = ai;
  GLOW_FOURIER_UNROLL for (int k = 1; k <= half; k++) {
    double br = 0, bi = 0;
    ar = x0r;
    ai = x0i;
    GLOW_FOURIER_UNROLL for (int j = 1; j <= half; j++) {
      const int at = j * k % r, near = at > half ? r - at : at;
      const double c = turn[0][near - 1], sine = turn[1][near - 1], d = at > half ? -sine : sine;
      ar += c * sr[j - 1];
      ai += c * si[j - 1];
      br += d * di[j - 1];
      bi -= d * dr[j - 1];
    }
    glow_fourier_turn(turned, ar + br, ai + bi, w + 2 * (k - 1) * m, m, &yr[k * s], &yi[k * s]);
    glow_fourier_turn(turned, ar - br, ai - bi, w + 2 * (r - k - 1) * m, m, &yr[(r - k) * s],
                      &yi[(r - k) * s]);
  }
}

/* r points at x, `apart` from each other, to y, s from each other; `turned` by the roots at w, if
 * they are not 1. */
GLOW_FOURIER_INLINE void glow_fourier_butterfly(const int r, bool turned, const double *xr,
                                                const double *xi, int64_t apart, double *yr,
                                                double *yi, int64_t s, const double *w, int64_t m) {
  if (r == 2) {
    const double ar = xr[0], ai = xi[0], br = xr[apart], bi = xi[apart];
    yr[0] = ar + br;
    yi[0] = ai + bi;
    glow_fourier_turn(turned, ar - br, ai - bi, w, m, &yr[s], &yi[s]);
  } else if (r == 4) {
    const double ar = xr[0], br = xr[apart], cr = xr[2 * apart], dr = xr[3 * apart];
    const double ai = xi[0], bi = xi[apart], ci = xi[2 * apart], di = xi[3 * apart];
    const double acr = ar + cr, aci = ai + ci, bdr = br + dr, bdi = bi + di;
    const double a_cr = ar - cr, a_ci = ai - ci, b_dr = br - dr, b_di = bi - di;
    yr[0] = acr + bdr;
    yi[0] = aci + bdi;
    glow_fourier_turn(turned, a_cr + b_di, a_ci - b_dr, w, m, &yr[s], &yi[s]);
    glow_fourier_turn(turned, acr - bdr, aci - bdi, w + 2 * m, m, &yr[2 * s], &yi[2 * s]);
    glow_fourier_turn(turned, a_cr - b_di, a_ci + b_dr, w + 4 * m, m, &yr[3 * s], &yi[3 * s]);
  } else {
    glow_fourier_odd(r, turned, xr, xi, apart, yr, yi, s, w, m);
  }
}

/* A pass over s * r * m points. */
GLOW_FOURIER_INLINE void glow_fourier_pass(const int r, int64_t s, int64_t m,
                                           const double *restrict xr, const double *restrict xi,
                                           double *restrict yr, double *restrict yi,
                                           const double *restrict w) {
  if (s == 1 && r > 4) { /* clang has no vectors of such stores */
    for (int64_t p = 0; p < m; p++)
      glow_fourier_butterfly(r, true, xr + p, xi + p, m, yr + r * p, yi + r * p, 1, w + p, m);
    return;
  }
  if (s == 1) {
    GLOW_FOURIER_LANES for (int64_t p = 0; p < m; p++)
        glow_fourier_butterfly(r, true, xr + p, xi + p, m, yr + r * p, yi + r * p, 1, w + p, m);
    return;
  }
  GLOW_FOURIER_LANES for (int64_t q = 0; q < s; q++)
      glow_fourier_butterfly(r, false, xr + q, xi + q, s * m, yr + q, yi + q, s, w, m);
  for (int64_t p = 1; p < m; p++) {
    const double *restrict ar = xr + s * p, *restrict ai = xi + s * p;
    double *restrict br = yr + s * r * p, *restrict bi = yi + s * r * p;
    GLOW_FOURIER_LANES for (int64_t q = 0; q < s; q++)
        glow_fourier_butterfly(r, true, ar + q, ai + q, s * m, br + q, bi + q, s, w + p, m);
  }
}

/* Passes as functions: most of the code stands once, and clang keeps what `restrict` says, which it
 * loses where a pass becomes part of the loop over passes. */
#define GLOW_FOURIER_PASS(r)                                                                       \
  static __attribute__((noinline, unused)) void glow_fourier_pass_##r(                             \
      int64_t s, int64_t m, const double *restrict xr, const double *restrict xi,                  \
      double *restrict yr, double *restrict yi, const double *restrict w) {                        \
    glow_fourier_pass(r, s, m, xr, xi, yr, yi, w);                                                 \
  }
GLOW_FOURIER_PASS(2)
GLOW_FOURIER_PASS(3)
GLOW_FOURIER_PASS(4)
GLOW_FOURIER_PASS(5)
GLOW_FOURIER_PASS(7)
#undef GLOW_FOURIER_PASS

/* Transforms the n points of a line; its arrays change places with each pass. */
GLOW_FOURIER_INLINE void glow_fourier_passes(int64_t n, const double *roots,
                                             GlowFourierLine *line) {
  int64_t s = 1;
  while (s < n) {
    const GlowFourierLine l = *line;
    const int64_t radix = glow_fourier_radix(n / s), m = n / s / radix;
    if (radix == 4)
      glow_fourier_pass_4(s, m, l.re, l.im, l.to_re, l.to_im, roots);
    else if (radix == 2)
      glow_fourier_pass_2(s, m, l.re, l.im, l.to_re, l.to_im, roots);
    else if (radix == 3)
      glow_fourier_pass_3(s, m, l.re, l.im, l.to_re, l.to_im, roots);
    else if (radix == 5)
      glow_fourier_pass_5(s, m, l.re, l.im, l.to_re, l.to_im, roots);
    else
      glow_fourier_pass_7(s, m, l.re, l.im, l.to_re, l.to_im, roots);
    roots += 2 * (radix - 1) * m;
    s *= radix;
    *line = (GlowFourierLine){l.to_re, l.to_im, l.re, l.im};
  }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The n points at re and im, times those at `by`. */
GLOW_FOURIER_INLINE void glow_fourier_multiply(int64_t n, const double *restrict by,
                                               double *restrict re, double *restrict im) {
  GLOW_FOURIER_LANES for (int64_t i = 0; i < n; i++) {
    const double a = re[i], b = im[i];
    re[i] = a * by[i] - b * by[n + i];
    im[i] = a * by[n + i] + b * by[i];
  }
}

GLOW_FOURIER_INLINE GlowFourierLine glow_fourier_swapped(const GlowFourierLine *l) {
  return (GlowFourierLine){l->im, l->re, l->to_im, l->to_re};
}

/* Transforms `points` points forward. */
GLOW_FOURIER_INLINE void glow_fourier_forward(const GlowFourier *f, const double *table,
                                              GlowFourierLine *line) {
  if (!f->chirp) {
    glow_fourier_passes(f->points, table, line);
    return;
  }
  const double *chirp = table + glow_fourier_roots(f->chirp);
  glow_fourier_multiply(f->points, chirp, line->re, line->im);
  for (int64_t i = f->points; i < f->chirp; i++)
    line->re[i] = line->im[i] = 0;
  glow_fourier_passes(f->chirp, table, line);
  glow_fourier_multiply(f->chirp, chirp + 2 * f->points, line->re, line->im);
  *line = glow_fourier_swapped(line);
  glow_fourier_passes(f->chirp, table, line);
  *line = glow_fourier_swapped(line);
  glow_fourier_multiply(f->points, chirp, line->re, line->im);
}

/* From the transform Z of h pairs of samples to the spectrum of the samples: points 0 to h are
 * (A + B + w (A - B)) / 2 with A = Z[k], B = conj(Z[h - k]), w = -i e^(-pi i k / h), as the table
 * has it. The others, if there are any, are conjugates of these. */
GLOW_FOURIER_INLINE void glow_fourier_join(const GlowFourier *f, const double *restrict w,
                                           GlowFourierLine *line) {
  const int64_t h = f->points;
  double *restrict re = line->re, *restrict im = line->im;
  double *restrict to_re = line->to_re, *restrict to_im = line->to_im;
  re[h] = re[0];
  im[h] = im[0];
  GLOW_FOURIER_LANES for (int64_t k = 0; k <= h; k++) {
    const double sr = re[k] + re[h - k], si = im[k] - im[h - k];
    const double dr = re[k] - re[h - k], di = im[k] + im[h - k];
    to_re[k] = 0.5 * (sr + (dr * w[k] - di * w[h + 1 + k]));
    to_im[k] = 0.5 * (si + (dr * w[h + 1 + k] + di * w[k]));
  }
  GLOW_FOURIER_LANES for (int64_t k = h + 1; k < f->results; k++) {
    to_re[k] = to_re[f->length - k];
    to_im[k] = -to_im[f->length - k];
  }
  *line = (GlowFourierLine){to_re, to_im, re, im};
}

/* The way back: points 0 to h of a spectrum X to A + B + conj(w) (A - B), with A = X[k], B =
 * conj(X[h - k]). */
GLOW_FOURIER_INLINE void glow_fourier_split(const GlowFourier *f, const double *restrict w,
                                            GlowFourierLine *line) {
  const int64_t h = f->points;
  double *restrict re = line->re, *restrict im = line->im;
  double *restrict to_re = line->to_re, *restrict to_im = line->to_im;
  GLOW_FOURIER_LANES for (int64_t k = 0; k < h; k++) {
    const double sr = re[k] + re[h - k], si = im[k] - im[h - k];
    const double dr = re[k] - re[h - k], di = im[k] + im[h - k];
    to_re[k] = sr + (dr * w[k] + di * w[h + 1 + k]);
    to_im[k] = si + (di * w[k] - dr * w[h + 1 + k]);
  }
  *line = (GlowFourierLine){to_re, to_im, re, im};
}

/* Transforms a line that has been loaded to its results. The numbers at index 0 of a one-sided
 * spectrum, and at half of an even length, count as real. */
GLOW_FOURIER_INLINE void glow_fourier_run(const GlowFourier *f, const double *table,
                                          GlowFourierLine *line) {
  const double *halves = table + glow_fourier_table(f) - 2 * (f->points + 1);
  if (f->back) {
    line->im[0] = 0;
    if (f->halved)
      line->im[f->points] = 0;
    for (int64_t k = f->loaded; k < f->points; k++) {
      line->re[k] = line->re[f->length - k];
      line->im[k] = -line->im[f->length - k];
    }
    if (f->halved)
      glow_fourier_split(f, halves, line);
  }
  if (f->inverse)
    *line = glow_fourier_swapped(line);
  glow_fourier_forward(f, table, line);
  if (f->inverse)
    *line = glow_fourier_swapped(line);
  if (f->halved && !f->back)
    glow_fourier_join(f, halves, line);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* e^(-2 pi i j / n), 0 <= j < n, from an angle of at most an eighth of a turn. */
static inline void glow_fourier_root(int64_t j, int64_t n, double *re, double *im) {
  const int64_t quarter = 4 * j / n, part = 4 * j - quarter * n;
  const bool far = 2 * part > n;
  const double angle = GLOW_PIO2 * (double)(far ? n - part : part) / (double)n;
  const double c = far ? glow_sin(angle) : glow_cos(angle);
  const double s = far ? glow_cos(angle) : glow_sin(angle);
  *re = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  *im = quarter == 0 ? -s : quarter == 1 ? -c : quarter == 2 ? s : c;
}

/* Makes the glow_fourier_table numbers; `line` is for work. */
static inline void glow_fourier_fill(const GlowFourier *f, double *table, GlowFourierLine line) {
  const int64_t n = f->points, m = f->chirp;
  for (int64_t rest = m ? m : n; rest > 1;) {
    const int64_t whole = rest, radix = glow_fourier_radix(rest);
    rest /= radix;
    for (int64_t k = 1; k < radix; k++, table += 2 * rest)
      for (int64_t p = 0; p < rest; p++)
        glow_fourier_root(k * p, whole, &table[p], &table[rest + p]);
  }
  if (m) {
    for (int64_t i = 0; i < m; i++)
      line.re[i] = line.im[i] = 0;
    for (int64_t i = 0; i < n; i++) {
      glow_fourier_root(i * i % (2 * n), 2 * n, &table[i], &table[n + i]);
      line.re[i] = line.re[(m - i) % m] = table[i] / (double)m;
      line.im[i] = line.im[(m - i) % m] = -table[n + i] / (double)m;
    }
    glow_fourier_passes(m, table - glow_fourier_roots(m), &line);
    table += 2 * n;
    for (int64_t i = 0; i < m; i++) {
      table[i] = line.re[i];
      table[m + i] = line.im[i];
    }
    table += 2 * m;
  }
  for (int64_t k = 0; f->halved && k <= n; k++) {
    double re, im;
    glow_fourier_root(k, 2 * n, &re, &im);
    table[k] = im;
    table[n + 1 + k] = -re;
  }
}

#endif
