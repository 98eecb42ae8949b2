/* Conversions between float and the narrow floating point kinds, rounding to nearest even.
 *
 * Freestanding and bit-level, so every compiler and machine computes the same bits; no F16C, no
 * libgcc. float16 and bfloat16 are written without branches (selects only), so that loops over
 * them vectorize. The float8 and float4 kinds share one table-driven codec. NaNs keep their sign
 * and the payload bits that fit, and become quiet. From double, go through glow_float_odd: float
 * has enough digits that one more rounding of its result is the correct one. */
#ifndef GLOW_NUM_HALF_H
#define GLOW_NUM_HALF_H

#include <stdbool.h>
#include <stdint.h>

#include "num/bits.h"
#include "ops/kind.h"

/* ---- float16: 1 sign, 5 exponent, 10 mantissa bits ------------------------------------------- */

static inline uint16_t glow_half_from_float(float v) {
  uint32_t u = glow_float_bits(v), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
  /* Adding 0.5 shifts a subnormal result's last bit to the last bit of the sum, and rounds. */
  uint32_t tiny = glow_float_bits(glow_float_from_bits(a < 0x38800000u ? a : 0) + 0.5f);
  uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
  uint32_t r = a < 0x38800000u ? tiny - 0x3f000000u : normal;
  r = a >= 0x47800000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? 0x7e00u | (a >> 13 & 0x3ffu) : r;
  return (uint16_t)(sign | r);
}

static inline float glow_half_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, a = (uint32_t)(h & 0x7fffu) << 13;
  float tiny = glow_float_from_bits(a + (113u << 23)) - glow_float_from_bits(113u << 23);
  uint32_t r = a < (1u << 23) ? glow_float_bits(tiny) : a + (112u << 23);
  r = a >= (31u << 23) ? a + (224u << 23) : r;
  r = a > (31u << 23) ? r | 0x400000u : r;
  return glow_float_from_bits(sign | r);
}

/* ---- bfloat16: the upper half of a float ----------------------------------------------------- */

static inline uint16_t glow_bfloat_from_float(float v) {
  uint32_t u = glow_float_bits(v);
  uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : rounded);
}

static inline float glow_bfloat_to_float(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  return glow_float_from_bits((u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : u);
}

/* ---- From double ----------------------------------------------------------------------------- */

/* Rounds to odd: truncates, and sets the last bit if anything was cut off. */
static inline float glow_float_odd(double v) {
  float f = (float)v;
  uint32_t u = glow_float_bits(f);
  double back = (double)f, size = v < 0 ? -v : v, got = back < 0 ? -back : back;
  if (!(back != v) || v != v)
    return f;
  if (got > size)
    u--;
  return glow_float_from_bits(u | 1u);
}

static inline uint16_t glow_half_from_double(double v) {
  return glow_half_from_float(glow_float_odd(v));
}
static inline uint16_t glow_bfloat_from_double(double v) {
  return glow_bfloat_from_float(glow_float_odd(v));
}

/* ---- float8 and float4 ----------------------------------------------------------------------- */

/* A format of at most 8 bits. With `infinite`, the largest exponent holds infinities and NaNs.
 * Otherwise every pattern but the NaN is a number: `nan` with either sign, or, with
 * `unsigned_zero`, the pattern of -0 alone. */
typedef struct GlowSmallFloat {
  uint8_t exponent, mantissa; /* bits of each; the sign is one more */
  int8_t bias;
  uint8_t largest;    /* pattern of the largest finite number */
  uint8_t nan;        /* pattern of the NaN we write, without a sign; 0xff: there is none */
  bool infinite;      /* largest + 1 is infinity */
  bool unsigned_zero; /* no -0: FNUZ */
} GlowSmallFloat;

static const GlowSmallFloat glow_float8e4m3fn = {4, 3, 7, 0x7e, 0x7f, false, false};
static const GlowSmallFloat glow_float8e4m3fnuz = {4, 3, 8, 0x7f, 0x80, false, true};
static const GlowSmallFloat glow_float8e5m2 = {5, 2, 15, 0x7b, 0x7f, true, false};
static const GlowSmallFloat glow_float8e5m2fnuz = {5, 2, 16, 0x7f, 0x80, false, true};
static const GlowSmallFloat glow_float4e2m1 = {2, 1, 1, 0x7, 0xff, false, false};

/* The format of a kind; NULL for float8e8m0, which is a power and nothing else, and other kinds. */
static inline const GlowSmallFloat *glow_small_format(GlowKind kind) {
  switch (kind) {
  case GLOW_KIND_FLOAT8E4M3FN:
    return &glow_float8e4m3fn;
  case GLOW_KIND_FLOAT8E4M3FNUZ:
    return &glow_float8e4m3fnuz;
  case GLOW_KIND_FLOAT8E5M2:
    return &glow_float8e5m2;
  case GLOW_KIND_FLOAT8E5M2FNUZ:
    return &glow_float8e5m2fnuz;
  case GLOW_KIND_FLOAT4E2M1:
    return &glow_float4e2m1;
  default:
    return NULL;
  }
}

/* 2^e for -149 <= e <= 127. */
static inline float glow_float_power(int e) {
  return glow_float_from_bits(e < -126 ? 1u << (e + 149) : (uint32_t)(e + 127) << 23);
}

static inline float glow_small_to_float(const GlowSmallFloat *f, uint8_t bits) {
  uint32_t width = f->exponent + f->mantissa;
  uint32_t negative = (uint32_t)bits >> width & 1u, a = bits & ((1u << width) - 1u);
  uint32_t exponent = a >> f->mantissa, fraction = a & ((1u << f->mantissa) - 1u);
  uint32_t sign = negative << 31;
  if (f->unsigned_zero ? negative && a == 0 : f->infinite ? a > f->largest + 1u : a == f->nan)
    return glow_float_from_bits(sign | 0x7fc00000u);
  if (f->infinite && a == f->largest + 1u)
    return glow_float_from_bits(sign | 0x7f800000u);
  int power = (exponent ? (int)exponent : 1) - f->bias - f->mantissa;
  float v = (float)(fraction + (exponent ? 1u << f->mantissa : 0u)) * glow_float_power(power);
  return negative ? -v : v;
}

/* As ONNX's Cast; for infinity to FNUZ kinds, where ONNX's table and its reference implementation
 * differ, as the implementation. With `saturate`, numbers above the largest one, infinity included,
 * become the largest. Without, they become infinity, or NaN if the kind has no infinity. A kind
 * without NaN makes the largest number of both. */
static inline uint8_t glow_small_from_float(const GlowSmallFloat *f, float v, bool saturate) {
  uint32_t u = glow_float_bits(v), a = u & 0x7fffffffu;
  uint32_t sign = (u >> 31) << (f->exponent + f->mantissa), r;
  if (a > 0x7f800000u) {
    if (f->nan == 0xff)
      return f->largest;
    return (uint8_t)(f->unsigned_zero ? f->nan : sign | f->nan);
  }
  int exponent = (int)(a >> 23) - 127;
  int lowest = 1 - f->bias; /* exponent of the smallest normal number */
  if (exponent < lowest - f->mantissa - 1) {
    r = 0; /* less than half of the smallest number */
  } else {
    /* The mantissa with its hidden bit, cut to what the format keeps at this exponent. */
    uint32_t shift = 23u - f->mantissa + (uint32_t)(exponent < lowest ? lowest - exponent : 0);
    uint32_t m = (a & 0x7fffffu) | 0x800000u, half = (1u << (shift - 1)) - 1u;
    r = (m + half + (m >> shift & 1u)) >> shift;
    if (exponent >= lowest)
      r += (uint32_t)(exponent - lowest) << f->mantissa;
  }
  if (r > f->largest) {
    if (saturate || f->nan == 0xff)
      r = f->largest;
    else if (f->infinite)
      r = f->largest + 1u;
    else
      return (uint8_t)(f->unsigned_zero ? f->nan : sign | f->nan);
  }
  return (uint8_t)(f->unsigned_zero && r == 0 ? 0 : sign | r);
}

/* float8e8m0 is 2^(bits - 127), without a sign or a zero; 0xff is NaN. */
static inline float glow_e8m0_to_float(uint8_t bits) {
  return bits == 0xff ? glow_float_from_bits(0x7fc00000u) : glow_float_power((int)bits - 127);
}

/* The power of two at or above |v|, as ONNX's Cast does by default (round_mode = up); 0 becomes
 * the smallest power. Infinity saturates or becomes NaN. */
static inline uint8_t glow_e8m0_from_float(float v, bool saturate) {
  uint32_t a = glow_float_bits(v) & 0x7fffffffu, r;
  if (a > 0x7f800000u)
    return 0xff;
  if (a < 0x800000u)
    r = a > 0x400000u; /* subnormal: 2^-127 is 0x400000 */
  else
    r = (a >> 23) + ((a & 0x7fffffu) != 0);
  return (uint8_t)(r > 0xfe ? (saturate ? 0xfe : 0xff) : r);
}

#endif
