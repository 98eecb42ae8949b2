/* Measures the functions of kernels/math.h against MPFR and prints the table of docs/Numerics.
 *
 *   math_ulp [samples]        samples per function and kind, 10^6 by default
 *
 * The error is |result - exact| in units of the last place of the exact value. Arguments: all
 * float16 values, then random bit patterns of the function's interesting range. Infinite and NaN
 * results must match exactly. Exit status 1 if a bound is broken. */
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/half.h"
#include "kernels/math.h"

typedef int (*ExactFn)(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding);

static int exact_sigmoid(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_neg(r, x, rounding);
  mpfr_exp(r, r, rounding);
  mpfr_add_ui(r, r, 1, rounding);
  return mpfr_ui_div(r, 1, r, rounding);
}

typedef struct Function {
  const char *name;
  float (*single)(float);
  double (*wide)(double);
  ExactFn exact;
  double low, high; /* exponents of two of the arguments that are drawn */
  double bound, wide_bound;
} Function;

static const Function functions[] = {
    {"Exp", glow_expf, glow_exp, mpfr_exp, -40, 10, 2, 2},
    {"Log", glow_logf, glow_log, mpfr_log, -149, 128, 2, 2},
    {"Tanh", glow_tanhf, glow_tanh, mpfr_tanh, -40, 6, 2, 2},
    {"Sigmoid", glow_sigmoidf, glow_sigmoid, exact_sigmoid, -40, 8, 2, 2},
    {"Erf", glow_erff, glow_erf, mpfr_erf, -40, 4, 2, 2},
    {"Sqrt", glow_sqrtf, glow_sqrt, mpfr_sqrt, -149, 128, 0.5, 0.5},
};

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * UINT64_C(0x9E3779B97F4A7C15);
}

/* A number whose exponent is uniform in [low, high): every binade counts alike. */
static double next_argument(double low, double high) {
  uint64_t u = next_random();
  double e = low + (high - low) * (double)(u >> 40) * 0x1p-24;
  double m = 1.0 + (double)(next_random() >> 12) * 0x1p-52;
  double x = ldexp(m, (int)floor(e));
  return u & 1 ? -x : x;
}

typedef struct Worst {
  double ulp, x, y;
  uint64_t samples;
} Worst;

/* got is the computed value of a kind with `digits` bits and the smallest exponent `emin`. */
static void judge(Worst *w, mpfr_t exact, double got, double x, double y, int digits, long emin) {
  w->samples++;
  double error;
  double nearest =
      digits == 24 ? (double)mpfr_get_flt(exact, MPFR_RNDN) : mpfr_get_d(exact, MPFR_RNDN);
  if (nearest != nearest || nearest - nearest != 0 || got != got || got - got != 0) {
    error = nearest == got || (nearest != nearest && got != got) ? 0 : __builtin_inf();
  } else {
    long e = mpfr_zero_p(exact) ? emin : mpfr_get_exp(exact) - digits;
    mpfr_t d;
    mpfr_init2(d, 256);
    mpfr_sub_d(d, exact, got, MPFR_RNDN);
    mpfr_mul_2si(d, d, -(e < emin ? emin : e), MPFR_RNDN);
    error = fabs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
  }
  if (error > w->ulp)
    *w = (Worst){error, x, y, w->samples};
}

static void one_single(const Function *f, Worst *w, float x, mpfr_t a, mpfr_t r) {
  mpfr_set_flt(a, x, MPFR_RNDN);
  f->exact(r, a, MPFR_RNDN);
  judge(w, r, (double)f->single(x), (double)x, 0, 24, -149);
}

static bool report(const char *name, const char *kind, const Worst *w, double bound, bool two) {
  printf("| %-8s | %-6s | %9llu | %7.4f | %5.1f | ", name, kind, (unsigned long long)w->samples,
         w->ulp, bound);
  if (two)
    printf("%a, %a |\n", w->x, w->y);
  else
    printf("%a |\n", w->x);
  return w->ulp <= bound;
}

static bool measure(const Function *f, long samples) {
  mpfr_t a, r;
  mpfr_inits2(160, a, r, (mpfr_ptr)0);
  Worst single = {0}, wide = {0};
  for (uint32_t h = 0; h < 65536; h++)
    one_single(f, &single, glow_half_to_float((uint16_t)h), a, r);
  for (long i = 0; i < samples; i++) {
    one_single(f, &single, (float)next_argument(f->low, f->high), a, r);
    double x = next_argument(f->low, f->high);
    mpfr_set_d(a, x, MPFR_RNDN);
    f->exact(r, a, MPFR_RNDN);
    judge(&wide, r, f->wide(x), x, 0, 53, -1074);
  }
  mpfr_clears(a, r, (mpfr_ptr)0);
  bool ok = report(f->name, "float", &single, f->bound, false);
  return report(f->name, "double", &wide, f->wide_bound, false) && ok;
}

static bool measure_pow(long samples) {
  mpfr_t a, b, r;
  mpfr_inits2(160, a, b, r, (mpfr_ptr)0);
  Worst single = {0}, wide = {0};
  for (long i = 0; i < samples; i++) {
    double x = next_argument(-30, 30), y = next_argument(-4, 7);
    if (i & 1) {
      x = fabs(x);
    } else {
      y = rint(y);
    }
    float xf = (float)x, yf = (float)y;
    mpfr_set_flt(a, xf, MPFR_RNDN);
    mpfr_set_flt(b, yf, MPFR_RNDN);
    mpfr_pow(r, a, b, MPFR_RNDN);
    judge(&single, r, (double)glow_powf(xf, yf), (double)xf, (double)yf, 24, -149);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    mpfr_pow(r, a, b, MPFR_RNDN);
    judge(&wide, r, glow_pow(x, y), x, y, 53, -1074);
  }
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  bool ok = report("Pow", "float", &single, 1, true);
  return report("Pow", "double", &wide, 2, true) && ok;
}

int main(int argc, char **argv) {
  long samples = argc > 1 ? atol(argv[1]) : 1000000;
  bool ok = true;
  printf("| function | kind   |   samples |  max ULP | bound | worst argument |\n"
         "|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    ok &= measure(&functions[i], samples);
  ok &= measure_pow(samples);
  return ok ? 0 : 1;
}
