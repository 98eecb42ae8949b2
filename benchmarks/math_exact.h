/* What the functions of num/math.h should give: MPFR, and where they are hard.
 *
 * Shared by the benchmark, which prints the table of docs/Numerics, and by the unit test. An error
 * is |result - exact| in units of the last place (ULP) of the exact value, which below the normal
 * range is the smallest number; an infinity counts as the next power of two. NaNs must match. */
#ifndef GLOW_BENCHMARKS_MATH_EXACT_H
#define GLOW_BENCHMARKS_MATH_EXACT_H

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

#include "num/half.h"
#include "num/math.h"

enum { EXACT_BITS = 200 };

typedef int (*ExactFn)(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding);

/* 1 / (1 + e^-x). */
static int exact_sigmoid(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_neg(r, x, rounding);
  mpfr_exp(r, r, rounding);
  mpfr_add_ui(r, r, 1, rounding);
  return mpfr_ui_div(r, 1, r, rounding);
}
static int exact_softplus(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_exp(r, x, rounding);
  mpfr_log1p(r, r, rounding);
  return mpfr_inf_p(r) ? mpfr_set(r, x, rounding) : 0;
}
static int exact_mish(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  exact_softplus(r, x, rounding);
  mpfr_tanh(r, r, rounding);
  return mpfr_mul(r, r, x, rounding);
}
/* x erfc(-x / sqrt 2) / 2. */
static int exact_gelu(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_t half;
  mpfr_init2(half, EXACT_BITS);
  mpfr_set_d(half, 0.5, rounding);
  mpfr_sqrt(half, half, rounding);
  mpfr_mul(r, x, half, rounding);
  mpfr_neg(r, r, rounding);
  mpfr_erfc(r, r, rounding);
  mpfr_mul(r, r, x, rounding);
  mpfr_clear(half);
  return mpfr_div_2ui(r, r, 1, rounding);
}
/* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
static int exact_gelu_tanh(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_t t;
  mpfr_init2(t, EXACT_BITS);
  mpfr_sqr(t, x, rounding);
  mpfr_mul_ui(t, t, 44715, rounding);
  mpfr_div_ui(t, t, 1000000, rounding);
  mpfr_add_ui(t, t, 1, rounding);
  mpfr_mul(t, t, x, rounding);
  mpfr_const_pi(r, rounding);
  mpfr_ui_div(r, 8, r, rounding);
  mpfr_sqrt(r, r, rounding);
  mpfr_mul(t, t, r, rounding);
  exact_sigmoid(r, t, rounding);
  mpfr_clear(t);
  return mpfr_mul(r, r, x, rounding);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;
static inline uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * UINT64_C(0x9E3779B97F4A7C15);
}
static inline double next_uniform(double low, double high) {
  return low + (high - low) * (double)(next_random() >> 11) * 0x1p-53;
}
/* A number whose exponent is uniform in [low, high): every binade counts alike. */
static inline double next_argument(double low, double high) {
  double e = next_uniform(low, high), m = next_uniform(1, 2);
  return ldexp(next_random() & 1 ? -m : m, (int)floor(e));
}
/* A multiple of pi / 2 of any size, rounded to double or float, give or take a few units. */
static inline double near_quarters(bool wide) {
  mpfr_t t;
  mpfr_init2(t, 1200);
  mpfr_const_pi(t, MPFR_RNDN);
  mpfr_mul_d(t, t, floor(next_argument(0, 53)), MPFR_RNDN);
  mpfr_mul_2si(t, t, (long)next_uniform(-1, wide ? 960 : 74), MPFR_RNDN);
  double x = mpfr_get_d(t, MPFR_RNDN);
  if (!wide)
    x = (double)mpfr_get_flt(t, MPFR_RNDN);
  mpfr_clear(t);
  for (uint64_t n = next_random() % 4; n; n--)
    x = wide ? nextafter(x, INFINITY) : (double)nextafterf((float)x, INFINITY);
  return x;
}
static inline double near_one(bool wide) {
  (void)wide;
  double x = 1.0 + next_argument(-53, -1);
  return next_random() & 1 ? -x : x;
}
/* Where e^x overflows or becomes subnormal: 88.7 and 709.8, -87.3 to -104 and -708 to -746. */
static inline double near_overflow(bool wide) {
  double x = wide ? next_uniform(707, 747) : next_uniform(86, 105);
  return next_random() & 1 ? -x : x;
}
static inline double moderate(bool wide) {
  (void)wide;
  return next_uniform(-40, 40);
}

typedef struct Function {
  const char *name;
  float (*single)(float);
  double (*wide)(double);
  ExactFn exact;
  double (*hard)(bool wide); /* draws every fourth argument; the others are of any exponent */
  double wide_bound;         /* that of float is 2 */
} Function;

static const Function functions[] = {
    {"Exp", glow_expf, glow_exp, mpfr_exp, near_overflow, 2},
    {"Log", glow_logf, glow_log, mpfr_log, near_one, 2},
    {"Expm1", glow_expm1f, glow_expm1, mpfr_expm1, near_overflow, 2},
    {"Log1p", glow_log1pf, glow_log1p, mpfr_log1p, near_one, 2},
    {"Tanh", glow_tanhf, glow_tanh, mpfr_tanh, moderate, 2},
    {"Sigmoid", glow_sigmoidf, glow_sigmoid, exact_sigmoid, near_overflow, 2},
    {"Erf", glow_erff, glow_erf, mpfr_erf, moderate, 2},
    {"Sin", glow_sinf, glow_sin, mpfr_sin, near_quarters, 2},
    {"Cos", glow_cosf, glow_cos, mpfr_cos, near_quarters, 2},
    {"Tan", glow_tanf, glow_tan, mpfr_tan, near_quarters, 3},
    {"Asin", glow_asinf, glow_asin, mpfr_asin, near_one, 2},
    {"Acos", glow_acosf, glow_acos, mpfr_acos, near_one, 2},
    {"Atan", glow_atanf, glow_atan, mpfr_atan, near_one, 2},
    {"Sinh", glow_sinhf, glow_sinh, mpfr_sinh, near_overflow, 4},
    {"Cosh", glow_coshf, glow_cosh, mpfr_cosh, near_overflow, 4},
    {"Asinh", glow_asinhf, glow_asinh, mpfr_asinh, near_one, 4},
    {"Acosh", glow_acoshf, glow_acosh, mpfr_acosh, near_one, 4},
    {"Atanh", glow_atanhf, glow_atanh, mpfr_atanh, near_one, 4},
    {"Softplus", glow_softplusf, glow_softplus, exact_softplus, near_overflow, 4},
    {"Mish", glow_mishf, glow_mish, exact_mish, near_overflow, 6},
    {"Gelu", glow_geluf, glow_gelu, exact_gelu, moderate, 8},
    {"Gelu tanh", glow_gelu_tanhf, glow_gelu_tanh, exact_gelu_tanh, moderate, 4},
    {"Sqrt", glow_sqrtf, glow_sqrt, mpfr_sqrt, near_one, 0.5},
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static inline double draw(const Function *f, bool wide) {
  if (next_random() % 4 == 0)
    return f->hard(wide);
  return wide ? next_argument(-1074, 1024) : next_argument(-149, 128);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

typedef struct Worst {
  double ulp, x, y;
  uint64_t samples;
} Worst;

/* A format: digits, the exponent of its smallest number, and that of its first infinity. */
typedef struct Format {
  int digits;
  long least, top;
} Format;
static const Format format_float = {24, -149, 128}, format_double = {53, -1074, 1024};
static const Format format_half = {11, -24, 16};

static inline void judge(Worst *w, mpfr_t exact, double got, double x, double y, Format f) {
  w->samples++;
  double error = INFINITY;
  mpfr_t d;
  mpfr_init2(d, 256);
  if (mpfr_nan_p(exact) || got != got) {
    error = mpfr_nan_p(exact) && got != got ? 0 : INFINITY;
  } else if (mpfr_inf_p(exact) || (isinf(got) && mpfr_cmp_d(exact, got) == 0)) {
    error = mpfr_cmp_d(exact, got) == 0 ? 0 : INFINITY;
  } else {
    long e = mpfr_zero_p(exact) ? f.least : mpfr_get_exp(exact) - f.digits;
    long highest = f.top - f.digits;
    e = e > highest ? highest : e;
    if (isinf(got)) {
      mpfr_set_si_2exp(d, got > 0 ? 1 : -1, f.top, MPFR_RNDN);
      /* What is beyond the first infinity is that infinity. */
      bool beyond = mpfr_cmpabs(exact, d) > 0 && mpfr_sgn(exact) * got > 0;
      mpfr_sub(d, beyond ? d : exact, d, MPFR_RNDN);
    } else {
      mpfr_sub_d(d, exact, got, MPFR_RNDN);
    }
    mpfr_mul_2si(d, d, -(e < f.least ? f.least : e), MPFR_RNDN);
    error = fabs(mpfr_get_d(d, MPFR_RNDN));
  }
  mpfr_clear(d);
  if (error > w->ulp)
    *w = (Worst){error, x, y, w->samples};
}

static inline void judge_single(const Function *f, Worst *w, float x, mpfr_t a, mpfr_t r) {
  mpfr_set_flt(a, x, MPFR_RNDN);
  f->exact(r, a, MPFR_RNDN);
  judge(w, r, (double)f->single(x), (double)x, 0, format_float);
}
static inline void judge_half(const Function *f, Worst *w, uint16_t h, mpfr_t a, mpfr_t r) {
  float x = glow_half_to_float(h);
  mpfr_set_flt(a, x, MPFR_RNDN);
  f->exact(r, a, MPFR_RNDN);
  double got = (double)glow_half_to_float(glow_half_from_float(f->single(x)));
  judge(w, r, got, (double)x, 0, format_half);
}
static inline void judge_wide(const Function *f, Worst *w, double x, mpfr_t a, mpfr_t r) {
  mpfr_set_d(a, x, MPFR_RNDN);
  f->exact(r, a, MPFR_RNDN);
  judge(w, r, f->wide(x), x, 0, format_double);
}

/* One argument pair of Pow: bases of any sign with integral exponents too. */
static inline void judge_pow(Worst *single, Worst *wide, mpfr_t a, mpfr_t b, mpfr_t r) {
  double x = next_argument(-40, 40), y = next_argument(-8, 8);
  uint64_t mode = next_random() % 4;
  x = mode == 0 ? near_one(true) : x;
  y = mode == 0 ? next_argument(0, 40) : mode == 1 ? rint(y) : y;
  x = mode == 1 ? x : fabs(x);
  float xf = (float)x, yf = (float)y;
  mpfr_set_flt(a, xf, MPFR_RNDN);
  mpfr_set_flt(b, yf, MPFR_RNDN);
  mpfr_pow(r, a, b, MPFR_RNDN);
  judge(single, r, (double)glow_powf(xf, yf), (double)xf, (double)yf, format_float);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  mpfr_pow(r, a, b, MPFR_RNDN);
  judge(wide, r, glow_pow(x, y), x, y, format_double);
}

#endif
