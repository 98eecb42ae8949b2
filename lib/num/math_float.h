/* Functions of float: argument reduction, one polynomial (minimax, coefficients rounded to float)
 * and selects, so that loops over them vectorize. At most 2 ULP; docs/Numerics has the measured
 * errors. Special values are those of C's Annex F. */
#ifndef GLOW_NUM_MATH_FLOAT_H
#define GLOW_NUM_MATH_FLOAT_H

#include "num/fma.h"

#define GLOW_LOG2E_F 0x1.715476p+0f
#define GLOW_LN2_HI_F 0x1.62e43p-1f
#define GLOW_LN2_LO_F -0x1.05c61p-29f
#define GLOW_MAGIC_F 0x1.8p23f /* adding it leaves the nearest integer in the low bits */

static inline float glow_fabsf(float x) { return __builtin_fabsf(x); }
static inline float glow_copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }

/* 2^k for -126 <= k <= 127. */
static inline float glow_exp2i_f(int32_t k) {
  return glow_float_from_bits((uint32_t)(k + 127) << 23);
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. */
static inline float glow_exp_poly_f(float r) {
  float p = 0x1.9a66b4p-13f;
  p = glow_fmaf(p, r, 0x1.6d4f08p-10f);
  p = glow_fmaf(p, r, 0x1.1115cap-7f);
  p = glow_fmaf(p, r, 0x1.5554e6p-5f);
  p = glow_fmaf(p, r, 0x1.555552p-3f);
  return glow_fmaf(p, r, 0.5f);
}

/* e^t = 2^k p for moderate t; |log p| <= ln 2 / 2. */
static inline float glow_exp_parts_f(float t, int32_t *k) {
  float shifted = glow_fmaf(t, GLOW_LOG2E_F, GLOW_MAGIC_F), n = shifted - GLOW_MAGIC_F;
  float r = glow_fmaf(n, -GLOW_LN2_LO_F, glow_fmaf(n, -GLOW_LN2_HI_F, t));
  *k = (int32_t)(glow_float_bits(shifted) - glow_float_bits(GLOW_MAGIC_F));
  return glow_fmaf(glow_exp_poly_f(r) * r, r, r) + 1.0f;
}

/* The power is applied in two steps, so that results that overflow or are subnormal round once. */
static inline float glow_expf(float x) {
  float t = x > 89.0f ? 89.0f : x;
  t = t < -104.0f ? -104.0f : t;
  int32_t k;
  float p = glow_exp_parts_f(t, &k);
  k = x == x ? k : 0;
  int32_t half = k >> 1;
  p = p * glow_exp2i_f(half) * glow_exp2i_f(k - half);
  return x == x ? p : x;
}

/* e^x for x <= 0 as glow_expf has it, but +0 below -87: what attention weighs values with. */
static inline float glow_weightf(float x) {
  float t = x < -87.0f ? -87.0f : x;
  int32_t k;
  float p = glow_exp_parts_f(t, &k) * glow_exp2i_f(k);
  return x < -87.0f ? 0.0f : p;
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

static inline float glow_tanhf(float x) {
  float a = glow_fabsf(x), z = x * x;
  float p = -0x1.279b06p-9f;
  p = glow_fmaf(p, z, 0x1.43bc9p-8f);
  p = glow_fmaf(p, z, -0x1.3839bap-7f);
  p = glow_fmaf(p, z, 0x1.68c5e6p-6f);
  p = glow_fmaf(p, z, -0x1.ba3dc6p-5f);
  p = glow_fmaf(p, z, 0x1.111176p-3f);
  p = glow_fmaf(p, z, -0x1.555556p-2f);
  float small = glow_fmaf(p * z, x, x);
  float large = 1.0f - 2.0f / (glow_expf(2.0f * a) + 1.0f);
  return glow_copysignf(a > 0.6f ? large : small, x);
}

/* From e = e^-|x|, so that both tails are accurate; `lost` is what rounding 1 + e cut off. */
static inline float glow_sigmoidf(float x) {
  float e = glow_expf(-glow_fabsf(x)), d = 1.0f + e, lost = e - (d - 1.0f);
  float q = (x < 0 ? e : 1.0f) / d, inverse = x < 0 ? 1.0f - q : q;
  return glow_fmaf(-q * lost, inverse, q);
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
  float large = glow_copysignf(1.0f - glow_expf(-q), x);
  return a > 0.921875f ? large : glow_fmaf(p, x, x);
}

/* a t(a) as the sum of the result and *rest, where t(a) is the share of a normal distribution
 * beyond a = |x|, divided by e^(-a^2 / 2). a t(a) is a times a polynomial in a - 1 below 2, and a
 * polynomial in 1 / (a + 1.5) from there on. */
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
  float v = 1.0f / (a + 1.5f), w = 0x1.6de9eep5f;
  w = glow_fmaf(w, v, -0x1.fde2e2p5f);
  w = glow_fmaf(w, v, 0x1.bfef58p4f);
  w = glow_fmaf(w, v, 0x1.060f8ep-5f);
  w = glow_fmaf(w, v, -0x1.80b892p0f);
  w = glow_fmaf(w, v, -0x1.2ce4e2p0f);
  w = glow_fmaf(w, v, -0x1.9adb6cp-2f);
  w = glow_fmaf(w, v, 0x1.b63668p-14f);
  /* The constant terms are the larger part. */
  float one = 0x1.0bdb2ep-2f, near = a * one, more = m * s, next = a * more;
  float lost = glow_fmaf(a, one, -near) + glow_fmaf(a, more, -next);
  float first = a < 2.0f ? near : 0x1.9883d8p-2f, second = a < 2.0f ? next : w * v;
  float sum = first + second;
  *rest = second - (sum - first) + (a < 2.0f ? lost : 0.0f);
  return sum;
}

/* Gelu: x minus the tail a t(a) e^(-a^2 / 2), and below zero minus the tail alone. e^(-a^2 / 2) =
 * 2^k e^r e^c, where r is exact and c is small, since the square is a sum of two floats. What is
 * left out of each sum is carried along: errors of an ULP each would be more than two together. */
static inline float glow_geluf(float x) {
  float a = glow_fabsf(x), t = a > 15.0f ? 15.0f : a;
  float square = t * t, lost = glow_fmaf(t, t, -square);
  float shifted = glow_fmaf(square, -0.5f * GLOW_LOG2E_F, GLOW_MAGIC_F), n = shifted - GLOW_MAGIC_F;
  float r = glow_fmaf(n, -GLOW_LN2_HI_F, -0.5f * square);
  float c = glow_fmaf(n, -GLOW_LN2_LO_F, -0.5f * lost);
  float rest, y = glow_tail_parts_f(t, &rest);
  float q = glow_exp_poly_f(r) * r * r, e = glow_fmaf(c, r + q, c) + q; /* e^r e^c - 1 - r */
  float tail = y + glow_fmaf(y, r, glow_fmaf(y, e, rest));
  int32_t k = (int32_t)(glow_float_bits(shifted) - glow_float_bits(GLOW_MAGIC_F)), half = k >> 1;
  tail = tail * glow_exp2i_f(half) * glow_exp2i_f(k - half);
  return x < 0 ? glow_fmaf(0.0f, x, -tail) : x - tail; /* NaN for -inf, as 0 inf is */
}

static inline float glow_sqrtf(float x) { return __builtin_sqrtf(x); }

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
