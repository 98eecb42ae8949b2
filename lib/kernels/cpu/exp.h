/* e^x of a register: the bits of glow_expf. `near`: x is a number between -87 and 87. */
#ifndef GLOW_KERNELS_CPU_EXP_H
#define GLOW_KERNELS_CPU_EXP_H

#include "vector.h"

#include "num/math_float.h"

#define VECTOR_LANES                                                                               \
  _Pragma(                                                                                         \
      "clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL)") for (int l = 0; \
                                                                                        l <        \
                                                                                        GLOW_VL;   \
                                                                                        l++)

#if defined(__AVX512DQ__) && GLOW_VL == 16
/* The steps of glow_expf. Where a result may be no normal number, one instruction multiplies by a
 * power of two: it takes any exponent and rounds once, so no clamps are needed. The rest of the
 * argument is limited to 1 in magnitude, which it exceeds only where the result is 0 or infinite
 * whatever it is; a NaN comes back through the exponent. */
INLINE GlowVec vec_exp(GlowVec x, bool near) {
  typedef float Whole __attribute__((vector_size(64)));
  const GlowVec magic = vec_splat(GLOW_MAGIC_F), one = vec_splat(1.0f);
  const GlowVec shifted = vec_fma(x, vec_splat(GLOW_LOG2E_F), magic), n = shifted - magic;
  GlowVec r = vec_fma(n, vec_splat(-GLOW_LN2_HI_F), x), p = vec_splat(GLOW_EXP6_F);
  r = vec_fma(n, vec_splat(-GLOW_LN2_LO_F), r);
  if (!near)
    r = __builtin_ia32_rangeps512_mask((Whole)r, (Whole)one, 2, (Whole)r, -1, 4);
  p = vec_fma(p, r, vec_splat(GLOW_EXP5_F));
  p = vec_fma(p, r, vec_splat(GLOW_EXP4_F));
  p = vec_fma(p, r, vec_splat(GLOW_EXP3_F));
  p = vec_fma(p, r, vec_splat(GLOW_EXP2_F));
  p = vec_fma(vec_fma(p, r, one), r, one);
  if (near)
    return (GlowVec)((GlowVecI)p + ((GlowVecI)shifted << 23));
  return __builtin_ia32_scalefps512_mask((Whole)p, (Whole)n, (Whole)p, -1, 4);
}
#else
INLINE GlowVec vec_exp(GlowVec x, bool near) {
  float in[GLOW_VL], out[GLOW_VL];
  __builtin_memcpy(in, &x, sizeof in);
  if (near)
    VECTOR_LANES out[l] = glow_exp_normal_f(in[l]);
  else
    VECTOR_LANES out[l] = glow_expf(in[l]);
  return vec_load(out);
}
#endif

#endif
