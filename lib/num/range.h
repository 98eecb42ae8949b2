/* The state of ObserveRange: GLOW_RANGE_SIZE numbers of 64 bits, all 0 before the first element.
 *
 * Bin i counts the elements v with floor(v * 2^(11 - e)) = i - 2048: there are 2048 bins on each
 * side of 0, and they reach from -2^e to 2^e, where e is the smallest exponent from -126 on that
 * all elements allow. Where a larger element raises e by one, neighbouring bins become one. So a
 * state does not depend on the order of the elements. The sign of a zero does not count. */
#ifndef GLOW_NUM_RANGE_H
#define GLOW_NUM_RANGE_H

enum {
  GLOW_RANGE_SIDE_LOG2 = 11,
  GLOW_RANGE_SIDE = 1 << GLOW_RANGE_SIDE_LOG2,
  GLOW_RANGE_BINS = 2 * GLOW_RANGE_SIDE,
  GLOW_RANGE_COUNT = GLOW_RANGE_BINS, /* how many finite elements there were */
  GLOW_RANGE_EXPONENT,                /* e; 0 if there was none */
  GLOW_RANGE_MIN,                     /* the bits of the smallest one as a float; */
  GLOW_RANGE_MAX,                     /* of the largest one */
  GLOW_RANGE_NAN,                     /* how many elements were NaN, */
  GLOW_RANGE_INF,                     /* or infinite */
  GLOW_RANGE_SIZE = GLOW_RANGE_BINS + 8
};

#define GLOW_RANGE_LEAST_EXPONENT (-126)
#define GLOW_RANGE_MOST_EXPONENT 128

#endif
