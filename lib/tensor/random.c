/* Random initializers: the same bits on every machine, for any element order.
 *
 * Element i takes word i mod 4 of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011) with counter (i / 4, 0) and the seed as key. A uniform
 * number has the word's upper 24 bits, a normal one is glow_inverse_normal of (word + 1/2) / 2^32.
 */
#include "num/normal.h"
#include "num/philox.h"
#include "tensor/element.h"

static double draw(const GlowRandom *r, uint32_t word) {
  double u = (double)(word >> 8) * (1.0 / 16777216.0), limit;
  switch (r->kind) {
  case GLOW_RANDOM_XAVIER:
    limit = r->fan > 0 ? __builtin_sqrt(3.0 / r->fan) : 0;
    return -limit + u * (2.0 * limit);
  case GLOW_RANDOM_UNIFORM:
    return r->low + u * (r->high - r->low);
  case GLOW_RANDOM_NORMAL:
    return r->mean + r->scale * glow_inverse_normal(((double)word + 0.5) * (1.0 / 4294967296.0));
  }
  return 0;
}

void glow_tensor_fill_random(GlowTensor *t, const GlowRandom *r) {
  uint32_t words[4] = {0};
  int64_t n = glow_tensor_elements(t);
  for (int64_t i = 0; i < n; i++) {
    if (i % 4 == 0)
      glow_philox_block(r->seed, (uint64_t)i / 4, words);
    glow_tensor_set(t, i, glow_scalar_float(draw(r, words[i % 4])));
  }
}
