/* Arithmetic on dims. */
#include "ir/infer/hooks.h"

/* Whether both are certainly the same extent. */
static bool is_same(GlowDim a, GlowDim b) {
  if (a.kind != b.kind)
    return false;
  return a.kind == GLOW_DIM_EXACT ? a.size == b.size
                                  : a.kind == GLOW_DIM_SYMBOL && a.symbol == b.symbol;
}

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

bool glow_dim_meet(GlowDim a, GlowDim b, GlowDim *result) {
  static const int precision[] = {
      [GLOW_DIM_EXACT] = 3, [GLOW_DIM_BOUND] = 2, [GLOW_DIM_SYMBOL] = 1, [GLOW_DIM_UNKNOWN] = 0};
  if (precision[a.kind] < precision[b.kind]) {
    GlowDim swap = a;
    a = b;
    b = swap;
  }
  *result = a;
  if (!glow_dim_has_size(a) || !glow_dim_has_size(b))
    return true;
  if (a.kind == GLOW_DIM_BOUND)
    result->size = a.size < b.size ? a.size : b.size;
  return a.kind == GLOW_DIM_BOUND ||
         (b.kind == GLOW_DIM_BOUND ? a.size <= b.size : a.size == b.size);
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
  } else if (glow_dim_has_size(a) && glow_dim_has_size(b)) {
    *result = GLOW_BOUND(a.size > b.size ? a.size : b.size);
  } else if (is_same(a, b)) {
    *result = a;
  }
  return true;
}

const char *glow_dim_str(GlowContext *ctx, GlowDim d) {
  if (d.kind == GLOW_DIM_SYMBOL)
    return glow_arena_printf(ctx->arena, "$%s", d.symbol);
  if (d.kind == GLOW_DIM_UNKNOWN)
    return "?";
  return glow_arena_printf(ctx->arena, "%s%lld", d.kind == GLOW_DIM_BOUND ? ".." : "",
                           (long long)d.size);
}
