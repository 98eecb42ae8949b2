/* Hyperbolic functions, and the activations that are made of exponentials and logarithms, in
 * double. Those of float but Gelu's and Expm1 (math_float.h) compute in double and round once, so
 * sums that cancel (Softplus far below) cost no digits. */
#ifndef GLOW_NUM_MATH_GATED_H
#define GLOW_NUM_MATH_GATED_H

#include "num/math_double.h"

/* a + b as a sum of two doubles. */
static inline double glow_two_sum(double a, double b, double *rest) {
  double s = a + b, back = s - a;
  *rest = (a - (s - back)) + (b - back);
  return s;
}

/* ---- Hyperbolic functions -------------------------------------------------------------------- */

/* e^a / 2 for a >= 0, which overflows later than e^a. */
static inline double glow_half_exp(double a) {
  double rest, x = glow_two_sum(a > 720.0 ? 720.0 : a, -GLOW_LN2_HI, &rest);
  return glow_exp_sum(x, rest - GLOW_LN2_LO);
}
static inline double glow_sinh(double x) {
  double a = glow_fabs(x), e = glow_half_exp(a), m = glow_expm1(a < 1.0 ? a : 1.0);
  return glow_copysign(a < 1.0 ? 0.5 * (m + m / (m + 1.0)) : e - 0.25 / e, x);
}
static inline double glow_cosh(double x) {
  double e = glow_half_exp(glow_fabs(x));
  return e + 0.25 / e;
}
/* Beyond 2^28 the root of a^2 + 1 is a. */
static inline double glow_asinh(double x) {
  double a = glow_fabs(x), t = a > 0x1p28 ? 0x1p28 : a, z = t * t;
  double near = glow_log1p(t + z / (1.0 + glow_sqrt(z + 1.0)));
  return glow_copysign(a > 0x1p28 ? glow_log(a) + GLOW_LN2_HI : near, x);
}
static inline double glow_acosh(double x) {
  double t = (x < 0x1p28 ? x : 0x1p28) - 1.0;
  double near = glow_log1p(t + glow_sqrt(glow_fma(t, t, 2.0 * t)));
  return x > 0x1p28 ? glow_log(x) + GLOW_LN2_HI : x >= 1.0 ? near : __builtin_nan("");
}
static inline double glow_atanh(double x) {
  double a = glow_fabs(x), t = a + a;
  double y = a < 0.5 ? glow_fma(t, a / (1.0 - a), t) : t / (1.0 - a);
  return glow_copysign(0.5 * glow_log1p(y), x);
}

/* ---- Activations ----------------------------------------------------------------------------- */

static inline double glow_softplus(double x) {
  return (x > 0 ? x : 0.0) + glow_log1p(glow_exp(-glow_fabs(x)));
}

/* Three results below are x times a small power of e. The power is applied as two factors of half
 * the exponent: as one factor it could be subnormal, and lose digits, where the product is not. */

/* tanh(log(1 + e)) = w / (w + 2) for w = e (e + 2) and e = e^x; 1 from x = 20 on, e below -40. */
static inline double glow_mish(double x) {
  double h = glow_exp(0.5 * (x > 20.0 ? 20.0 : x)), e = h * h, w = e * (e + 2.0);
  return x < -40.0 ? x * h * h : x * (w / (w + 2.0));
}

/* The share of a normal distribution beyond a >= 0 is h^2 times a polynomial in (a - k) / (a + k),
 * divided by a + k, with k = 4 and h = e^(-a^2/4). Returns this divided by h, and *h. */
static inline double glow_normal_tail(double a, double *h) {
  double t = a > 64.0 ? 64.0 : a, inverse = 1.0 / (t + 4.0), u = (t - 4.0) * inverse;
  double p = 0x1.fd6b4ab3833c5p-35;
  GLOW_POLY(p, u, -0x1.40224c2e50e3bp-31);
  GLOW_POLY(p, u, -0x1.69ea1eeb4611cp-29);
  GLOW_POLY(p, u, 0x1.80e885ae1d39fp-30);
  GLOW_POLY(p, u, 0x1.5070b89fe55aap-26);
  GLOW_POLY(p, u, 0x1.e3e610deda06p-27);
  GLOW_POLY(p, u, -0x1.6d928abf6884fp-24);
  GLOW_POLY(p, u, -0x1.4e4971acbead2p-23);
  GLOW_POLY(p, u, 0x1.237438b1ae181p-22);
  GLOW_POLY(p, u, 0x1.125284100631cp-20);
  GLOW_POLY(p, u, -0x1.51efeacdb6cd2p-21);
  GLOW_POLY(p, u, -0x1.8d4e03f0cf2bdp-18);
  GLOW_POLY(p, u, 0x1.80b4ec81adfbfp-21);
  GLOW_POLY(p, u, 0x1.26d0b2cc147fap-15);
  GLOW_POLY(p, u, -0x1.001e78251edb7p-19);
  GLOW_POLY(p, u, -0x1.e4a4268b2f1eap-13);
  GLOW_POLY(p, u, 0x1.17a4ae45d053cp-13);
  GLOW_POLY(p, u, 0x1.ab825fc4caa3ap-10);
  GLOW_POLY(p, u, -0x1.c81719d567626p-9);
  GLOW_POLY(p, u, -0x1.ee2761048d98ep-8);
  GLOW_POLY(p, u, 0x1.eec4cc3e4d405p-5);
  GLOW_POLY(p, u, -0x1.7dff2bff68368p-3);
  GLOW_POLY(p, u, 0x1.8c6dbf2cfc2b3p-2);
  GLOW_POLY(p, u, -0x1.373e3a893c28ap-1);
  GLOW_POLY(p, u, 0x1.82b4bb8c94dcep-1);
  double square = t * t, lost = glow_fma(t, t, -square);
  *h = glow_exp_sum(-0.25 * square, -0.25 * lost);
  return *h * p * inverse;
}

/* x times the distribution function of the normal distribution. */
static inline double glow_gelu(double x) {
  double h, tail = glow_normal_tail(glow_fabs(x), &h);
  return x < 0 ? x * tail * h : x * (1.0 - tail * h);
}

/* Gelu with (1 + tanh u) / 2 = 1 / (1 + e^-2u) as the distribution function, for u = sqrt(2 / pi)
 * (x + 0.044715 x^3). The exponent is a sum of two doubles, since its absolute error becomes the
 * relative error of the result. */
static inline double glow_gelu_tanh(double x) {
  const double k = 0x1.9884533d43651p0, kl = -0x1.cbc0d30ebfd15p-54; /* 2 sqrt(2 / pi) */
  const double c = 0x1.6e4e26d4801f7p-5, cl = 0x1.441355475a31ap-59; /* 0.044715 */
  double a = glow_fabs(x), t = a > 64.0 ? 64.0 : a, gl;
  double z = t * t, zl = glow_fma(t, t, -z), m = c * z;
  double ml = glow_fma(c, z, -m) + glow_fma(c, zl, cl * z), g = glow_two_sum(1.0, m, &gl);
  double p = t * g, pl = glow_fma(t, g, -p) + t * (gl + ml);
  double v = k * p, vl = glow_fma(k, p, -v) + glow_fma(k, pl, kl * p);
  double h = glow_exp_sum(-0.5 * v, -0.5 * vl), d = 1.0 + h * h;
  return x < 0 ? x * (h / d) * h : x / d;
}

/* ---- Functions of float ---------------------------------------------------------------------- */

#define GLOW_MATH_FROM_DOUBLE(name)                                                                \
  static inline float glow_##name##f(float x) { return (float)glow_##name((double)x); }
GLOW_MATH_FROM_DOUBLE(log1p)
GLOW_MATH_FROM_DOUBLE(sinh)
GLOW_MATH_FROM_DOUBLE(cosh)
GLOW_MATH_FROM_DOUBLE(asinh)
GLOW_MATH_FROM_DOUBLE(acosh)
GLOW_MATH_FROM_DOUBLE(atanh)
GLOW_MATH_FROM_DOUBLE(softplus)
GLOW_MATH_FROM_DOUBLE(mish)
#undef GLOW_MATH_FROM_DOUBLE

#endif
