/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011): four words for each value of a 64-bit counter, under a 64-bit key. Freestanding. */
#ifndef GLOW_NUM_PHILOX_H
#define GLOW_NUM_PHILOX_H

#include <stdint.h>

static inline void glow_philox4x32(const uint32_t counter[4], const uint32_t key[2],
                                   uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int i = 0; i < 10; i++) {
    uint64_t a = (uint64_t)c0 * UINT32_C(0xD2511F53), b = (uint64_t)c2 * UINT32_C(0xCD9E8D57);
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static inline void glow_philox_block(uint64_t key, uint64_t counter, uint32_t out[4]) {
  uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
  uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
  glow_philox4x32(c, k, out);
}

#endif
