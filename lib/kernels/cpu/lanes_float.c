/* Element-wise operators on lanes of float. */
#define GLOW_BLOCK_FORMS
#include "exp.h"
#include "lanes.h"

GlowVec glow_lanes_weight(GlowVec x);

/* Exp, where a machine has more than the loop over the scalar body would use. */
#define GLOW_OWN_EXP_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_exp_float(const void *m, float *restrict r,
                                              const float *restrict x0) {
  (void)m;
  vec_store(r, vec_exp(vec_load(x0), false));
}

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
