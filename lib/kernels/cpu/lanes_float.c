/* Element-wise operators on lanes of float. */
#define GLOW_BLOCK_FORMS
#define GLOW_BLOCK_FLAT
#include "exp.h"
#include "lanes.h"

#include "num/math_trig.h"
#include "num/remainder.h"

GlowVec glow_lanes_weight(GlowVec x);

/* Exp, where a machine has more than the loop over the scalar body would use. */
#define GLOW_OWN_EXP_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_exp_float(const void *m, float *restrict r,
                                              const float *restrict x0) {
  (void)m;
  vec_store(r, vec_exp(vec_load(x0), false));
}

/* glow_sin_shifted_f (num/math_trig.h) below 2^30, where no bits of 2 / pi are needed: most of the
 * steps of the function are those for larger arguments. */
static inline float sin_near(float x, uint32_t shift) {
  const double a = (double)glow_fabsf(x);
  const double shifted = glow_fma(a, GLOW_TWO_OVER_PI, GLOW_MAGIC), n = shifted - GLOW_MAGIC;
  const double angle = glow_fma(n, -GLOW_PIO2_LO, glow_fma(n, -GLOW_PIO2, a));
  const uint32_t q = (uint32_t)glow_double_bits(shifted) + shift;
  const float r = (float)(q & 1 ? glow_cos_short(angle) : glow_sin_short(angle));
  return q & 2 ? -r : r;
}

/* Whether no lane is 2^30 or more in magnitude, or NaN. */
static inline bool all_near(const float *x) {
  return !__builtin_reduce_or(((GlowVecI)vec_load(x) & 0x7fffffff) >= 0x4e800000);
}

#define GLOW_OWN_SIN_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_sin_float(const void *m, float *restrict r,
                                              const float *restrict x0) {
  if (all_near(x0)) {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) {
      const uint32_t sign = glow_float_bits(x0[l]) & 0x80000000u;
      r[l] = glow_float_from_bits(glow_float_bits(sin_near(x0[l], 0)) ^ sign);
    }
  } else {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_scalar_sin_float(m, x0[l]);
  }
}

#define GLOW_OWN_COS_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_cos_float(const void *m, float *restrict r,
                                              const float *restrict x0) {
  if (all_near(x0))
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = sin_near(x0[l], 1);
  else
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_scalar_cos_float(m, x0[l]);
}

/* glow_fmod_f and glow_mod_f (num/math.h); a register with a quotient that is far takes them. */
#define GLOW_OWN_MOD_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_mod_float(const void *m, float *restrict r,
                                              const float *restrict x0, const float *restrict x1) {
  const bool fmod = ((const GlowModMembers *)m)->fmod;
  int32_t far = 0;
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) far |= !glow_quotient_is_near(x0[l], x1[l]);
  if (far) {
    ROLLED for (int l = 0; l < GLOW_VL; l++) r[l] = glow_scalar_mod_float(m, x0[l], x1[l]);
  } else if (fmod) {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_fmod_near(x0[l], x1[l]);
  } else {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) {
      const float z = glow_fmod_near(x0[l], x1[l]);
      r[l] = z == 0 ? glow_copysignf(z, x1[l]) : (z < 0) != (x1[l] < 0) ? z + x1[l] : z;
    }
  }
}

/* Cubes are a product of doubles in Pow, too. Library code asks for them; compiled code knows. */
#ifdef GLOW_LIBRARY
#define GLOW_OWN_POW_FLOAT
static inline float cube(float x) {
  const double d = (double)x;
  return x == x ? (float)(d * d * d) : x + 3.0f;
}
GLOW_LANES_FUNCTION void glow_lanes_pow_float(const void *m, float *restrict r,
                                              const float *restrict x0, const float *restrict x1) {
  const GlowVecI cubes = vec_load(x1) == 3.0f;
  if (__builtin_reduce_and(cubes)) {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = cube(x0[l]);
  } else {
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = glow_scalar_pow_float(m, x0[l], x1[l]);
  }
}
#endif

/* A choice between the signs that are looked for would be a branch for each register. */
#ifdef GLOW_LIBRARY
#define GLOW_OWN_IS_INF_FLOAT
GLOW_LANES_FUNCTION void glow_lanes_is_inf_float(const void *m, uint8_t *restrict r,
                                                 const float *restrict x0) {
  const GlowIsInfMembers *signs = m;
  const uint32_t flip = signs->positive ? 0 : 0x80000000u; /* what is looked for is positive */
  const uint32_t kept = !(signs->positive || signs->negative) ? 0 : 0xffffffffu;
  const uint32_t mask = signs->positive && signs->negative ? 0x7fffffffu : kept;
  const uint8_t yes = lane_true();
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =
      ((glow_float_bits(x0[l]) ^ flip) & mask) == 0x7f800000u ? yes : 0;
}
#endif

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
