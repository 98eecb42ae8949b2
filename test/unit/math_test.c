/* The functions of num/math.h against MPFR: a small sample of what benchmarks/math_ulp.c
 * measures. Pow also against libm where IEEE 754 says what the result is. */
#include "benchmarks/math_exact.h"
#include "unit.h"

static void test_function(const Function *f) {
  static const double special[] = {0.0, -0.0, 1, -1, 0x1p-149, -0x1p-149, 0x1p-126, 0x1.fffffep127};
  mpfr_t a, r;
  mpfr_inits2(EXACT_BITS, a, r, (mpfr_ptr)0);
  Worst half = {0}, single = {0}, wide = {0};
  for (uint32_t h = 0; h < 65536; h += 13)
    judge_half(f, &half, (uint16_t)h, a, r);
  judge_half(f, &half, 0x7c00, a, r);
  judge_half(f, &half, 0xfc00, a, r);
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    judge_single(f, &single, (float)special[i], a, r);
    judge_wide(f, &wide, special[i], a, r);
    if (special[i] == 0 && f->single(0.0f) == 0)
      EXPECT(!signbit(f->single((float)special[i])) == !signbit(special[i]),
             "%s loses the sign of zero", f->name);
  }
  for (int i = 0; i < 10000; i++)
    judge_single(f, &single, (float)draw(f, false), a, r);
  for (int i = 0; i < 2000; i++)
    judge_wide(f, &wide, draw(f, true), a, r);
  mpfr_clears(a, r, (mpfr_ptr)0);
  EXPECT(half.ulp <= 1, "%s of float16 %a: %g ULP", f->name, half.x, half.ulp);
  EXPECT(single.ulp <= 2, "%s of float %a: %g ULP", f->name, single.x, single.ulp);
  EXPECT(wide.ulp <= f->wide_bound, "%s of double %a: %g ULP", f->name, wide.x, wide.ulp);
}

static void test_pow(void) {
  static const double values[] = {0.0, -0.0, 1,   -1,   2,        -2,        0.5, -0.5,   3, -3,
                                  1.5, -1.5, 1e9, 16.5, INFINITY, -INFINITY, NAN, 0x1p53, -7};
  enum { N = sizeof values / sizeof *values };
  for (int i = 0; i < N * N; i++) {
    double x = values[i / N], y = values[i % N], want = pow(x, y), got = glow_pow(x, y);
    bool close = fabs(got - want) <= 0x1p-51 * fabs(want) && !signbit(got) == !signbit(want);
    EXPECT((want != want && got != got) || got == want || close, "pow(%g, %g) is %g", x, y, got);
    EXPECT(want != 0 || !signbit(got) == !signbit(want), "pow(%g, %g): sign of zero", x, y);
    CHECK(glow_powf((float)x, (float)y) == (float)got || got != got);
  }
  mpfr_t a, b, r;
  mpfr_inits2(EXACT_BITS, a, b, r, (mpfr_ptr)0);
  Worst single = {0}, wide = {0};
  for (int i = 0; i < 5000; i++)
    judge_pow(&single, &wide, a, b, r);
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  EXPECT(single.ulp <= 1, "pow(%a, %a): %g ULP of float", single.x, single.y, single.ulp);
  EXPECT(wide.ulp <= 2, "pow(%a, %a): %g ULP of double", wide.x, wide.y, wide.ulp);
}

int main(void) {
  for (size_t i = 0; i < NFUNCTIONS; i++)
    test_function(&functions[i]);
  test_pow();
  mpfr_free_cache();
  return unit_finish();
}
