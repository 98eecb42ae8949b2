/* Functions of double, in the same forms as math_float.h with longer polynomials, and Pow for both
 * kinds. docs/Numerics has the measured errors. */
#ifndef GLOW_NUM_MATH_DOUBLE_H
#define GLOW_NUM_MATH_DOUBLE_H

#include <stdbool.h>

#include "num/fma.h"

#define GLOW_LOG2E 0x1.71547652b82fep+0
#define GLOW_LN2_HI 0x1.62e42fefa39efp-1
#define GLOW_LN2_LO 0x1.abc9e3b39803fp-56
#define GLOW_LN2_TOP 0x1.62e42fefa38p-1 /* 42 bits: its product with an exponent is exact */
#define GLOW_LN2_REST 0x1.ef35793c7673p-45
#define GLOW_MAGIC 0x1.8p52
#define GLOW_POLY(p, x, c) (p) = glow_fma((p), (x), (c))

static inline double glow_fabs(double x) { return __builtin_fabs(x); }
static inline double glow_copysign(double x, double sign) { return __builtin_copysign(x, sign); }
static inline double glow_sqrt(double x) { return __builtin_sqrt(x); }

static inline double glow_rint(double x) {
  double a = glow_fabs(x), r = (a + 0x1p52) - 0x1p52;
  return a < 0x1p52 ? glow_copysign(r, x) : x;
}
static inline double glow_floor(double x) {
  double r = glow_rint(x);
  return glow_copysign(r > x ? r - 1.0 : r, x);
}
static inline double glow_ceil(double x) {
  double r = glow_rint(x);
  return glow_copysign(r < x ? r + 1.0 : r, x);
}

static inline double glow_exp2i(int64_t k) {
  return glow_double_from_bits((uint64_t)(k + 1023) << 52);
}

/* e^r - 1 for x + rest = k ln 2 + r with |r| <= ln 2 / 2; rest is far below x, |x| below 1500. */
static inline double glow_exp_part(double x, double rest, int64_t *k) {
  double shifted = glow_fma(x, GLOW_LOG2E, GLOW_MAGIC), n = shifted - GLOW_MAGIC;
  double r = glow_fma(n, -GLOW_LN2_HI, x) + glow_fma(n, -GLOW_LN2_LO, rest);
  double p = 0x1.1eda2348163a9p-29;
  GLOW_POLY(p, r, 0x1.af6e6f7ffdf6dp-26);
  GLOW_POLY(p, r, 0x1.27e54073c8e37p-22);
  GLOW_POLY(p, r, 0x1.71ddee7c6ce86p-19);
  GLOW_POLY(p, r, 0x1.a01a0177038d6p-16);
  GLOW_POLY(p, r, 0x1.a01a01b44138bp-13);
  GLOW_POLY(p, r, 0x1.6c16c16c1fa71p-10);
  GLOW_POLY(p, r, 0x1.111111110ea01p-7);
  GLOW_POLY(p, r, 0x1.5555555555541p-5);
  GLOW_POLY(p, r, 0x1.555555555555cp-3);
  GLOW_POLY(p, r, 0.5);
  int64_t n_bits = (int64_t)(glow_double_bits(shifted) - glow_double_bits(GLOW_MAGIC));
  *k = x == x ? n_bits : 0;
  return glow_fma(p * r, r, r);
}

/* p 2^k in two steps, so that results that overflow or are subnormal round once. */
static inline double glow_scale(double p, int64_t k) {
  int64_t half = k >> 1;
  return p * glow_exp2i(half) * glow_exp2i(k - half);
}

/* e^(x + rest); rest is far below x. */
static inline double glow_exp_sum(double x, double rest) {
  int64_t k;
  double t = x > 710.0 ? 710.0 : x;
  t = t < -746.0 ? -746.0 : t;
  double p = glow_exp_part(t, rest, &k) + 1.0;
  return x == x ? glow_scale(p, k) : x;
}
static inline double glow_exp(double x) { return glow_exp_sum(x, 0.0); }

/* e^x - 1. Below -64 it is -1; above 40 the 1 does not matter. */
static inline double glow_expm1(double x) {
  int64_t k;
  double t = x > 710.0 ? 710.0 : x;
  t = t < -64.0 ? -64.0 : t;
  double p = glow_exp_part(t, 0.0, &k), power = glow_exp2i(k > 60 ? 60 : k);
  double r = t > 40.0 ? glow_scale(p + 1.0, k) : glow_fma(power, p, power - 1.0);
  return x == x && x != 0 ? r : x;
}

/* x = 2^e m with m in [sqrt 1/2, sqrt 2); x is positive and finite. */
static inline double glow_split(double x, double *e) {
  double tiny = x < 0x1p-1022 ? 1.0 : 0.0;
  uint64_t u = glow_double_bits(tiny != 0.0 ? x * 0x1p52 : x);
  int64_t k = (int64_t)(u - UINT64_C(0x3fe6a09e667f3bcd)) >> 52;
  *e = (double)k - tiny * 52.0;
  return glow_double_from_bits(u - ((uint64_t)k << 52));
}

/* n ln 2 + log(1 + f) + rest for f in [sqrt 1/2 - 1, sqrt 2 - 1]. With s = f / (2 + f):
 * log(1 + f) = 2 s + s R(s^2) = f - (f^2/2 - s (f^2/2 + R)). */
static inline double glow_log_part(double n, double f, double rest) {
  double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double p = 0x1.10229aa3becabp-3;
  GLOW_POLY(p, z, 0x1.0f4a2eb3df603p-3);
  GLOW_POLY(p, z, 0x1.3b215857be237p-3);
  GLOW_POLY(p, z, 0x1.745cdb789e524p-3);
  GLOW_POLY(p, z, 0x1.c71c725c5861ap-3);
  GLOW_POLY(p, z, 0x1.249249242ee3ep-2);
  GLOW_POLY(p, z, 0x1.9999999999d59p-2);
  GLOW_POLY(p, z, 0x1.5555555555555p-1);
  p = glow_fma(s, glow_fma(p, z, half), glow_fma(n, GLOW_LN2_REST, rest));
  return glow_fma(n, GLOW_LN2_TOP, f - (half - p));
}

static inline double glow_log(double x) {
  const double inf = __builtin_inf();
  double n, m = glow_split(x, &n), p = glow_log_part(n, m - 1.0, 0.0);
  p = x == inf || x != x ? x : p;
  p = x == 0 ? -inf : p;
  return x < 0 ? __builtin_nan("") : p;
}

/* log(1 + x). `lost` is what rounding cuts off from u = 1 + x; the logarithm gets lost / u. */
static inline double glow_log1p(double x) {
  const double inf = __builtin_inf();
  double u = 1.0 + x, lost = x - (u - 1.0), n, m = glow_split(u, &n);
  bool small = x > -0x1.2p-2 && x < 0x1.ap-2;
  double p = glow_log_part(small ? 0.0 : n, small ? x : m - 1.0, small ? 0.0 : lost / u);
  p = x == inf || x != x || x == 0 ? x : p;
  p = x == -1.0 ? -inf : p;
  return x < -1.0 ? __builtin_nan("") : p;
}

static inline double glow_tanh(double x) {
  double a = glow_fabs(x), z = x * x;
  double p = 0x1.4fce8c05988bap-17;
  GLOW_POLY(p, z, -0x1.99e7086f288bp-17);
  GLOW_POLY(p, z, -0x1.0c2480ab557ep-16);
  GLOW_POLY(p, z, 0x1.6695bac4b77b2p-14);
  GLOW_POLY(p, z, -0x1.ede872bc690c6p-13);
  GLOW_POLY(p, z, 0x1.34f1115c7b83dp-11);
  GLOW_POLY(p, z, -0x1.7d9bf54127f21p-10);
  GLOW_POLY(p, z, 0x1.d6d37475d699cp-9);
  GLOW_POLY(p, z, -0x1.226e33e68e58dp-7);
  GLOW_POLY(p, z, 0x1.664f487b5c8e8p-6);
  GLOW_POLY(p, z, -0x1.ba1ba1ba06c21p-5);
  GLOW_POLY(p, z, 0x1.1111111111036p-3);
  GLOW_POLY(p, z, -0x1.5555555555555p-2);
  double large = 1.0 - 2.0 / (glow_exp(2.0 * a) + 1.0);
  return glow_copysign(a > 0.55 ? large : glow_fma(p * z, x, x), x);
}

/* From e = e^-|x|, so that both tails are accurate. `lost` is what rounding 1 + e cut off. */
static inline double glow_sigmoid(double x) {
  double e = glow_exp(-glow_fabs(x)), d = 1.0 + e, lost = e - (d - 1.0);
  double q = (x < 0 ? e : 1.0) / d, inverse = x < 0 ? 1.0 - q : q;
  return glow_fma(-q * lost, inverse, q);
}

static inline double glow_erf_small(double x) {
  double z = x * x, p = -0x1.8919932d5f12p-40;
  GLOW_POLY(p, z, 0x1.55f764b9cc9c8p-34);
  GLOW_POLY(p, z, -0x1.4ed6782f1081cp-30);
  GLOW_POLY(p, z, 0x1.fe2d8f9c48988p-27);
  GLOW_POLY(p, z, -0x1.5fb23523ac937p-23);
  GLOW_POLY(p, z, 0x1.b9f0561f70d49p-20);
  GLOW_POLY(p, z, -0x1.f4d33f62bcc31p-17);
  GLOW_POLY(p, z, 0x1.f9a334b26a782p-14);
  GLOW_POLY(p, z, -0x1.c02db48c8b34ap-11);
  GLOW_POLY(p, z, 0x1.565bcd1211b7bp-8);
  GLOW_POLY(p, z, -0x1.b82ce312a72b9p-6);
  GLOW_POLY(p, z, 0x1.ce2f21a043504p-4);
  GLOW_POLY(p, z, -0x1.812746b0379fcp-2);
  GLOW_POLY(p, z, 0x1.06eba8214db69p-3);
  return glow_fma(p, x, x);
}
/* 1 - erf(t) for 1 <= t <= 6, accurate to an ULP of 1. */
static inline double glow_erfc_large(double t) {
  double q = -0x1.9522dba0ac963p-46;
  GLOW_POLY(q, t, 0x1.5e87a672f9a33p-40);
  GLOW_POLY(q, t, -0x1.1f2e44dc44ec8p-35);
  GLOW_POLY(q, t, 0x1.285bf7ac8e32bp-31);
  GLOW_POLY(q, t, -0x1.b01a2acfaa56dp-28);
  GLOW_POLY(q, t, 0x1.d8e13b8cca465p-25);
  GLOW_POLY(q, t, -0x1.925f3df108c69p-22);
  GLOW_POLY(q, t, 0x1.0f8758eecce6ep-19);
  GLOW_POLY(q, t, -0x1.24ad1f807c8ffp-17);
  GLOW_POLY(q, t, 0x1.f38c34ae204b2p-16);
  GLOW_POLY(q, t, -0x1.44cdb21a17016p-14);
  GLOW_POLY(q, t, 0x1.1a5748f1e2ed2p-13);
  GLOW_POLY(q, t, -0x1.eade98a3204a3p-15);
  GLOW_POLY(q, t, -0x1.09df8f5f155fbp-11);
  GLOW_POLY(q, t, 0x1.ab4bae25ad8e6p-10);
  GLOW_POLY(q, t, -0x1.5e49fa4e0bdabp-13);
  GLOW_POLY(q, t, -0x1.39be56e453896p-6);
  GLOW_POLY(q, t, 0x1.a4fd12a1a64b9p-4);
  GLOW_POLY(q, t, 0x1.45f2c1e00f23ep-1);
  GLOW_POLY(q, t, 0x1.20dd7abae0345p0);
  GLOW_POLY(q, t, -0x1.ca3f93f9d0995p-26);
  return glow_exp(-q);
}
static inline double glow_erf(double x) {
  double a = glow_fabs(x), t = a > 6.0 ? 6.0 : a;
  return a > 1.0 ? glow_copysign(1.0 - glow_erfc_large(t), x) : glow_erf_small(x);
}

/* ---- Pow ------------------------------------------------------------------------------------- */

/* log(x) as a sum of two doubles, to about 64 bits. x is positive, finite and not 0. */
static inline double glow_log_sum(double x, double *rest) {
  double n, m = glow_split(x, &n), f = m - 1.0, d = m + 1.0, dl = m - (d - 1.0);
  double s = f / d, sl = (glow_fma(-s, d, f) - s * dl) / d;
  double z = s * s, zl = glow_fma(s, s, -z) + 2.0 * s * sl;
  double p = 0x1.db0085dca5aedp-4;
  GLOW_POLY(p, z, 0x1.e010f75334d2ep-4);
  GLOW_POLY(p, z, 0x1.1115782a1e51ep-3);
  GLOW_POLY(p, z, 0x1.3b13a91c9308ap-3);
  GLOW_POLY(p, z, 0x1.745d173e6b058p-3);
  GLOW_POLY(p, z, 0x1.c71c71c74aee7p-3);
  GLOW_POLY(p, z, 0x1.2492492492302p-2);
  GLOW_POLY(p, z, 0x1.999999999999ap-2);
  const double c = 0x1.5555555555555p-1, cl = 0x1.5555555555555p-55; /* 2/3 */
  double cube = s * z, cubel = glow_fma(s, z, -cube) + s * zl + sl * z;
  double t = c * cube, tl = glow_fma(c, cube, -t) + c * cubel + cl * cube;
  double a = n * GLOW_LN2_TOP, b = 2.0 * s, h = a + b, l = b - (h - a);
  l += glow_fma(n, GLOW_LN2_REST, 2.0 * sl);
  double g = h + t;
  l += t - (g - h);
  l += tl + cube * z * p;
  double sum = g + l;
  *rest = l - (sum - g);
  return sum;
}

/* a^y for a >= 0; neither is NaN, y is not 0. */
static inline double glow_pow_magnitude(double a, double y) {
  const double inf = __builtin_inf();
  if (a == 1.0)
    return 1.0;
  if (a == 0.0 || a == inf)
    return (a == 0.0) == (y < 0) ? inf : 0.0;
  if (y == inf || y == -inf)
    return (a > 1.0) == (y > 0) ? inf : 0.0;
  double rest, l = glow_log_sum(a, &rest), p = y * l;
  return glow_exp_sum(p, glow_fabs(p) < 1000.0 ? glow_fma(y, l, -p) + y * rest : 0.0);
}

static inline double glow_pow(double x, double y) {
  if (y == 0.0 || x == 1.0)
    return 1.0;
  if (x != x || y != y)
    return x + y;
  double a = glow_fabs(x), size = glow_fabs(y);
  int whole = size >= 0x1p53 || glow_rint(y) == y;
  int odd = whole && size < 0x1p53 && glow_rint(0.5 * y) != 0.5 * y;
  if (x < 0 && !whole && a < __builtin_inf() && size < __builtin_inf())
    return __builtin_nan("");
  double r = glow_pow_magnitude(a, y);
  return odd ? glow_copysign(r, x) : r;
}

/* log2 a for a >= 0, within 2^-44 of itself. a = 2^n m with m in [sqrt 1/2, sqrt 2). */
static inline double glow_log2_of_float(float a) {
  const double inf = __builtin_inf();
  bool tiny = a < 0x1p-126f;
  float scaled = a * 0x1p23f;
  uint32_t u = glow_float_bits(tiny ? scaled : a);
  int32_t n = (int32_t)(u - 0x3f3504f3u) >> 23;
  double m = (double)glow_float_from_bits(u - ((uint32_t)n << 23));
  double s = (m - 1.0) / (m + 1.0), z = s * s, p = 0x1.21525c1633ae3p-2;
  GLOW_POLY(p, z, 0x1.479cf53c40137p-2);
  GLOW_POLY(p, z, 0x1.a619f5bf564f8p-2);
  GLOW_POLY(p, z, 0x1.2776c2f02c8f7p-1);
  GLOW_POLY(p, z, 0x1.ec709dc4c23f2p-1);
  p = glow_fma(s * z, p, s * 0x1.71547652b82fep+1) + (double)(n - (tiny ? 23 : 0));
  p = a == (float)inf ? inf : p;
  return a == 0 ? -inf : p;
}

/* 2^(y log2 |x|), computed in double, so the only error that matters is the final rounding. Powers
 * of 2, 3 and -1 are products and a quotient, and as exact as these. Selects only. */
static inline float glow_powf(float x, float y) {
  const double d = (double)x;
  float a = __builtin_fabsf(x), size = __builtin_fabsf(y), h = 0.5f * size;
  bool even = (h + 0x1p23f) - 0x1p23f == h || h >= 0x1p23f;
  bool whole = (size + 0x1p23f) - 0x1p23f == size || size >= 0x1p23f, odd = whole && !even;
  double square = d * d, cube = square * d, inverse = 1.0 / d;
  double exact = y == 3.0f ? cube : square, t = (double)y * glow_log2_of_float(a);
  exact = y == -1.0f ? inverse : exact;
  t = a == 1.0f ? 0.0 : t;
  t = t > 200.0 ? 200.0 : t;
  t = t < -200.0 ? -200.0 : t;
  double shifted = t + GLOW_MAGIC, r = t - (shifted - GLOW_MAGIC), p = 0x1.fde5f7e57b998p-17;
  GLOW_POLY(p, r, 0x1.445c8456d5a64p-13);
  GLOW_POLY(p, r, 0x1.5d8a8604715efp-10);
  GLOW_POLY(p, r, 0x1.3b29f39cd1ac3p-7);
  GLOW_POLY(p, r, 0x1.c6b08ac06592ep-5);
  GLOW_POLY(p, r, 0x1.ebfbe07787d18p-3);
  GLOW_POLY(p, r, 0x1.62e42ff0e1958p-1);
  p = glow_fma(p, r, 1.0);
  p = glow_double_from_bits(glow_double_bits(p) + (glow_double_bits(shifted) << 52));
  exact = y == 3.0f || y == 2.0f || y == -1.0f ? glow_fabs(exact) : p;
  float v = (float)exact;
  uint32_t sign = odd ? glow_float_bits(x) & 0x80000000u : 0;
  v = glow_float_from_bits(glow_float_bits(v) | sign);
  v = x < 0 && !whole && a < __builtin_inff() ? __builtin_nanf("") : v;
  float sum = x + y;
  v = x == x && y == y ? v : sum;
  return y == 0 || x == 1.0f ? 1.0f : v;
}

#endif
