/* What scalar bodies of operators may call: the macros at the end, which choose by the type of
 * their first argument.
 *
 * Freestanding, one body for all backends; docs/Numerics defines each to the bit. float16 and
 * bfloat16 are computed in float by the caller. Integers wrap (compile with -fwrapv). */
#ifndef GLOW_NUM_MATH_H
#define GLOW_NUM_MATH_H

#include "num/math_double.h"
#include "num/math_float.h"
#include "num/math_gated.h"
#include "num/math_trig.h"
#include "ops/kind.h"

/* M(suffix, type, unsigned type). */
#define GLOW_MATH_SIGNED(M)                                                                        \
  M(i8, int8_t, uint8_t)                                                                           \
  M(i16, int16_t, uint16_t) M(i32, int32_t, uint32_t) M(i64, int64_t, uint64_t)
#define GLOW_MATH_UNSIGNED(M)                                                                      \
  M(u8, uint8_t, uint8_t)                                                                          \
  M(u16, uint16_t, uint16_t) M(u32, uint32_t, uint32_t) M(u64, uint64_t, uint64_t)

/* IEEE 754-2019 maximum and minimum: NaN if either operand is NaN, and -0 below +0. Straight-line
 * code: where y is a known number, a compiler leaves one instruction or two of it. */
#define GLOW_MATH_EXTREME(name, type, both, beyond)                                                \
  static inline type name(type x, type y) {                                                        \
    type of_zeros = glow_##type##_from_bits(glow_##type##_bits(x) both glow_##type##_bits(y));     \
    bool zeros = (x == y) & (y == 0), first = !(x beyond y) & (y == y);                            \
    type second = zeros ? of_zeros : y;                                                            \
    return first ? x : second;                                                                     \
  }
GLOW_MATH_EXTREME(glow_max_f, float, &, <=)
GLOW_MATH_EXTREME(glow_min_f, float, |, >=)
GLOW_MATH_EXTREME(glow_max_d, double, &, <=)
GLOW_MATH_EXTREME(glow_min_d, double, |, >=)
static inline float glow_pow_f(float x, float y) { return glow_powf(x, y); }
static inline double glow_pow_d(double x, double y) { return glow_pow(x, y); }
static inline float glow_div_f(float x, float y) { return x / y; }
static inline double glow_div_d(double x, double y) { return x / y; }

/* The exact remainder with the sign of x: C's fmod. Long division, one bit of the quotient at a
 * time; exponents differ by at most 2100. */
static inline double glow_fmod_d(double x, double y) {
  double a = glow_fabs(x), b = glow_fabs(y);
  if (!(a < __builtin_inf()) || !(b > 0))
    return __builtin_nan("");
  if (a < b)
    return x;
  int ea, eb;
  uint64_t ma = glow_double_mantissa(a, &ea), mb = glow_double_mantissa(b, &eb);
  for (; ea > eb; ea--) {
    ma = ma >= mb ? ma - mb : ma;
    ma <<= 1;
  }
  ma = ma >= mb ? ma % mb : ma;
  double r = ma ? glow_wide_round((GlowWide){0, ma}, eb, 0) : 0.0;
  return glow_copysign(r, x);
}
static inline double glow_mod_d(double x, double y) {
  double r = glow_fmod_d(x, y);
  return r == 0 ? glow_copysign(r, y) : (r < 0) != (y < 0) ? r + y : r;
}
static inline float glow_fmod_f(float x, float y) { return (float)glow_fmod_d(x, y); }
static inline float glow_mod_f(float x, float y) {
  float r = glow_fmod_f(x, y);
  return r == 0 ? glow_copysignf(r, y) : (r < 0) != (y < 0) ? r + y : r;
}

/* A double as an integer: truncated, saturated, NaN to 0. The limits are exact powers of two. */
static inline int64_t glow_trunc_i64(double v) {
  if (!(v > -0x1p63))
    return v == v ? INT64_MIN : 0;
  return v < 0x1p63 ? (int64_t)v : INT64_MAX;
}
static inline uint64_t glow_trunc_u64(double v) {
  return !(v > 0) ? 0 : v < 0x1p64 ? (uint64_t)v : UINT64_MAX;
}
static inline uint64_t glow_square_up(uint64_t x, uint64_t y) {
  uint64_t r = 1;
  for (; y; y >>= 1, x *= x)
    r *= y & 1 ? x : 1;
  return r;
}

#define GLOW_MATH_EQUAL(s, T, U)                                                                   \
  static inline bool glow_equal_##s(T x, T y) { return x == y; }
GLOW_MATH_SIGNED(GLOW_MATH_EQUAL)
GLOW_MATH_UNSIGNED(GLOW_MATH_EQUAL)
GLOW_MATH_EQUAL(f, float, )
GLOW_MATH_EQUAL(d, double, )
GLOW_MATH_EQUAL(bool, bool, )
static inline bool glow_equal_string(GlowString x, GlowString y) {
  size_t i = 0;
  while (i < x.length && i < y.length && x.data[i] == y.data[i])
    i++;
  return i == x.length && i == y.length;
}

#define GLOW_MATH_ORDER(s, T, U)                                                                   \
  static inline T glow_max_##s(T x, T y) { return x > y ? x : y; }                                 \
  static inline T glow_min_##s(T x, T y) { return x < y ? x : y; }                                 \
  static inline T glow_shl_##s(T x, T y) {                                                         \
    return (T)((U)y < 8 * sizeof(T) ? (uint64_t)x << y : 0);                                       \
  }                                                                                                \
  static inline T glow_shr_##s(T x, T y) {                                                         \
    const U bits = 8 * sizeof(T);                                                                  \
    return (T)((U)y < bits ? x >> y : x >> (bits - 1) >> 1);                                       \
  }
#define GLOW_MATH_SIGNED_BODY(s, T, U)                                                             \
  static inline T glow_abs_##s(T x) { return (T)(x < 0 ? (U)0 - (U)x : (U)x); }                    \
  static inline T glow_div_##s(T x, T y) {                                                         \
    T q = (T)(x / (y == 0 || y == -1 ? 1 : y));                                                    \
    return y == 0 ? 0 : y == -1 ? (T)((U)0 - (U)x) : q;                                            \
  }                                                                                                \
  static inline T glow_fmod_##s(T x, T y) { return (T)(y == 0 || y == -1 ? 0 : x % y); }           \
  static inline T glow_mod_##s(T x, T y) {                                                         \
    T r = glow_fmod_##s(x, y);                                                                     \
    return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r);                                          \
  }                                                                                                \
  static inline T glow_pow_##s(T x, T y) {                                                         \
    if (y < 0)                                                                                     \
      return (T)(x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0);                                     \
    return (T)glow_square_up((uint64_t)x, (uint64_t)y);                                            \
  }
#define GLOW_MATH_UNSIGNED_BODY(s, T, U)                                                           \
  static inline T glow_abs_##s(T x) { return x; }                                                  \
  static inline T glow_div_##s(T x, T y) { return (T)(y ? x / y : 0); }                            \
  static inline T glow_fmod_##s(T x, T y) { return (T)(y ? x % y : 0); }                           \
  static inline T glow_mod_##s(T x, T y) { return (T)(y ? x % y : 0); }                            \
  static inline T glow_pow_##s(T x, T y) { return (T)glow_square_up(x, y); }

GLOW_MATH_SIGNED(GLOW_MATH_ORDER)
GLOW_MATH_UNSIGNED(GLOW_MATH_ORDER)
GLOW_MATH_SIGNED(GLOW_MATH_SIGNED_BODY)
GLOW_MATH_UNSIGNED(GLOW_MATH_UNSIGNED_BODY)

/* Shrink. Integers are computed in double and cast to their kind, so with a bias of 0 integers that
 * double holds exactly stay as they are. */
static inline double glow_shrink_d(double x, float lambd, float bias) {
  return x < -(double)lambd ? x + (double)bias : x > (double)lambd ? x - (double)bias : 0.0;
}
static inline float glow_shrink_f(float x, float lambd, float bias) {
  return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0f;
}
#define GLOW_MATH_SHRINK_SIGNED(s, T, U)                                                           \
  static inline T glow_shrink_##s(T x, float lambd, float bias) {                                  \
    const int64_t high = (int64_t)((U)-1 >> 1);                                                    \
    int64_t r = glow_trunc_i64(glow_shrink_d((double)x, lambd, bias));                             \
    return (T)(r > high ? high : r < -high - 1 ? -high - 1 : r);                                   \
  }
#define GLOW_MATH_SHRINK_UNSIGNED(s, T, U)                                                         \
  static inline T glow_shrink_##s(T x, float lambd, float bias) {                                  \
    uint64_t r = glow_trunc_u64(glow_shrink_d((double)x, lambd, bias));                            \
    return (T)(r > (U)-1 ? (U)-1 : r);                                                             \
  }
GLOW_MATH_SIGNED(GLOW_MATH_SHRINK_SIGNED)
GLOW_MATH_UNSIGNED(GLOW_MATH_SHRINK_UNSIGNED)

#define GLOW_MATH_INTEGERS(f)                                                                      \
  int8_t:                                                                                          \
  f##_i8, int16_t : f##_i16,                                                                       \
                    int32_t : f##_i32,                                                             \
                              int64_t : f##_i64,                                                   \
                                        uint8_t : f##_u8,                                          \
                                                  uint16_t : f##_u16,                              \
                                                             uint32_t : f##_u32,                   \
                                                                        uint64_t : f##_u64
#define GLOW_MATH_ANY(x, f) _Generic((x), float : f##_f, double : f##_d, GLOW_MATH_INTEGERS(f))
#define GLOW_MATH_REAL(x, fn) _Generic((x), float : fn##f, double : fn)

#define MAX(x, y) GLOW_MATH_ANY(x, glow_max)(x, y)
#define MIN(x, y) GLOW_MATH_ANY(x, glow_min)(x, y)
#define DIV(x, y) GLOW_MATH_ANY(x, glow_div)(x, y)
#define MOD(x, y) GLOW_MATH_ANY(x, glow_mod)(x, y)
#define FMOD(x, y) GLOW_MATH_ANY(x, glow_fmod)(x, y)
#define ABS(x)                                                                                     \
  _Generic((x), float : glow_fabsf, double : glow_fabs, GLOW_MATH_INTEGERS(glow_abs))(x)
#define EQUAL(x, y)                                                                                \
  _Generic((x), bool                                                                               \
           : glow_equal_bool, GlowString                                                           \
           : glow_equal_string, float                                                              \
           : glow_equal_f, double                                                                  \
           : glow_equal_d, GLOW_MATH_INTEGERS(glow_equal))(x, y)
#define SHL(x, y) _Generic((x), GLOW_MATH_INTEGERS(glow_shl))(x, y)
#define SHR(x, y) _Generic((x), GLOW_MATH_INTEGERS(glow_shr))(x, y)
#define SHRINK(x, lambd, bias) GLOW_MATH_ANY(x, glow_shrink)(x, lambd, bias)
#define MULADD(x, y, z) GLOW_MATH_REAL(x, glow_fma)(x, y, z)
#define SQRT(x) GLOW_MATH_REAL(x, glow_sqrt)(x)
#define EXP(x) GLOW_MATH_REAL(x, glow_exp)(x)
#define LOG(x) GLOW_MATH_REAL(x, glow_log)(x)
#define TANH(x) GLOW_MATH_REAL(x, glow_tanh)(x)
#define SIGMOID(x) GLOW_MATH_REAL(x, glow_sigmoid)(x)
#define ERF(x) GLOW_MATH_REAL(x, glow_erf)(x)
#define EXPM1(x) GLOW_MATH_REAL(x, glow_expm1)(x)
#define SIN(x) GLOW_MATH_REAL(x, glow_sin)(x)
#define COS(x) GLOW_MATH_REAL(x, glow_cos)(x)
#define TAN(x) GLOW_MATH_REAL(x, glow_tan)(x)
#define ASIN(x) GLOW_MATH_REAL(x, glow_asin)(x)
#define ACOS(x) GLOW_MATH_REAL(x, glow_acos)(x)
#define ATAN(x) GLOW_MATH_REAL(x, glow_atan)(x)
#define SINH(x) GLOW_MATH_REAL(x, glow_sinh)(x)
#define COSH(x) GLOW_MATH_REAL(x, glow_cosh)(x)
#define ASINH(x) GLOW_MATH_REAL(x, glow_asinh)(x)
#define ACOSH(x) GLOW_MATH_REAL(x, glow_acosh)(x)
#define ATANH(x) GLOW_MATH_REAL(x, glow_atanh)(x)
#define SOFTPLUS(x) GLOW_MATH_REAL(x, glow_softplus)(x)
#define MISH(x) GLOW_MATH_REAL(x, glow_mish)(x)
#define GELU(x) GLOW_MATH_REAL(x, glow_gelu)(x)
#define GELU_TANH(x) GLOW_MATH_REAL(x, glow_gelu_tanh)(x)
#define FLOOR(x) GLOW_MATH_REAL(x, glow_floor)(x)
#define CEIL(x) GLOW_MATH_REAL(x, glow_ceil)(x)
#define RINT(x) GLOW_MATH_REAL(x, glow_rint)(x)
/* x and y have the same kind. Integers: by squaring; a negative exponent gives 1 / x^-y, truncated.
 */
#define POW(x, y) GLOW_MATH_ANY(x, glow_pow)(x, y)

#endif
