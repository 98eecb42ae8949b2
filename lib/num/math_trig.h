/* Trigonometric functions of double and float.
 *
 * Sine, cosine and tangent subtract a multiple of pi / 2. Small arguments take a product with two
 * or three parts of pi / 2, large ones as many bits of 2 / pi as the exponent asks for, in
 * integers, so every finite argument has an accurate result. The functions of float compute in
 * double, with selects only. The inverse functions reduce to a short interval around zero; those
 * of float are in math_float.h. */
#ifndef GLOW_NUM_MATH_TRIG_H
#define GLOW_NUM_MATH_TRIG_H

#include "num/math_double.h"

#define GLOW_PIO2 0x1.921fb54442d18p0
#define GLOW_PIO2_LO 0x1.1a62633145c07p-54
#define GLOW_TWO_OVER_PI 0x1.45f306dc9c883p-1

/* ---- Reduction of double --------------------------------------------------------------------- */

/* 64 zeros, then the bits of 2 / pi after the point. */
static const uint64_t glow_two_over_pi_bits[21] = {
    0,
    UINT64_C(0xa2f9836e4e441529),
    UINT64_C(0xfc2757d1f534ddc0),
    UINT64_C(0xdb6295993c439041),
    UINT64_C(0xfe5163abdebbc561),
    UINT64_C(0xb7246e3a424dd2e0),
    UINT64_C(0x06492eea09d1921c),
    UINT64_C(0xfe1deb1cb129a73e),
    UINT64_C(0xe88235f52ebb4484),
    UINT64_C(0xe99c7026b45f7e41),
    UINT64_C(0x3991d639835339f4),
    UINT64_C(0x9c845f8bbdf9283b),
    UINT64_C(0x1ff897ffde05980f),
    UINT64_C(0xef2f118b5a0a6d1f),
    UINT64_C(0x6d367ecf27cb09b7),
    UINT64_C(0x4f463f669e5fea2d),
    UINT64_C(0x7527bac7ebe5f17b),
    UINT64_C(0x3d0739f78a5292ea),
    UINT64_C(0x6bfb5fb11f8d5d08),
    UINT64_C(0x56033046fc7b6bab),
    UINT64_C(0xf0cfbc209af4361d),
};

/* 64 bits of the table, from bit i on. */
static inline uint64_t glow_two_over_pi_at(uint32_t i) {
  const uint64_t *w = &glow_two_over_pi_bits[i >> 6];
  return (i & 63) ? w[0] << (i & 63) | w[1] >> (64 - (i & 63)) : w[0];
}

/* An angle in [-pi/4, pi/4], as a sum of two doubles, and the quarters of a turn that were taken
 * off, modulo 4. */
typedef struct GlowAngle {
  double hi, lo;
  uint32_t quarters;
} GlowAngle;

/* a = m 2^e >= 2^10. Bits of 2 / pi above 2^(1 - e) give multiples of 4 quarters, so m times the
 * 192 bits from there on, modulo 2^192, is the angle in units of 2^-190 quarters. */
static inline GlowAngle glow_angle_large(double a) {
  int e;
  uint64_t m = glow_double_mantissa(a, &e);
  uint32_t i = (uint32_t)(e + 62);
  GlowWide low = glow_wide_product(m, glow_two_over_pi_at(i + 128));
  GlowWide mid = glow_wide_product(m, glow_two_over_pi_at(i + 64));
  GlowWide w = {m * glow_two_over_pi_at(i) + mid.hi, mid.lo + low.hi};
  w.hi += w.lo < mid.lo;
  uint32_t quarters = (uint32_t)((w.hi + (UINT64_C(1) << 61)) >> 62);
  w.hi -= (uint64_t)quarters << 62;
  bool negative = w.hi >> 63;
  if (negative)
    w = (GlowWide){~w.hi + (w.lo == 0), UINT64_C(0) - w.lo};
  if ((w.hi | w.lo) == 0)
    return (GlowAngle){0, 0, quarters};
  int up = 127 - glow_wide_top(w);
  w = glow_wide_left(w, up);
  double hi = (double)(w.hi >> 11) * glow_exp2i(-51 - up);
  double lo = (double)((w.hi & 0x7ff) << 53 | w.lo >> 11) * glow_exp2i(-115 - up);
  double sign = negative ? -1.0 : 1.0, r = hi * GLOW_PIO2;
  double rest = glow_fma(hi, GLOW_PIO2, -r) + glow_fma(hi, GLOW_PIO2_LO, lo * GLOW_PIO2);
  return (GlowAngle){sign * r, sign * rest, quarters};
}

/* a is finite and not negative. Below 2^10 the products with the first two parts of pi / 2, of 43
 * bits each, are exact. */
static inline GlowAngle glow_angle(double a) {
  if (a >= 1024.0)
    return glow_angle_large(a);
  double shifted = glow_fma(a, GLOW_TWO_OVER_PI, GLOW_MAGIC), n = shifted - GLOW_MAGIC;
  double r = glow_fma(n, -0x1.921fb54442cp0, a), p = n * 0x1.18469898cc4p-44;
  double hi = r - p, back = hi - r, lo = (r - (hi - back)) - (p + back);
  return (GlowAngle){hi, glow_fma(n, -0x1.1701b839a252p-88, lo),
                     (uint32_t)(glow_double_bits(shifted) & 3)};
}

/* ---- Sine, cosine, tangent of double --------------------------------------------------------- */

static inline double glow_sin_kernel(double x, double lo) {
  double z = x * x, cube = z * x, p = 0x1.5e10cbe4b1161p-33;
  GLOW_POLY(p, z, -0x1.ae601ea7d92afp-26);
  GLOW_POLY(p, z, 0x1.71de37af467efp-19);
  GLOW_POLY(p, z, -0x1.a01a019e9f10bp-13);
  GLOW_POLY(p, z, 0x1.1111111110c7ap-7);
  double rest = glow_fma(z, glow_fma(-0.5, lo, cube * p), lo);
  return x + glow_fma(cube, -0x1.5555555555555p-3, rest);
}
static inline double glow_cos_kernel(double x, double lo) {
  double z = x * x, half = 0.5 * z, w = 1.0 - half, p = -0x1.9073853aa9636p-37;
  GLOW_POLY(p, z, 0x1.1eeb57d308951p-29);
  GLOW_POLY(p, z, -0x1.27e4fa02e3c37p-22);
  GLOW_POLY(p, z, 0x1.a01a019f3838fp-16);
  GLOW_POLY(p, z, -0x1.6c16c16c168cap-10);
  GLOW_POLY(p, z, 0x1.5555555555555p-5);
  return w + (((1.0 - w) - half) + glow_fma(z * z, p, -x * lo));
}

/* The sine of x + shift quarters of a turn; the sign of x counts for shift 0 only. */
static inline double glow_sin_shifted(double x, uint32_t shift) {
  double a = glow_fabs(x);
  if (!(a < __builtin_inf()))
    return x - x;
  GlowAngle t = glow_angle(a);
  uint32_t q = t.quarters + shift;
  double r = q & 1 ? glow_cos_kernel(t.hi, t.lo) : glow_sin_kernel(t.hi, t.lo);
  return (q & 2) != 0 ? -r : r;
}
static inline double glow_sin(double x) {
  double r = glow_sin_shifted(x, 0);
  return glow_copysign(1.0, x) * (x == 0 ? 0.0 : r);
}
static inline double glow_cos(double x) { return glow_sin_shifted(x, 1); }

static inline double glow_tan(double x) {
  double a = glow_fabs(x);
  if (!(a < __builtin_inf()) || x == 0)
    return x == 0 ? x : x - x;
  GlowAngle t = glow_angle(a);
  double s = glow_sin_kernel(t.hi, t.lo), c = glow_cos_kernel(t.hi, t.lo);
  return glow_copysign(1.0, x) * (t.quarters & 1 ? -c / s : s / c);
}

/* ---- Sine, cosine, tangent of float ---------------------------------------------------------- */

/* As glow_angle_large with 96 bits, and double for the angle. Any a; accurate from 2^30 on. The
 * words of 2 / pi are selected, since loads from a table do not vectorize. */
static inline double glow_angle_large_f(float a, uint32_t *quarters) {
  uint32_t u = glow_float_bits(a), i = (u >> 23) - 152u, s = i & 31u;
  bool odd = (i & 32u) != 0, far = (i & 64u) != 0;
  uint32_t p0 = odd ? 0x4e441529u : 0xa2f9836eu, p1 = odd ? 0xfc2757d1u : 0x4e441529u;
  uint32_t p2 = odd ? 0xf534ddc0u : 0xfc2757d1u, p3 = odd ? 0xdb629599u : 0xf534ddc0u;
  uint32_t p4 = odd ? 0x3c439041u : 0xdb629599u, p5 = odd ? 0xfe5163abu : 0x3c439041u;
  uint32_t w0 = far ? p2 : p0, w1 = far ? p3 : p1, w2 = far ? p4 : p2, w3 = far ? p5 : p3;
  uint64_t m = (u & 0x7fffffu) | 0x800000u;
  uint64_t top = ((uint64_t)w0 << 32 | w1) << s >> 32;
  uint64_t mid = ((uint64_t)w1 << 32 | w2) << s >> 32;
  uint64_t low = ((uint64_t)w2 << 32 | w3) << s >> 32;
  uint64_t v = (m * top << 32) + m * mid + (m * low >> 32);
  uint64_t q = (v + (UINT64_C(1) << 61)) >> 62;
  *quarters = (uint32_t)q;
  return (double)(int64_t)(v - (q << 62)) * (GLOW_PIO2 * 0x1p-62);
}

/* The angle of a >= 0 in double. Below 2^30, one FMA loses nothing where a is near a multiple. */
static inline double glow_angle_f(float a, uint32_t *quarters) {
  uint32_t many;
  double shifted = glow_fma((double)a, GLOW_TWO_OVER_PI, GLOW_MAGIC), n = shifted - GLOW_MAGIC;
  double r = glow_fma(n, -GLOW_PIO2_LO, glow_fma(n, -GLOW_PIO2, (double)a));
  double large = glow_angle_large_f(a, &many);
  *quarters = a >= 0x1p30f ? many : (uint32_t)glow_double_bits(shifted);
  return a >= 0x1p30f ? large : r;
}

static inline double glow_sin_short(double r) {
  double z = r * r, p = 0x1.6dbc43229e1ffp-19;
  GLOW_POLY(p, z, -0x1.a013a104f9c79p-13);
  GLOW_POLY(p, z, 0x1.11110de919d2p-7);
  GLOW_POLY(p, z, -0x1.555555545ab2p-3);
  return glow_fma(z * r, p, r);
}
static inline double glow_cos_short(double r) {
  double z = r * r, p = -0x1.25238d31942bap-22;
  GLOW_POLY(p, z, 0x1.a015c1b2ffaaep-16);
  GLOW_POLY(p, z, -0x1.6c16bf5251277p-10);
  GLOW_POLY(p, z, 0x1.5555555502195p-5);
  return glow_fma(z * z, p, glow_fma(z, -0.5, 1.0));
}

static inline float glow_sin_shifted_f(float x, uint32_t shift) {
  uint32_t quarters;
  float a = glow_fabsf(x);
  double angle = glow_angle_f(a, &quarters), s = glow_sin_short(angle), c = glow_cos_short(angle);
  uint32_t q = quarters + shift;
  float r = (float)(q & 1 ? c : s);
  r = q & 2 ? -r : r;
  return a < __builtin_inff() ? r : x - x;
}
static inline float glow_sinf(float x) {
  float r = glow_sin_shifted_f(x, 0);
  return glow_float_from_bits(glow_float_bits(r) ^ (glow_float_bits(x) & 0x80000000u));
}
static inline float glow_cosf(float x) { return glow_sin_shifted_f(x, 1); }

static inline float glow_tanf(float x) {
  uint32_t q;
  float a = glow_fabsf(x);
  double angle = glow_angle_f(a, &q), s = glow_sin_short(angle), c = glow_cos_short(angle);
  float r = (float)((q & 1 ? -c : s) / (q & 1 ? s : c));
  r = glow_float_from_bits(glow_float_bits(r) ^ (glow_float_bits(x) & 0x80000000u));
  return a < __builtin_inff() ? r : x - x;
}

/* ---- Inverse functions ----------------------------------------------------------------------- */

/* (asin(s) / s - 1) for z = s^2 <= 1/4. */
static inline double glow_asin_part(double z) {
  double p = 0x1.cfeb6b6273abbp-6;
  GLOW_POLY(p, z, -0x1.66c56113e2444p-7);
  GLOW_POLY(p, z, 0x1.08a85a538f98ep-6);
  GLOW_POLY(p, z, 0x1.fccbd3d942878p-8);
  GLOW_POLY(p, z, 0x1.8567416c7a3ecp-7);
  GLOW_POLY(p, z, 0x1.c86948fe0ee76p-7);
  GLOW_POLY(p, z, 0x1.1c59a07163ep-6);
  GLOW_POLY(p, z, 0x1.6e8b25e014fep-6);
  GLOW_POLY(p, z, 0x1.f1c71fc03ce43p-6);
  GLOW_POLY(p, z, 0x1.6db6db67f1612p-5);
  GLOW_POLY(p, z, 0x1.3333333337269p-4);
  GLOW_POLY(p, z, 0x1.555555555554ep-3);
  return p * z;
}

/* asin(s) - s, where s = |x| up to 1/2. Above, s = sqrt((1 - |x|) / 2), so that asin(s) is half of
 * pi/2 - asin |x|; the result then includes what rounding the root cut off. */
static inline double glow_asin_rest(double a, double *s) {
  bool near = a < 0.5;
  double z = near ? a * a : 0.5 * (1.0 - a), root = near ? a : glow_sqrt(z);
  double lost = near || z == 0 ? 0.0 : glow_fma(-root, root, z) / (root + root);
  *s = root;
  return glow_fma(root, glow_asin_part(z), lost);
}

static inline double glow_asin(double x) {
  double a = glow_fabs(x), s, rest = glow_asin_rest(a, &s);
  double far = GLOW_PIO2 - (2.0 * s - (GLOW_PIO2_LO - 2.0 * rest));
  return glow_copysign(a < 0.5 ? s + rest : far, x);
}
static inline double glow_acos(double x) {
  double a = glow_fabs(x), s, rest = glow_asin_rest(a, &s);
  double small = GLOW_PIO2 - (x - (GLOW_PIO2_LO - glow_copysign(rest, x)));
  double below = 2.0 * (GLOW_PIO2 - (s + (rest - GLOW_PIO2_LO)));
  return a < 0.5 ? small : x < 0 ? below : 2.0 * (s + rest);
}

/* atan a = atan c + atan((a - c) / (1 + a c)) for the nearest c of 0, 1/2, 1, 3/2 and infinity. */
static inline double glow_atan(double x) {
  double a = glow_fabs(x), num = -1.0, den = a, hi = GLOW_PIO2, lo = GLOW_PIO2_LO;
  bool c15 = a < 39.0 / 16.0, c10 = a < 19.0 / 16.0, c05 = a < 11.0 / 16.0, c0 = a < 7.0 / 16.0;
  num = c15 ? a - 1.5 : num, den = c15 ? glow_fma(1.5, a, 1.0) : den;
  hi = c15 ? 0x1.f730bd281f69bp-1 : hi, lo = c15 ? 0x1.007887af0cbbdp-56 : lo;
  num = c10 ? a - 1.0 : num, den = c10 ? a + 1.0 : den;
  hi = c10 ? 0.5 * GLOW_PIO2 : hi, lo = c10 ? 0.5 * GLOW_PIO2_LO : lo;
  num = c05 ? 2.0 * a - 1.0 : num, den = c05 ? 2.0 + a : den;
  hi = c05 ? 0x1.dac670561bb4fp-2 : hi, lo = c05 ? 0x1.a2b7f222f65e2p-56 : lo;
  num = c0 ? a : num, den = c0 ? 1.0 : den, hi = c0 ? 0.0 : hi, lo = c0 ? 0.0 : lo;
  double t = num / den, z = t * t, p = 0x1.dd7c4cafd6efcp-7;
  GLOW_POLY(p, z, -0x1.0d928b1b0baaep-5);
  GLOW_POLY(p, z, 0x1.6f23a8debb99dp-5);
  GLOW_POLY(p, z, -0x1.ab1d3a3ffb068p-5);
  GLOW_POLY(p, z, 0x1.e16623f0c2d94p-5);
  GLOW_POLY(p, z, -0x1.110c08a997aaep-4);
  GLOW_POLY(p, z, 0x1.3b136aee4232dp-4);
  GLOW_POLY(p, z, -0x1.745d14c92b5bep-4);
  GLOW_POLY(p, z, 0x1.c71c71b960abcp-4);
  GLOW_POLY(p, z, -0x1.249249247d825p-3);
  GLOW_POLY(p, z, 0x1.99999999997d7p-3);
  GLOW_POLY(p, z, -0x1.5555555555555p-2);
  return glow_copysign(hi + (t + glow_fma(t * z, p, lo)), x);
}

#endif
