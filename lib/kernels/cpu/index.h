/* Addressing by indices that have been checked. */
#ifndef GLOW_KERNELS_CPU_INDEX_H
#define GLOW_KERNELS_CPU_INDEX_H

#include "gather.h"
#include "vector.h"

/* An index into an axis of extent n, counted from the end if it is negative. */
INLINE int64_t index_at(int64_t v, int64_t n) { return v < 0 ? v + n : v; }

/* What a vector of `length` indices adds up to. Written as a macro for both kinds of indices. */
#define INDEX_OFFSET(p, at, offset)                                                                \
  UNROLL for (int k_ = 0; k_ < GLOW_INDEX_DIMS; k_++) {                                            \
    if (k_ < (p)->length)                                                                          \
      (offset) += index_at((at)[k_], (p)->limit[k_]) * (p)->stride[k_];                            \
  }

/* Where element u of the indices lies in the other buffer, at index 0 of the indexed axis. */
INLINE int64_t place_of(const GlowPickParams *p, int64_t u) {
  int64_t offset = 0;
  UNROLL for (int a = GLOW_INDEX_DIMS - 1; a >= 0; a--) {
    offset += u % p->n[a] * p->stride[a];
    u /= p->n[a];
  }
  return offset;
}

#endif
