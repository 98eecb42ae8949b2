/* Remainders of floats whose quotient is near zero: a division instead of a long one. */
#ifndef GLOW_NUM_REMAINDER_H
#define GLOW_NUM_REMAINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "num/math_float.h"

/* Whether the quotient of x and y is below 2^29 and y is finite; false if one is NaN. A product
 * that overflows is above every x whose quotient is. */
static inline bool glow_quotient_is_near(float x, float y) {
  const float a = glow_fabsf(x), b = glow_fabsf(y);
  return (a < b * 0x1p29f) & (b < __builtin_inff());
}

/* glow_fmod_f (num/math.h) where the quotient is near.
 *
 * No such quotient rounds up to an integer n: n y - x is a multiple of the last place of x or of y
 * and so more than 2^-25 y where n is 1, otherwise more than 2^-24 y, while half of the last place
 * of the quotient is 2^-54 or 2^-25 at most. So it is truncated as if it were exact. Its product
 * with y has no more than 53 bits, and what x is beyond that product is a float. */
static inline float glow_fmod_near(float x, float y) {
  const double a = (double)glow_fabsf(x), b = (double)glow_fabsf(y);
  const double quotient = a / b, nearest = quotient + 0x1p52 - 0x1p52;
  const double whole = nearest - (nearest > quotient ? 1.0 : 0.0);
  return glow_copysignf((float)(a - whole * b), x);
}

#endif
