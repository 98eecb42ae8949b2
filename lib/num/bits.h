/* Floating-point numbers and their bits. Freestanding. */
#ifndef GLOW_NUM_BITS_H
#define GLOW_NUM_BITS_H

#include <stdint.h>

static inline uint32_t glow_float_bits(float v) {
  uint32_t u;
  __builtin_memcpy(&u, &v, sizeof u);
  return u;
}

static inline float glow_float_from_bits(uint32_t u) {
  float v;
  __builtin_memcpy(&v, &u, sizeof v);
  return v;
}

static inline uint64_t glow_double_bits(double v) {
  uint64_t u;
  __builtin_memcpy(&u, &v, sizeof u);
  return u;
}

static inline double glow_double_from_bits(uint64_t u) {
  double v;
  __builtin_memcpy(&v, &u, sizeof v);
  return v;
}

#endif
