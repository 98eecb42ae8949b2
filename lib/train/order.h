/* The order in which an epoch takes its samples. It is a function of a seed and the number of the
 * epoch: a run that is resumed needs no state for it. */
#ifndef GLOW_TRAIN_ORDER_H
#define GLOW_TRAIN_ORDER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct GlowOrder {
  bool shuffled;
  uint64_t seed;   /* if shuffled */
  int64_t samples; /* below 2^32 */
  int64_t batch;
} GlowOrder;

/* How many steps an epoch has: the last samples of the order that fill no batch are left out. */
static inline int64_t glow_order_steps(const GlowOrder *o) { return o->samples / o->batch; }

/* Writes the order of an epoch to indices[0..samples): 0, 1, ..., or if it is shuffled, sorted by
 * (w, j), where w is the first Philox word of key `seed` at counter epoch * 2^32 + j. */
void glow_order_make(const GlowOrder *o, int64_t epoch, uint64_t *indices);

#endif
