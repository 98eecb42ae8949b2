/* Arithmetic on dims, which may be exact, bounded, symbolic or unknown. Results are as exact as can
 * be proved. */
#ifndef GLOW_IR_DIMS_H
#define GLOW_IR_DIMS_H

#include "tensor/type.h"

/* Whether d has a largest extent, d.size, and may be smaller. */
static inline bool glow_dim_is_open(GlowDim d) {
  return d.kind != GLOW_DIM_EXACT && glow_dim_has_size(d);
}
/* floor((d * mul + add) / div) of an extent whose size becomes `size` by that: exact if d is, a
 * definition if d is a symbol with a range, else at most `size`. Values below `least` do not occur.
 * div is above 0. */
GlowDim glow_dim_affine(GlowDim d, int64_t mul, int64_t add, int64_t div, int64_t least,
                        int64_t size);
/* An extent of at most `d`: that of an unknown part of an axis. */
GlowDim glow_dim_part(GlowDim d);
/* Arithmetic on extents. Of exact ones it is exact, and a symbol with a range gives a symbol with a
 * definition; else the result has a bound, or is unknown where none follows or numbers overflow. A
 * difference below 0 is none of an extent. A quotient is rounded down; b is above 0. */
GlowDim glow_dim_add(GlowDim a, GlowDim b);
GlowDim glow_dim_sub(GlowDim a, GlowDim b);
GlowDim glow_dim_mul(GlowDim a, GlowDim b);
GlowDim glow_dim_div(GlowDim a, GlowDim b);
GlowDim glow_dim_min(GlowDim a, GlowDim b);
GlowDim glow_dim_max(GlowDim a, GlowDim b);
/* Whether both are the same number for certain, whatever symbols are: by their names or by what
 * they follow from. */
bool glow_dim_agrees(GlowDim a, GlowDim b);
/* Sets *result to the narrowest extent that agrees with both. False if they contradict. */
bool glow_dim_meet(GlowDim a, GlowDim b, GlowDim *result);
bool glow_dim_broadcast(GlowDim a, GlowDim b, GlowDim *result);

#endif
