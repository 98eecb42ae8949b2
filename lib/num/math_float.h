/* Functions of float: argument reduction, one polynomial (minimax, coefficients rounded to float)
 * and selects, so that loops over them vectorize. At most 2 ULP; docs/Numerics has the measured
 * errors. Special values are those of C's Annex F. */
#ifndef GLOW_NUM_MATH_FLOAT_H
#define GLOW_NUM_MATH_FLOAT_H

#include "num/fma.h"

#define GLOW_LOG2E_F 0x1.715476p+0f
#define GLOW_LN2_HI_F 0x1.62e43p-1f
#define GLOW_LN2_LO_F -0x1.05c61p-29f
#define GLOW_LN2_TOP_F 0x1.62e4p-1f /* 15 bits: its product with an exponent is exact */
#define GLOW_LN2_REST_F 0x1.7f7d1cp-20f
#define GLOW_MAGIC_F 0x1.8p23f       /* adding it leaves the nearest integer in the low bits */
#define GLOW_BIASED_F 0x1.8000fep23f /* 127 more: a sum's low bits are the exponent of a float */

static inline float glow_fabsf(float x) { return __builtin_fabsf(x); }
static inline float glow_copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
static inline float glow_sqrtf(float x) { return __builtin_sqrtf(x); }

/* 2^n for shifted = n + GLOW_BIASED_F and -126 <= n <= 127; 0 for n = -127. */
static inline float glow_power_f(float shifted) {
  return glow_float_from_bits(glow_float_bits(shifted) << 23);
}

/* e^r = 1 + r + EXP2 r^2 + ... + EXP6 r^6 for |r| <= ln 2 / 2. */
#define GLOW_EXP2_F 0.5f
#define GLOW_EXP3_F 0x1.5554aep-3f
#define GLOW_EXP4_F 0x1.55553ap-5f
#define GLOW_EXP5_F 0x1.1229fcp-7f
#define GLOW_EXP6_F 0x1.6cd0eep-10f

/* (e^r - 1 - r) / r^2. */
static inline float glow_exp_poly_f(float r) {
  float p = GLOW_EXP6_F;
  p = glow_fmaf(p, r, GLOW_EXP5_F);
  p = glow_fmaf(p, r, GLOW_EXP4_F);
  p = glow_fmaf(p, r, GLOW_EXP3_F);
  return glow_fmaf(p, r, GLOW_EXP2_F);
}

/* e^t = 2^n times the result, for *shifted = n + bias, where bias is GLOW_MAGIC_F or a little more.
 */
static inline float glow_exp_parts_f(float t, float bias, float *shifted) {
  *shifted = glow_fmaf(t, GLOW_LOG2E_F, bias);
  float n = *shifted - bias, r = glow_fmaf(n, -GLOW_LN2_LO_F, glow_fmaf(n, -GLOW_LN2_HI_F, t));
  return glow_fmaf(glow_fmaf(glow_exp_poly_f(r), r, 1.0f), r, 1.0f);
}
/* e^t for -87 <= t <= 88, where it is a normal number: its exponent is added as an integer. With a
 * NaN for t the result may be any number. */
static inline float glow_exp_normal_f(float t) {
  float shifted, p = glow_exp_parts_f(t, GLOW_MAGIC_F, &shifted);
  return glow_float_from_bits(glow_float_bits(p) + (glow_float_bits(shifted) << 23));
}
/* With the power as two factors, 2^(n / 2) rounded up and down, results that overflow or are
 * subnormal round once. For n = -253, where lesser x are moved to, the second is 0: what masks hide
 * takes no product that underflows, which would take many times as long. */
static inline float glow_expf(float x) {
  float t = x > 89.0f ? 89.0f : x, shifted;
  float p = glow_exp_parts_f(t < -175.36f ? -175.36f : t, GLOW_MAGIC_F + 254.0f, &shifted);
  uint32_t power = glow_float_bits(shifted) << 23, half = power >> 1 & 0xff800000u;
  return p * glow_float_from_bits(power - half) * glow_float_from_bits(half);
}

/* e^x for x <= 0 as glow_expf has it, but +0 below -87: what attention weighs values with. The
 * power is a factor, since a NaN stays one in a product. */
static inline float glow_weightf(float x) {
  float shifted, p = glow_exp_parts_f(x < -87.0f ? -87.0f : x, GLOW_MAGIC_F + 127.0f, &shifted);
  return x < -87.0f ? 0.0f : p * glow_float_from_bits(glow_float_bits(shifted) << 23);
}

/* x = 2^e (1 + f) with 1 + f in [sqrt 1/2, sqrt 2); log(1 + f) = f - f^2/2 + f^3 P(f). */
static inline float glow_logf(float x) {
  float tiny = x < 0x1p-126f ? 1.0f : 0.0f;
  float y = tiny != 0.0f ? x * 0x1p23f : x;
  uint32_t u = glow_float_bits(y);
  int32_t e = (int32_t)(u - 0x3f3504f3u) >> 23;
  float f = glow_float_from_bits(u - ((uint32_t)e << 23)) - 1.0f;
  float n = (float)e - tiny * 23.0f, square = f * f;
  float p = -0x1.194f14p-4f;
  p = glow_fmaf(p, f, 0x1.bf6cdp-4f);
  p = glow_fmaf(p, f, -0x1.afdc8ap-4f);
  p = glow_fmaf(p, f, 0x1.c0cef2p-4f);
  p = glow_fmaf(p, f, -0x1.fe27e6p-4f);
  p = glow_fmaf(p, f, 0x1.24b3ecp-3f);
  p = glow_fmaf(p, f, -0x1.555c3cp-3f);
  p = glow_fmaf(p, f, 0x1.9998e2p-3f);
  p = glow_fmaf(p, f, -0x1.fffff2p-3f);
  p = glow_fmaf(p, f, 0x1.555556p-2f);
  p = glow_fmaf(n, GLOW_LN2_LO_F, p * (square * f));
  p = glow_fmaf(-0.5f, square, p) + f;
  p = glow_fmaf(n, GLOW_LN2_HI_F, p);
  const float inf = __builtin_inff();
  p = x == inf || x != x ? x : p;
  p = x == 0 ? -inf : p;
  return x < 0 ? __builtin_nanf("") : p;
}

/* With 2 |x| = n ln 2 + 2 r, h = 2^n / 2 and p = (1 - e^-2r) / 2, tanh |x| is (h - 1/2 + p) / (h +
 * 1/2 - p): numerator and denominator lie on both sides of a power of two, and the errors of
 * rounding them are small where they are added up. The powers of -2 are in the coefficients. */
static inline float glow_tanhf(float x) {
  const float bias = GLOW_BIASED_F - 1.0f;
  float a = glow_fabsf(x), t = a > 9.5f ? 9.5f : a;
  float shifted = glow_fmaf(t, 2.0f * GLOW_LOG2E_F, bias), n = shifted - bias;
  float r = glow_fmaf(n, -0.5f * GLOW_LN2_HI_F, t), h = glow_power_f(shifted), z = r * r;
  float p = glow_fmaf(-0x1.6cd0eep-5f, r, 0x1.1229fcp-3f);
  p = glow_fmaf(p, z, glow_fmaf(-0x1.55553ap-2f, r, 0x1.5554aep-1f));
  p = glow_fmaf(p, r, -1.0f);
  p = glow_fmaf(p, z, r);
  float y = ((h - 0.5f) + p) / ((h + 0.5f) - p);
  return glow_float_from_bits(glow_float_bits(y) | (glow_float_bits(x) & 0x80000000u));
}

/* 2^n and *one = 1, both divided by 2^(k / 2), for shifted = n + GLOW_MAGIC_F and scaled = k +
 * GLOW_MAGIC_F. Neither overflows for k = n and |n| <= 254, nor for k = 0 and -126 <= n <= 0. For
 * k = 254 *one is 0. */
static inline float glow_scaled_f(float shifted, float scaled, float *one) {
  uint32_t n = glow_float_bits(shifted) - 0x4b400000u, k = glow_float_bits(scaled) - 0x4b400000u;
  uint32_t scale = ((254u - k) << 22) & 0xff800000u;
  *one = glow_float_from_bits(scale);
  return glow_float_from_bits((n << 23) + scale);
}

/* 1 / (1 + e^-x) with e^-x = 2^n (1 + q). Powers are times 2^-40, so that none overflows. */
static inline float glow_sigmoidf(float x) {
  float high = x > 50.0f ? 50.0f : x, t = high < -104.0f ? -104.0f : high;
  float shifted = glow_fmaf(t, -GLOW_LOG2E_F, GLOW_BIASED_F - 40.0f);
  float n = shifted - (GLOW_BIASED_F - 40.0f), power = glow_power_f(shifted);
  float r = glow_fmaf(n, -GLOW_LN2_LO_F, glow_fmaf(n, -GLOW_LN2_HI_F, -t));
  float q = glow_fmaf(glow_exp_poly_f(r) * r, r, r);
  return 0x1p-40f / (glow_fmaf(power, q, 0x1p-40f) + power);
}

/* e^x - 1 with e^x = 2^n e^r: 2^n - 1 + 2^n r, which is nearly exact where it is small, and the
 * other terms of 2^n e^r. Below -18 it is -1. */
static inline float glow_expm1f(float x) {
  float high = x > 89.0f ? 89.0f : x, t = high < -18.0f ? -18.0f : high;
  float shifted = glow_fmaf(t, GLOW_LOG2E_F, GLOW_MAGIC_F), n = shifted - GLOW_MAGIC_F;
  float r = glow_fmaf(n, -GLOW_LN2_LO_F, glow_fmaf(n, -GLOW_LN2_HI_F, t));
  float one, power = glow_scaled_f(shifted, shifted, &one), line = glow_fmaf(power, r, power - one);
  float y = glow_fmaf(power, glow_exp_poly_f(r) * (r * r), line);
  float inverse = glow_float_from_bits(0x7f000000u - glow_float_bits(one));
  return glow_copysignf(y * inverse, x);
}

/* 1 - e^-q for q = -log erfc |x|, a polynomial without a constant term. With e^-q = s (1 + p) for a
 * power of two s, 1 - s is exact, and near zero the result is -p alone. */
static inline float glow_erff(float x) {
  float a = glow_fabsf(x), t = a > 4.0f ? 4.0f : a, q = -0x1.3b0444p-17f;
  q = glow_fmaf(q, t, 0x1.f28bf4p-14f);
  q = glow_fmaf(q, t, -0x1.4e29dcp-11f);
  q = glow_fmaf(q, t, 0x1.b744e6p-10f);
  q = glow_fmaf(q, t, -0x1.637a48p-13f);
  q = glow_fmaf(q, t, -0x1.39b7cap-6f);
  q = glow_fmaf(q, t, 0x1.a4f8c4p-4f);
  q = glow_fmaf(q, t, 0x1.45f3p-1f);
  q = glow_fmaf(q, t, 0x1.06eba8p-3f);
  q = glow_fmaf(q, t, t);
  float shifted = glow_fmaf(q, -GLOW_LOG2E_F, GLOW_BIASED_F), n = shifted - GLOW_BIASED_F;
  float r = glow_fmaf(n, -GLOW_LN2_HI_F, -q), s = glow_power_f(shifted);
  float p = glow_fmaf(glow_exp_poly_f(r), r * r, r);
  return glow_copysignf(glow_fmaf(-s, p, 1.0f - s), x);
}

/* ---- Gelu ------------------------------------------------------------------------------------ */

/* Gelu: x minus the tail a t(a) e^(-a^2 / 2), and below zero minus the tail alone, where t(a) is
 * the share of a normal distribution beyond a = |x|, divided by e^(-a^2 / 2).
 *
 * 2 a t(a) is v + v p for v = a / (a + 1.5) and a polynomial p in v, whose even and odd powers are
 * summed side by side. What rounding cut off from v is `lost` / (a + 1.5); it counts with the slope
 * of v + v p, about 1.5 (1 - v). e^(-a^2 / 2) = 2^n (1 + q); the product of a / 2 and a is not
 * rounded. The tail is times 2^65 until its last rounding, since it may be subnormal. */
static inline float glow_geluf(float x) {
  float a = glow_fabsf(x), t = a > 15.0f ? 15.0f : a, half = 0.5f * t;
  float v = t / (t + 1.5f), u = v - 0.375f, z = u * u, w = 1.0f - v;
  float lost = glow_fmaf(-v, t, glow_fmaf(-v, 1.5f, t));
  float p = 0x1.e82a5p-4f, odd = 0x1.30ee98p-1f;
  p = glow_fmaf(p, z, -0x1.703462p-2f);
  odd = glow_fmaf(odd, z, -0x1.92c30ap-2f);
  p = glow_fmaf(p, z, 0x1.f84c14p-5f);
  odd = glow_fmaf(odd, z, -0x1.86bdc8p-3f);
  p = glow_fmaf(p, z, 0x1.7abcfcp-2f);
  odd = glow_fmaf(odd, z, 0x1.48f9bep-2f);
  p = glow_fmaf(p, z, -0x1.0a528p-1f);
  odd = glow_fmaf(odd, z, 0x1.a326d8p-5f);
  p = glow_fmaf(p, z, 0x1.4c685p-2f);
  odd = glow_fmaf(odd, z, -0x1.4fe4ccp-1f);
  p = glow_fmaf(odd, u, p);
  float shifted = glow_fmaf(half * t, -GLOW_LOG2E_F, GLOW_BIASED_F + 64.0f);
  float n = shifted - (GLOW_BIASED_F + 64.0f), r = glow_fmaf(-half, t, n * -GLOW_LN2_TOP_F);
  r = glow_fmaf(n, -GLOW_LN2_REST_F, r);
  float q = glow_fmaf(glow_exp_poly_f(r) * r, r, r), b = glow_fmaf(v, p, lost * (w * w));
  float tail = (v + glow_fmaf(v + b, q, b)) * glow_power_f(shifted);
  float rest = (int32_t)glow_float_bits(x) < 0 ? 0.0f * x : x; /* NaN for -inf, as 0 inf is */
  return glow_fmaf(tail, -0x1p-65f, rest);
}

/* Gelu with (1 + tanh m) / 2 = 1 / (1 + e^-2m) as the distribution function, for m = sqrt(2 / pi)
 * (x + 0.044715 x^3): x / (1 + 2^e), where e = x (g + gl) is n + f. The absolute error of f becomes
 * the relative error of the result. k and c are near -2 sqrt(2 / pi) log2 e and 0.044715 times
 * that: both are too small by the same factor, `more`, and k has so few digits that k - g is exact.
 * Above 8 the result is x. Below -12.95 it is x times 0, which is NaN for -inf. */
static inline float glow_gelu_tanhf(float x) {
  const float k = -0x1.26a6cp+1f, c = -0x1.a59c5ap-4f, more = 0x1.bd4bacp-14f;
  float high = x > 8.0f ? 8.0f : x, t = high < -12.95f ? -12.95f : high;
  float z = t * t, g = glow_fmaf(c, z, k), zl = glow_fmaf(t, t, -z);
  float gl = glow_fmaf(more, g, glow_fmaf(c, zl, glow_fmaf(c, z, k - g)));
  float shifted = glow_fmaf(t, g, GLOW_MAGIC_F), n = shifted - GLOW_MAGIC_F;
  float f = glow_fmaf(t, gl, glow_fmaf(t, g, -n)), square = f * f;
  float p = glow_fmaf(0x1.417e0ep-13f, f, 0x1.5f10e6p-10f);
  p = glow_fmaf(p, square, glow_fmaf(0x1.3b2dd8p-7f, f, 0x1.c6af7p-5f));
  p = glow_fmaf(p, f, 0x1.ebfbdcp-3f);
  float scaled = shifted < GLOW_MAGIC_F ? GLOW_MAGIC_F : shifted, one;
  float power = glow_scaled_f(shifted, scaled, &one), y = power * f;
  float q = glow_fmaf(y, GLOW_LN2_HI_F, y * f * p); /* 2^n (2^f - 1), scaled as 2^n is */
  return x * one / (q + one + power);
}

/* ---- Inverse trigonometric functions --------------------------------------------------------- */

#define GLOW_PIO2_HI_F 0x1.921fb6p0f
#define GLOW_PIO2_LO_F -0x1.777a5cp-25f

/* Beyond 1, pi / 2 - atan(1 / a). */
static inline float glow_atanf(float x) {
  float a = glow_fabsf(x), t = (a > 1.0f ? -1.0f : a) / (a > 1.0f ? a : 1.0f), z = t * t;
  float p = 0x1.7ea322p-9f;
  p = glow_fmaf(p, z, -0x1.0c1652p-6f);
  p = glow_fmaf(p, z, 0x1.61eda6p-5f);
  p = glow_fmaf(p, z, -0x1.35508p-4f);
  p = glow_fmaf(p, z, 0x1.b4de92p-4f);
  p = glow_fmaf(p, z, -0x1.230a92p-3f);
  p = glow_fmaf(p, z, 0x1.9978ecp-3f);
  p = glow_fmaf(p, z, -0x1.5554dcp-2f);
  float r = t + glow_fmaf(p * z, t, a > 1.0f ? GLOW_PIO2_LO_F : 0.0f);
  return glow_copysignf(a > 1.0f ? r + GLOW_PIO2_HI_F : r, x);
}

/* asin(s) - s, where s = |x| up to 1/2. Above, s = sqrt((1 - |x|) / 2), so that asin(s) is half of
 * pi/2 - asin |x|. */
static inline float glow_asin_rest_f(float a, float *s) {
  float far = glow_fmaf(-0.5f, a, 0.5f), z = a < 0.5f ? a * a : far;
  float root = a < 0.5f ? a : glow_sqrtf(far), p = 0x1.595becp-5f;
  p = glow_fmaf(p, z, 0x1.8c3e96p-6f);
  p = glow_fmaf(p, z, 0x1.747bb4p-5f);
  p = glow_fmaf(p, z, 0x1.330204p-4f);
  p = glow_fmaf(p, z, 0x1.5555c8p-3f);
  *s = root;
  return p * z * root;
}
static inline float glow_asinf(float x) {
  float a = glow_fabsf(x), s, rest = glow_asin_rest_f(a, &s);
  float far = glow_fmaf(-2.0f, s + (rest - 0.5f * GLOW_PIO2_LO_F), GLOW_PIO2_HI_F);
  return glow_copysignf(a < 0.5f ? s + rest : far, x);
}
static inline float glow_acosf(float x) {
  float a = glow_fabsf(x), s, rest = glow_asin_rest_f(a, &s), r = glow_copysignf(s + rest, x);
  float far = glow_fmaf(2.0f, r, x < 0 ? 2.0f * GLOW_PIO2_HI_F : 0.0f);
  return a < 0.5f ? GLOW_PIO2_HI_F - r : far;
}

/* ---- Rounding -------------------------------------------------------------------------------- */

static inline float glow_rintf(float x) {
  float a = glow_fabsf(x), r = (a + 0x1p23f) - 0x1p23f;
  return a < 0x1p23f ? glow_copysignf(r, x) : x;
}
static inline float glow_floorf(float x) {
  float r = glow_rintf(x);
  return glow_copysignf(r > x ? r - 1.0f : r, x);
}
static inline float glow_ceilf(float x) {
  float r = glow_rintf(x);
  return glow_copysignf(r < x ? r + 1.0f : r, x);
}

#endif
