/* Addressing: by the number of an element, and by indices that have been checked. */
#ifndef GLOW_KERNELS_CPU_INDEX_H
#define GLOW_KERNELS_CPU_INDEX_H

#include "place.h"
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

enum { ROWS = GLOW_INDEX_DIMS - 1 }; /* the axes of rows; the last one is along them */

/* MOVE for index r of a row. */
#define ONE_PICK(r, size, steps, stride, MOVE)                                                     \
  MOVE(place + (r) * (steps) + index_at(at[r], limit) * (stride), (u + (r)) * (size), size)
#define ROW_OF_PICKS(size, steps, stride, MOVE)                                                    \
  {                                                                                                \
    int64_t r = 0;                                                                                 \
    ROLLED for (; r + 4 <= count; r += 4){                                                         \
        ONE_PICK(r, size, steps, stride, MOVE) ONE_PICK(r + 1, size, steps, stride, MOVE)          \
            ONE_PICK(r + 2, size, steps, stride, MOVE)                                             \
                ONE_PICK(r + 3, size, steps, stride, MOVE)} ROLLED for (; r < count; r++)          \
        ONE_PICK(r, size, steps, stride, MOVE)                                                     \
  }

#define IS_KNOWN(size) (__builtin_constant_p(size) && (size) >= 4)

/* MOVE(picked, listed, size) for each index of type I in units [begin, end). The first two are
 * offsets in bytes. picked: of the element in the buffer that the index points into; listed: of the
 * element in the buffer that has one element for each index, in the order of the indices. */
#define EACH_PICK(p, I, indices, begin, end, size, MOVE)                                           \
  {                                                                                                \
    const GlowPickParams q = *(p); /* what is moved may alias the others */                        \
    const int64_t inner = q.n[ROWS], step = q.stride[ROWS];                                        \
    const int64_t stop = (end)*q.part, limit = q.limit, axis_stride = q.axis_stride;               \
    int64_t first = (begin) ? (begin)*q.part % inner : 0;                                          \
    Place row = place_of(ROWS, q.n, q.stride, NULL, (begin) ? (begin)*q.part / inner : 0);         \
    ROLLED for (int64_t u = (begin)*q.part, count; u < stop; u += count, first = 0) {              \
      const int64_t place = row.to + first * step;                                                 \
      const I *at = (const I *)(indices) + u;                                                      \
      count = stop - u < inner - first ? stop - u : inner - first;                                 \
      if (IS_KNOWN(size) && step == 0 && axis_stride == (size)) /* along rows */                   \
        ROW_OF_PICKS(size, 0, size, MOVE)                                                          \
      else                                                                                         \
        ROW_OF_PICKS(size, step, axis_stride, MOVE)                                                \
      next_place(ROWS, q.n, q.stride, NULL, &row);                                                 \
    }                                                                                              \
  }

#endif
