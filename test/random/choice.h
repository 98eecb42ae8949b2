/* Decisions of the random generators: from a seed (a counter-based stream, the same everywhere), or
 * from the bytes of a fuzzer, which is 0 for ever when they are used up. */
#ifndef GLOW_TEST_RANDOM_CHOICE_H
#define GLOW_TEST_RANDOM_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GlowChoice {
  const uint8_t *data; /* NULL: use the seed */
  size_t size, at;
  uint64_t state;
} GlowChoice;

static inline GlowChoice glow_choice_seed(uint64_t seed) { return (GlowChoice){.state = seed}; }
static inline GlowChoice glow_choice_bytes(const uint8_t *data, size_t size) {
  return (GlowChoice){.data = data, .size = size};
}

/* splitmix64. */
static inline uint64_t glow_choice_next(GlowChoice *c) {
  uint64_t z = (c->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* A number below n; 0 if n is 0 or 1. */
static inline uint32_t glow_choose(GlowChoice *c, uint32_t n) {
  if (n <= 1)
    return 0;
  if (!c->data)
    return (uint32_t)(glow_choice_next(c) >> 32) % n;
  uint32_t v = 0;
  for (uint32_t limit = n - 1; limit; limit >>= 8)
    v = v << 8 | (c->at < c->size ? c->data[c->at++] : 0);
  return v % n;
}

/* True once in n times. */
static inline bool glow_once_in(GlowChoice *c, uint32_t n) { return glow_choose(c, n) == n - 1; }

#endif
