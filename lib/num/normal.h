/* Normal random numbers from uniform ones: the inverse of the normal distribution by Wichura's
 * algorithm AS 241, PPND16. Only + - * / and sqrt of double are used, each of which IEEE rounds, so
 * every machine computes the same bits. Freestanding. */
#ifndef GLOW_NUM_NORMAL_H
#define GLOW_NUM_NORMAL_H

#include "num/bits.h"

/* Natural logarithm of a positive normal number: v = 2^e * m with m in [sqrt(1/2), sqrt(2)), and
 * log m = 2 (s + s^3/3 + s^5/5 + ...) for s = (m - 1) / (m + 1), |s| < 0.172. */
static inline double glow_series_log(double v) {
  uint64_t bits = glow_double_bits(v);
  int e = (int)(bits >> 52) - 1023;
  bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
  double m = glow_double_from_bits(bits);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e++;
  }
  double s = (m - 1.0) / (m + 1.0), s2 = s * s, sum = 0;
  for (int k = 23; k >= 1; k -= 2)
    sum = sum * s2 + 1.0 / k;
  return 2.0 * s * sum + e * 0.69314718055994530942;
}

/* Numerator and denominator of one of the algorithm's rational functions, degree 7 each. */
static inline double glow_normal_ratio(const double *a, const double *b, double r) {
  double p = a[7], q = b[7];
  for (int i = 6; i >= 0; i--) {
    p = p * r + a[i];
    q = q * r + b[i];
  }
  return p / q;
}

/* The normal distribution's inverse at p in (0, 1), within 1e-16 or so. */
static inline double glow_inverse_normal(double p) {
  static const double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                              1.9715909503065514427e+3, 1.3731693765509461125e+4,
                              4.5921953931549871457e+4, 6.7265770927008700853e+4,
                              3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static const double b[8] = {1.0,
                              4.2313330701600911252e+1,
                              6.8718700749205790830e+2,
                              5.3941960214247511077e+3,
                              2.1213794301586595867e+4,
                              3.9307895800092710610e+4,
                              2.8729085735721942674e+4,
                              5.2264952788528545610e+3};
  static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                              5.76949722146069140550e0,  3.64784832476320460504e0,
                              1.27045825245236838258e0,  2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[8] = {1.0,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                              1.78482653991729133580e0,  2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[8] = {1.0,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  double q = p - 0.5, size = q < 0 ? -q : q;
  if (size <= 0.425)
    return q * glow_normal_ratio(a, b, 0.180625 - q * q);
  double r = __builtin_sqrt(-glow_series_log(q < 0 ? p : 1.0 - p));
  double v = r <= 5.0 ? glow_normal_ratio(c, d, r - 1.6) : glow_normal_ratio(e, f, r - 5.0);
  return q < 0 ? -v : v;
}

#endif
