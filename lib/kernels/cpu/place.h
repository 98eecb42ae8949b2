/* Places in nested loops, counted up from one to the next: in library code the divisions that find
 * a place by its number take longer than a short row. */
#ifndef GLOW_KERNELS_CPU_PLACE_H
#define GLOW_KERNELS_CPU_PLACE_H

#include "kernels/kernels.h"

/* i / n and i % n, of which n is mostly 1, or i 0. */
INLINE int64_t whole_of(int64_t i, int64_t n) { return n == 1 || !i ? i : i / n; }
INLINE int64_t part_of(int64_t i, int64_t n) { return n == 1 || !i ? 0 : i % n; }

enum { PLACE_DIMS = 8 };

/* The number of each loop, the outermost first, and the offsets that they add up to in two buffers.
 */
typedef struct Place {
  int64_t at[PLACE_DIMS], to, from;
} Place;

/* Place number `number` of `dims` loops, a literal, of n steps each; strides of both buffers, or
 * NULL. */
INLINE Place place_of(int dims, const int64_t *n, const int64_t *to, const int64_t *from,
                      int64_t number) {
  Place place = {{0}, 0, 0};
  UNROLL for (int d = dims - 1; d >= 0; d--) {
    if (n[d] == 1 || !number)
      continue;
    place.at[d] = number % n[d];
    place.to += to ? place.at[d] * to[d] : 0;
    place.from += from ? place.at[d] * from[d] : 0;
    number /= n[d];
  }
  return place;
}

/* The place behind; behind the last one stands the first one. */
INLINE void next_place(int dims, const int64_t *n, const int64_t *to, const int64_t *from,
                       Place *place) {
  bool full = true;
  UNROLL for (int d = dims - 1; d >= 0; d--) {
    if (!full || n[d] == 1)
      continue;
    full = ++place->at[d] == n[d];
    const int64_t steps = full ? 1 - n[d] : 1;
    place->to += to ? steps * to[d] : 0;
    place->from += from ? steps * from[d] : 0;
    place->at[d] = full ? 0 : place->at[d];
  }
}

#endif
