/* Products of bfloat16 numbers, summed up in float as machines with instructions for them do
 * (TDPBF16PS, VDPBF16PS): results are rounded to nearest, ties to even, and denormals are zeros of
 * their sign, before and after each operation. Whether a result is denormal is said by its
 * magnitude as it is rounded to the 24 bits of a float, as if exponents had no end. Freestanding.
 *
 * With order = tile a chain of such products takes GLOW_BF16_CHUNK steps; see docs/Numerics. */
#ifndef GLOW_NUM_BF16_H
#define GLOW_NUM_BF16_H

#include "num/fma.h"
#include "num/half.h"

enum {
  GLOW_BF16_CHUNK = 32,             /* products that two chains take before they are added up */
  GLOW_BF16_PAIRS = 16,             /* the same in pairs */
  GLOW_BF16_LEAST = 0x00800000,     /* the bits of 2^-126 */
  GLOW_BF16_MAGNITUDE = 0x7fffffff  /* all bits but the sign */
};

/* v, or a zero of its sign if it is denormal. */
static inline float glow_bf16_flush(float v) {
  uint32_t u = glow_float_bits(v), a = u & GLOW_BF16_MAGNITUDE;
  return glow_float_from_bits(a < GLOW_BF16_LEAST ? u ^ a : u);
}

/* v rounded to bfloat16. */
static inline float glow_bf16_round(float v) {
  return glow_bf16_flush(glow_bfloat_to_float(glow_bfloat_from_float(v)));
}

/* The same as VCVTNEPS2BF16 rounds: v is no denormal any more. */
static inline float glow_bf16_round_flushed(float v) { return glow_bf16_round(glow_bf16_flush(v)); }

/* Whether r = fma(a, b, c), rounded as denormals allow, may be a number that is to be zero: its
 * magnitude is at most 2^-126, but not 0. */
static inline int glow_bf16_is_low(float r) {
  return (glow_float_bits(r) & GLOW_BF16_MAGNITUDE) - 1 < GLOW_BF16_LEAST;
}

/* What becomes of such an r. Magnitude 2^-126 itself may have been rounded up from below the middle
 * between 2^-126 - 2^-150, the float before it if exponents had no end, and it. The product of two
 * bfloat16 numbers is exact in double, and so is the middle less c, whose exponent is near. */
static inline float glow_bf16_low(float r, float a, float b, float c) {
  const double middle = 0x1p-126 - 0x1p-151, sign = r < 0 ? -1 : 1;
  double product = sign * (double)a * (double)b, rest = middle - sign * (double)c;
  return product < rest || (r < 0 ? -r : r) < 0x1p-126f ? r * 0 : r;
}

/* a * b + c; a and b are what glow_bf16_round gives, c is not denormal. */
static inline float glow_bf16_fma(float a, float b, float c) {
  float r = glow_fmaf(a, b, c);
  return glow_bf16_is_low(r) ? glow_bf16_low(r, a, b, c) : r;
}

/* a + b; neither is denormal. A sum that is denormal is exact. */
static inline float glow_bf16_add(float a, float b) { return glow_bf16_flush(a + b); }

#endif
