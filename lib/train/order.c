/* See order.h. */
#include "train/order.h"

#include <stdlib.h>

#include "num/philox.h"

static int by_value(const void *pa, const void *pb) {
  uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
  return (a > b) - (a < b);
}

void glow_order_make(const GlowOrder *o, int64_t epoch, uint64_t *indices) {
  for (int64_t j = 0; j < o->samples; j++) {
    uint32_t words[4] = {0};
    if (o->shuffled)
      glow_philox_block(o->seed, ((uint64_t)epoch << 32) + (uint64_t)j, words);
    indices[j] = (uint64_t)words[0] << 32 | (uint64_t)j;
  }
  if (o->shuffled)
    qsort(indices, (size_t)o->samples, sizeof *indices, by_value);
  for (int64_t j = 0; j < o->samples; j++)
    indices[j] &= UINT32_MAX;
}
