/* Arithmetic on dims. */
#include "ir/infer/hooks.h"

GlowDim glow_dim_part(GlowDim d) {
  if (glow_dim_is_exact(d, 0))
    return d;
  return glow_dim_has_size(d) ? GLOW_BOUND(d.size) : GLOW_UNKNOWN;
}

static GlowDim sized(GlowDim a, GlowDim b, int64_t size) {
  if (a.kind == GLOW_DIM_EXACT && b.kind == GLOW_DIM_EXACT)
    return GLOW_EXACT(size);
  return GLOW_BOUND(size);
}

GlowDim glow_dim_add(GlowDim a, GlowDim b) {
  int64_t size;
  if (glow_dim_is_exact(a, 0))
    return b;
  if (glow_dim_is_exact(b, 0))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b) ||
      __builtin_add_overflow(a.size, b.size, &size))
    return GLOW_UNKNOWN;
  return sized(a, b, size);
}

GlowDim glow_dim_mul(GlowDim a, GlowDim b) {
  int64_t size;
  if (glow_dim_is_exact(a, 1) || glow_dim_is_exact(b, 0))
    return b;
  if (glow_dim_is_exact(b, 1) || glow_dim_is_exact(a, 0))
    return a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b) ||
      __builtin_mul_overflow(a.size, b.size, &size))
    return GLOW_UNKNOWN;
  return sized(a, b, size);
}

/* How much a dim says: unknown, symbol, bound, symbol with a range, exact. */
static int precision(GlowDim d) {
  static const int of[] = {
      [GLOW_DIM_EXACT] = 4, [GLOW_DIM_BOUND] = 2, [GLOW_DIM_SYMBOL] = 1, [GLOW_DIM_UNKNOWN] = 0};
  return d.extent ? 3 : of[d.kind];
}

bool glow_dim_meet(GlowDim a, GlowDim b, GlowDim *result) {
  if (precision(a) < precision(b)) {
    GlowDim swap = a;
    a = b;
    b = swap;
  }
  *result = a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return true;
  if (a.kind == GLOW_DIM_EXACT)
    return glow_dim_allows(b, a.size);
  if (a.extent)
    return a.extent->least <= b.size;
  result->size = a.size < b.size ? a.size : b.size;
  return true;
}

/* Broadcasts two extents. With an exact 1, the result is the other one. Any other exact extent is
 * the result, since an unknown one must then be equal to it or 1. */
bool glow_dim_broadcast(GlowDim a, GlowDim b, GlowDim *result) {
  *result = GLOW_UNKNOWN;
  if (glow_dim_is_exact(a, 1) || glow_dim_is_exact(b, 1)) {
    *result = glow_dim_is_exact(a, 1) ? b : a;
  } else if (a.kind == GLOW_DIM_EXACT && b.kind == GLOW_DIM_EXACT) {
    *result = a;
    return a.size == b.size;
  } else if (a.kind == GLOW_DIM_EXACT || b.kind == GLOW_DIM_EXACT) {
    *result = a.kind == GLOW_DIM_EXACT ? a : b;
  } else if (glow_dim_is_same(a, b)) {
    *result = a;
  } else if (glow_dim_has_size(a) && glow_dim_has_size(b)) {
    *result = GLOW_BOUND(a.size > b.size ? a.size : b.size);
  }
  return true;
}
