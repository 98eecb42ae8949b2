/* Measures the functions of num/math.h against MPFR and prints the table of docs/Numerics.
 *
 *   glow-bench-math [samples]     float arguments per function, 10^6 by default; double: a tenth
 *
 * Arguments: all float16 values; then three of four with a uniform exponent over the whole range,
 * the others where the function is hard (math_exact.h). Exit status 1 if a bound is broken. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmarks/math_exact.h"

static bool report(const char *name, const char *kind, const Worst *w, double bound, bool two) {
  printf("| %-9s | %-7s | %9llu | %7.4f | %5.1f | ", name, kind, (unsigned long long)w->samples,
         w->ulp, bound);
  if (two)
    printf("%a, %a |\n", w->x, w->y);
  else
    printf("%a |\n", w->x);
  fflush(stdout);
  return w->ulp <= bound;
}

static bool measure(const Function *f, long samples) {
  mpfr_t a, r;
  mpfr_inits2(EXACT_BITS, a, r, (mpfr_ptr)0);
  Worst half = {0}, single = {0}, wide = {0};
  for (uint32_t h = 0; h < 65536; h++) {
    judge_half(f, &half, (uint16_t)h, a, r);
    judge_single(f, &single, glow_half_to_float((uint16_t)h), a, r);
  }
  for (long i = 0; i < samples; i++)
    judge_single(f, &single, (float)draw(f, false), a, r);
  for (long i = 0; i < samples / 10; i++)
    judge_wide(f, &wide, draw(f, true), a, r);
  mpfr_clears(a, r, (mpfr_ptr)0);
  double bound = f->wide_bound < 1 ? f->wide_bound : 2;
  bool ok = report(f->name, "float16", &half, 1, false);
  ok &= report(f->name, "float", &single, bound, false);
  return report(f->name, "double", &wide, f->wide_bound, false) && ok;
}

static bool measure_pow(long samples) {
  mpfr_t a, b, r;
  mpfr_inits2(EXACT_BITS, a, b, r, (mpfr_ptr)0);
  Worst single = {0}, wide = {0};
  for (long i = 0; i < samples; i++)
    judge_pow(&single, &wide, a, b, r);
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  bool ok = report("Pow", "float", &single, 1, true);
  return report("Pow", "double", &wide, 2, true) && ok;
}

int main(int argc, char **argv) {
  long samples = argc > 1 ? atol(argv[1]) : 1000000;
  bool ok = true;
  printf("| function | kind   |   samples |  max ULP | bound | worst argument |\n"
         "|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < NFUNCTIONS; i++)
    ok &= measure(&functions[i], samples);
  ok &= measure_pow(samples / 10);
  return ok ? 0 : 1;
}
