/* Elements of an operand that may be of any kind of floats, a GlowGridElement. */
#ifndef GLOW_KERNELS_CPU_GRID_ELEMENT_H
#define GLOW_KERNELS_CPU_GRID_ELEMENT_H

#include "kernels/kernels.h"
#include "num/half.h"

INLINE int64_t grid_bytes(int64_t element) {
  return element == GLOW_GRID_ELEMENT_FLOAT ? 4 : element == GLOW_GRID_ELEMENT_DOUBLE ? 8 : 2;
}

/* Number i at `from`. */
INLINE double grid_number(int64_t element, const void *from, int64_t i) {
  return element == GLOW_GRID_ELEMENT_FLOAT    ? (double)((const float *)from)[i]
         : element == GLOW_GRID_ELEMENT_DOUBLE ? ((const double *)from)[i]
         : element == GLOW_GRID_ELEMENT_HALF
             ? (double)glow_half_to_float(((const uint16_t *)from)[i])
             : (double)glow_bfloat_to_float(((const uint16_t *)from)[i]);
}

#endif
