/* Addressing: by the number of an element, and by indices that have been checked. */
#ifndef GLOW_KERNELS_CPU_INDEX_H
#define GLOW_KERNELS_CPU_INDEX_H

#include "run.h"

/* An index into an axis of extent n, counted from the end if it is negative. */
INLINE int64_t index_at(int64_t v, int64_t n) { return v < 0 ? v + n : v; }

/* Adds to `offset` the place that the vector of `count` indices at `at` stands for. A macro, since
 * indices are int32_t or int64_t. */
#define INDEX_OFFSET(p, count, at, offset)                                                         \
  UNROLL for (int k_ = 0; k_ < GLOW_INDEX_DIMS; k_++) {                                            \
    if (k_ < (count))                                                                              \
      (offset) += index_at((at)[k_], (p)->limit[k_]) * (p)->stride[k_];                            \
  }

/* The offset of an element that is counted along axes of extents n, from the outermost inward. */
INLINE int64_t offset_of(int dims, const int64_t *n, const int64_t *stride, int64_t element) {
  int64_t offset = 0;
  UNROLL for (int a = dims - 1; a >= 0; a--) {
    if (n[a] == 1) /* in library code a division takes longer than all else */
      continue;
    offset += element % n[a] * stride[a];
    element /= n[a];
  }
  return offset;
}

/* MOVE for index r of a row. */
#define ONE_PICK(r, size, MOVE)                                                                    \
  MOVE(place + (r)*step + index_at(at[r], limit) * axis_stride, (u + (r)) * (size), size)

/* MOVE(picked, listed, size) for each index of type I in units [begin, end). The first two are
 * offsets in bytes. picked: of the element in the buffer that the index points into; listed: of the
 * element in the buffer that has one element for each index, in the order of the indices. */
#define EACH_PICK(p, I, indices, begin, end, size, MOVE)                                           \
  {                                                                                                \
    const int64_t inner = (p)->n[GLOW_INDEX_DIMS - 1], step = (p)->stride[GLOW_INDEX_DIMS - 1];    \
    const int64_t stop = (end) * (p)->part, limit = (p)->limit, axis_stride = (p)->axis_stride;    \
    ROLLED for (int64_t u = (begin) * (p)->part, count; u < stop; u += count) {                    \
      const int64_t left = inner - u % inner,                                                      \
                    place = offset_of(GLOW_INDEX_DIMS, (p)->n, (p)->stride, u);                    \
      const I *at = (const I *)(indices) + u;                                                      \
      count = stop - u < left ? stop - u : left;                                                   \
      int64_t r = 0;                                                                               \
      ROLLED for (; r + 4 <= count; r += 4){                                                       \
          ONE_PICK(r, size, MOVE) ONE_PICK(r + 1, size, MOVE) ONE_PICK(r + 2, size, MOVE)          \
              ONE_PICK(r + 3, size, MOVE)} ROLLED for (; r < count; r++) ONE_PICK(r, size, MOVE)   \
    }                                                                                              \
  }

#endif
