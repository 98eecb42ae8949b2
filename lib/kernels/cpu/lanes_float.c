/* Element-wise operators on lanes of float. */
#include "lanes.h"

GlowVec glow_lanes_weight(GlowVec x);

#define GLOW_LANES_FLOAT
#include "ops/vector.inc"

/* What attention weighs values with. */
__attribute__((always_inline)) GlowVec glow_lanes_weight(GlowVec x) {
  float in[GLOW_VL], out[GLOW_VL];
  __builtin_memcpy(in, &x, sizeof in);
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) out[l] = glow_weightf(in[l]);
  GlowVec y;
  __builtin_memcpy(&y, out, sizeof out);
  return y;
}
