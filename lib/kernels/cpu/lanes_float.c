/* Element-wise operators on lanes of float. */
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

/* Gelu has one form for all lanes, so each form has a loop. All that these call is inlined. */
#define GLOW_OWN_GELU_FLOAT
__attribute__((flatten)) GLOW_LANES_FUNCTION void
glow_lanes_gelu_float(const void *m, float *restrict r, const float *restrict x0) {
  const GlowGeluMembers *members = m;
  if (members->approximate == GLOW_GELU_FORM_TANH) {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_gelu_tanhf(x0[l]);
  } else {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_geluf(x0[l]);
  }
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
