/* float8 and float4 by element kind, over the codec in num/half.h. A double is rounded to odd to a
 * float, then to nearest even to the kind. The result is as if rounded once. */
#include "num/half.h"
#include "tensor/element.h"

float glow_small_float_decode(GlowKind kind, uint8_t bits) {
  if (kind == GLOW_KIND_FLOAT8E8M0)
    return glow_e8m0_to_float(bits);
  return glow_small_to_float(glow_small_format(kind), bits);
}

uint8_t glow_small_float_encode(GlowKind kind, double v, bool saturate) {
  float f = glow_float_odd(v);
  if (kind == GLOW_KIND_FLOAT8E8M0)
    return glow_e8m0_from_float(f, saturate);
  return glow_small_from_float(glow_small_format(kind), f, saturate);
}
