/* Functions of float: argument reduction, one polynomial (minimax, coefficients rounded to float)
 * and selects, so that loops over them vectorize. At most 2 ULP; docs/Numerics has the measured
 * errors. Special values are those of C's Annex F. */
#ifndef GLOW_NUM_MATH_FLOAT_H
#define GLOW_NUM_MATH_FLOAT_H

#include "num/fma.h"

#define GLOW_LOG2E_F 0x1.715476p+0f
#define GLOW_LN2_HI_F 0x1.62e43p-1f
#define GLOW_LN2_LO_F -0x1.05c61p-29f
#define GLOW_MAGIC_F 0x1.8p23f       /* adding it leaves the nearest integer in the low bits */
#define GLOW_BIASED_F 0x1.8000fep23f /* 127 more: a sum's low bits are the exponent of a float */

static inline float glow_fabsf(float x) { return __builtin_fabsf(x); }
static inline float glow_copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
static inline float glow_sqrtf(float x) { return __builtin_sqrtf(x); }

/* 2^n for shifted = n + GLOW_BIASED_F and -126 <= n <= 127; 0 for n = -127. */
static inline float glow_power_f(float shifted) {
  return glow_float_from_bits(glow_float_bits(shifted) << 23);
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. */
static inline float glow_exp_poly_f(float r) {
  float p = 0x1.6cd0eep-10f;
  p = glow_fmaf(p, r, 0x1.1229fcp-7f);
  p = glow_fmaf(p, r, 0x1.55553ap-5f);
  p = glow_fmaf(p, r, 0x1.5554aep-3f);
  return glow_fmaf(p, r, 0.5f);
}

/* e^r = 1 + r + EXP2 r^2 + ... + EXP7 r^7 for |r| <= ln 2. */
#define GLOW_EXP2_F 0x1.00000cp-1f
#define GLOW_EXP3_F 0x1.55551p-3f
#define GLOW_EXP4_F 0x1.5549c8p-5f
#define GLOW_EXP5_F 0x1.112768p-7f
#define GLOW_EXP6_F 0x1.71cc5cp-10f
#define GLOW_EXP7_F 0x1.9bc7b2p-13f

/* e^t = s^2 times the result for -176.06 <= t <= 89. With the power as two equal factors, results
 * that overflow or are subnormal round once; it costs the polynomial one degree, for |r| <= ln 2.
 */
static inline float glow_exp_parts_f(float t, float *s) {
  float shifted = glow_fmaf(t, 0.5f * GLOW_LOG2E_F, GLOW_BIASED_F), n = shifted - GLOW_BIASED_F;
  float r = glow_fmaf(n, -2.0f * GLOW_LN2_HI_F, t), p = GLOW_EXP7_F;
  r = glow_fmaf(n, -2.0f * GLOW_LN2_LO_F, r);
  p = glow_fmaf(p, r, GLOW_EXP6_F);
  p = glow_fmaf(p, r, GLOW_EXP5_F);
  p = glow_fmaf(p, r, GLOW_EXP4_F);
  p = glow_fmaf(p, r, GLOW_EXP3_F);
  p = glow_fmaf(p, r, GLOW_EXP2_F);
  p = glow_fmaf(p, r, 1.0f);
  *s = glow_power_f(shifted);
  return glow_fmaf(p, r, 1.0f);
}
/* e^t for -176.06 <= t <= 89. At -176.06 s is 0, so what masks hide takes no product that
 * underflows, which would take many times as long; the result is 0 from -104 on. */
static inline float glow_exp_near_f(float t) {
  float s, p = glow_exp_parts_f(t, &s);
  return p * s * s;
}
static inline float glow_expf(float x) {
  float t = x > 89.0f ? 89.0f : x;
  return glow_exp_near_f(t < -176.06f ? -176.06f : t);
}

/* e^x for x <= 0 as glow_expf has it, but +0 below -87: what attention weighs values with. */
static inline float glow_weightf(float x) {
  float t = x < -87.0f ? -87.0f : x, s;
  float p = glow_exp_parts_f(t, &s);
  return x < -87.0f ? 0.0f : p * s * s;
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

/* With g = (1 - e^-2|x|) / 2, whose relative error is small near zero too, tanh |x| is g + g q for
 * q = g / (1 - g). The powers of -2 are in the coefficients. */
static inline float glow_tanhf(float x) {
  float a = glow_fabsf(x), t = a > 9.5f ? 9.5f : a;
  float shifted = glow_fmaf(t, -2.0f * GLOW_LOG2E_F, GLOW_BIASED_F), n = shifted - GLOW_BIASED_F;
  float r = glow_fmaf(n, 0.5f * GLOW_LN2_HI_F, t), s = glow_power_f(shifted), p = -0x1.6cd0eep-5f;
  p = glow_fmaf(p, r, 0x1.1229fcp-3f);
  p = glow_fmaf(p, r, -0x1.55553ap-2f);
  p = glow_fmaf(p, r, 0x1.5554aep-1f);
  p = glow_fmaf(p, r, -1.0f);
  p = glow_fmaf(p * r, r, r);
  float g = glow_fmaf(s, p, glow_fmaf(s, -0.5f, 0.5f)), q = g / (1.0f - g);
  return glow_copysignf(glow_fmaf(g, q, g), x);
}

/* From e = e^-|x| = 2^n (1 + p), so that both tails are accurate: 1 / (1 + e), and below zero this
 * times 2^n times 1 + p. `lost` is what rounding 1 + e cut off; its quotient by 1 + e is taken to
 * be 0.72 of it. The powers are times 2^30, so that nothing before the quotient is subnormal. */
static inline float glow_sigmoidf(float x) {
  float a = glow_fabsf(x), t = a > 104.0f ? 104.0f : a;
  float shifted = glow_fmaf(t, -GLOW_LOG2E_F, GLOW_BIASED_F + 30.0f);
  float n = shifted - (GLOW_BIASED_F + 30.0f), r = glow_fmaf(n, -GLOW_LN2_HI_F, -t);
  r = glow_fmaf(n, -GLOW_LN2_LO_F, r);
  float p = glow_fmaf(glow_exp_poly_f(r) * r, r, r), s = glow_power_f(shifted);
  float e = glow_fmaf(s, p, s), d = 0x1p30f + e, lost = e - (d - 0x1p30f);
  float q = (x < 0 ? s : 0x1p30f) / d;
  return glow_fmaf(q, glow_fmaf(-0x1.7p-31f, lost, x < 0 ? p : 0.0f), q);
}

/* x + x P(x^2) near zero; beyond, 1 - e^-Q(|x|) with Q = -log erfc. */
static inline float glow_erff(float x) {
  float a = glow_fabsf(x), z = x * x, t = a > 4.0f ? 4.0f : a;
  float p = 0x1.6115fap-14f;
  p = glow_fmaf(p, z, -0x1.ab51c2p-11f);
  p = glow_fmaf(p, z, 0x1.54de4cp-8f);
  p = glow_fmaf(p, z, -0x1.b80f96p-6f);
  p = glow_fmaf(p, z, 0x1.ce2dfep-4f);
  p = glow_fmaf(p, z, -0x1.812742p-2f);
  p = glow_fmaf(p, z, 0x1.06eba8p-3f);
  float q = 0x1.630952p-16f;
  q = glow_fmaf(q, t, -0x1.c85becp-12f);
  q = glow_fmaf(q, t, 0x1.1196dp-8f);
  q = glow_fmaf(q, t, -0x1.9bb50cp-6f);
  q = glow_fmaf(q, t, 0x1.bb926ap-4f);
  q = glow_fmaf(q, t, 0x1.444472p-1f);
  q = glow_fmaf(q, t, 0x1.212846p0f);
  q = glow_fmaf(q, t, -0x1.70d54p-13f);
  float shifted = glow_fmaf(q, -GLOW_LOG2E_F, GLOW_BIASED_F), n = shifted - GLOW_BIASED_F;
  float r = glow_fmaf(n, -GLOW_LN2_HI_F, -q);
  float w = glow_fmaf(glow_fmaf(glow_exp_poly_f(r), r, 1.0f), r, 1.0f);
  float large = glow_copysignf(glow_fmaf(-glow_power_f(shifted), w, 1.0f), x);
  return a > 0.921875f ? large : glow_fmaf(p, x, x);
}

/* ---- Gelu ------------------------------------------------------------------------------------ */

/* a t(a) as the sum of the result and *rest, where t(a) is the share of a normal distribution
 * beyond a = |x|, divided by e^(-a^2 / 2). a t(a) is a times a polynomial in a - 1 below 2, and a
 * polynomial in 1 / (a + 1.25) from there on. Both are a large part and a product. */
static inline float glow_tail_parts_f(float a, float *rest) {
  float s = a - 1.0f, m = -0x1.06586ep-19f;
  m = glow_fmaf(m, s, 0x1.ff8caep-18f);
  m = glow_fmaf(m, s, -0x1.9013b2p-16f);
  m = glow_fmaf(m, s, 0x1.6db588p-14f);
  m = glow_fmaf(m, s, -0x1.42a5e8p-12f);
  m = glow_fmaf(m, s, 0x1.0a328ep-10f);
  m = glow_fmaf(m, s, -0x1.9ef46ep-9f);
  m = glow_fmaf(m, s, 0x1.2f46d6p-7f);
  m = glow_fmaf(m, s, -0x1.9b00e0p-6f);
  m = glow_fmaf(m, s, 0x1.fcc828p-5f);
  m = glow_fmaf(m, s, -0x1.19524ap-3f);
  float v = 1.0f / (a + 1.25f), w = 0x1.153178p+3f;
  w = glow_fmaf(w, v, -0x1.19900ep+4f);
  w = glow_fmaf(w, v, 0x1.9a35eap+3f);
  w = glow_fmaf(w, v, -0x1.5b8d64p+1f);
  w = glow_fmaf(w, v, -0x1.7fa31ap-1f);
  w = glow_fmaf(w, v, -0x1.aacd6ap-2f);
  w = glow_fmaf(w, v, 0x1.6fa656p-11f);
  float one = 0x1.0bdb2ep-2f, near = a * one, lost = a < 2.0f ? glow_fmaf(a, one, -near) : 0.0f;
  float first = a < 2.0f ? near : 0x1.98814ep-2f;
  float x = a < 2.0f ? m * s : w, y = a < 2.0f ? a : v, sum = glow_fmaf(x, y, first);
  *rest = glow_fmaf(x, y, first - sum) + lost;
  return sum;
}

/* Gelu: x minus the tail a t(a) e^(-a^2 / 2), and below zero minus the tail alone. e^(-a^2 / 2) =
 * 2^k e^r e^c, where r is exact and c is small, since the square is a sum of two floats. What is
 * left out of each sum is carried along: errors of an ULP each would be more than two together. The
 * tail is times 2^64 until its last rounding, since it may be subnormal. */
static inline float glow_geluf(float x) {
  float a = glow_fabsf(x), t = a > 15.0f ? 15.0f : a, half = 0.5f * t;
  float square = half * t, lost = glow_fmaf(half, t, -square);
  float shifted = glow_fmaf(square, -GLOW_LOG2E_F, GLOW_BIASED_F + 64.0f);
  float n = shifted - (GLOW_BIASED_F + 64.0f), r = glow_fmaf(n, -GLOW_LN2_HI_F, -square);
  float c = glow_fmaf(n, -GLOW_LN2_LO_F, -lost), rest, y = glow_tail_parts_f(t, &rest);
  float q = glow_exp_poly_f(r) * r * r, e = glow_fmaf(c, r + q, c) + q; /* e^r e^c - 1 - r */
  float tail = (y + glow_fmaf(y, r, glow_fmaf(y, e, rest))) * glow_power_f(shifted);
  return glow_fmaf(tail, -0x1p-64f, x < 0 ? 0.0f * x : x); /* NaN for -inf, as 0 inf is */
}

/* Gelu with (1 + tanh u) / 2 = 1 / (1 + e^-2u) as the distribution function, for u = sqrt(2 / pi)
 * (x + 0.044715 x^3): x or x e^-2|u|, divided by 1 + e^-2|u|. 2 u is w + wl, since its absolute
 * error becomes the relative error of the result. Below zero what rounding the dividend and the
 * divisor cut off counts too; the powers are times 2^64, as those of Gelu. */
static inline float glow_gelu_tanhf(float x) {
  const float k = 0x1.9884p0f, kl = 0x1.4cf50ep-18f;    /* 2 sqrt(2 / pi) */
  const float c = 0x1.2444f2p-4f, cl = 0x1.49b16ap-29f; /* 0.044715 times that */
  float a = glow_fabsf(x), t = a > 11.0f ? 11.0f : a;
  float z = t * t, zl = glow_fmaf(t, t, -z), g = glow_fmaf(c, z, k);
  float gl = glow_fmaf(c, z, k - g) + glow_fmaf(c, zl, glow_fmaf(cl, z, kl));
  float w = t * g, wl = glow_fmaf(t, gl, glow_fmaf(t, g, -w));
  float shifted = glow_fmaf(w, -GLOW_LOG2E_F, GLOW_BIASED_F + 64.0f);
  float n = shifted - (GLOW_BIASED_F + 64.0f), s = glow_power_f(shifted);
  float r = glow_fmaf(n, -GLOW_LN2_HI_F, -w) + glow_fmaf(n, -GLOW_LN2_LO_F, -wl);
  float q = glow_fmaf(glow_exp_poly_f(r) * r, r, r), y = t * s, e = glow_fmaf(s, q, s);
  float num = glow_fmaf(y, q, y), numl = glow_fmaf(y, q, y - num) * 0x1p-64f;
  float d = glow_fmaf(e, 0x1p-64f, 1.0f), dl = glow_fmaf(e, 0x1p-64f, 1.0f - d);
  float v = (x < 0 ? glow_fmaf(0.0f, x, num * -0x1p-64f) : x) / d; /* NaN for -inf */
  float lost = x < 0 ? glow_fmaf(v, dl, numl) : 0.0f;
  return glow_fmaf(-0.875f, lost, v);
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
