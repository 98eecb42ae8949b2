/* The state of ObserveSums: for each channel GLOW_SUMS_SIZE numbers of 64 bits, all 0 before the
 * first element.
 *
 * The sum of a channel's elements is that of limb i * 2^(32 i - 149) over its limbs, of which all
 * but the last lie in [0, 2^32). Floats are multiples of 2^-149 below 2^128, so the sum is exact,
 * has one form, and does not depend on the order of the elements. */
#ifndef GLOW_NUM_SUMS_H
#define GLOW_NUM_SUMS_H

enum {
  GLOW_SUMS_LIMBS = 9,
  GLOW_SUMS_LIMB_BITS = 32,
  GLOW_SUMS_COUNT = GLOW_SUMS_LIMBS, /* how many finite elements there were */
  GLOW_SUMS_SIZE
};

#define GLOW_SUMS_LEAST_EXPONENT (-149) /* limb 0 counts 2^-149 */

#endif
