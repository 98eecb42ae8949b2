/* Threads that share work, as they may be at worst, on one thread: pieces in any order, of any
 * number of shards, each by any worker. Kernels must not care. */
#ifndef GLOW_TEST_UNIT_ANY_ORDER_H
#define GLOW_TEST_UNIT_ANY_ORDER_H

#include "glow/rt.h"

enum { ANY_ORDER_WORKERS = 3, ANY_ORDER_MOST = 4096 };

static inline uint32_t any_order_draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static inline void any_order_run(const GlowParallel *parallel, GlowPieceFn *piece,
                                 void *const *ptrs, int64_t units, int64_t shards) {
  static int64_t begin[ANY_ORDER_MOST + 1];
  uint32_t *state = parallel->pool, count = 0;
  shards = shards > units ? units : shards > ANY_ORDER_MOST ? ANY_ORDER_MOST : shards;
  for (int64_t i = 0; i < shards; i += 1 + any_order_draw(state, 3))
    begin[count++] = units * i / shards;
  begin[count] = units;
  static uint32_t order[ANY_ORDER_MOST];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t k = any_order_draw(state, i + 1);
    order[i] = order[k];
    order[k] = i;
  }
  for (uint32_t i = 0; i < count; i++)
    piece(ptrs, begin[order[i]], begin[order[i] + 1], any_order_draw(state, ANY_ORDER_WORKERS));
}

/* state: any number, which the caller keeps. */
static inline GlowParallel any_order(uint32_t *state) {
  return (GlowParallel){any_order_run, state, ANY_ORDER_WORKERS};
}

#endif
