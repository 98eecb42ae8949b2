/* Arithmetic on floats that stand for bfloat16 numbers (num/bf16.h), of registers: rounding, and
 * sums in which denormals are zeros. x86 makes them zeros itself in the mode that is set while sums
 * are computed; other machines look at each result. */
#ifndef GLOW_KERNELS_CPU_BF16_H
#define GLOW_KERNELS_CPU_BF16_H

#include "num/bf16.h"
#include "vector.h"

#if defined(__x86_64__) && GLOW_HAS_FMA
#define FLUSHES 1 /* the machine has a mode in which denormals are zeros */
#else
#define FLUSHES 0
#endif

INLINE GlowVecI splat_bits(uint32_t u) {
  GlowVecI v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = (int32_t)u;
  return v;
}

/* Zeros for denormal lanes. */
INLINE GlowVecI flush(GlowVecI u) {
  const GlowVecI normal = (u & splat_bits(0x7f800000)) != 0;
  return u & (normal | splat_bits(0x80000000));
}

/* glow_bf16_round. */
INLINE GlowVecI round_lanes(GlowVecI u) {
  const GlowVecI nan = (u & splat_bits(0x7fffffff)) > splat_bits(0x7f800000);
  const GlowVecI rounded = u + splat_bits(0x7fff) + (u >> 16 & 1);
  return flush(((rounded & ~nan) | ((u | splat_bits(0x400000)) & nan)) & splat_bits(0xffff0000));
}

/* ---- Sums ------------------------------------------------------------------------------------ */

#if FLUSHES
enum { DENORMALS_ARE_ZEROS = 0x40, FLUSH_TO_ZERO = 0x8000 };
/* Sets the mode; returns the one before. No access to memory moves to the other side of the fence,
 * so no arithmetic on numbers from memory does. */
INLINE uint32_t begin_flushing(void) {
  const uint32_t mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | DENORMALS_ARE_ZEROS | FLUSH_TO_ZERO);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return mode;
}
INLINE void end_flushing(uint32_t mode) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __builtin_ia32_ldmxcsr(mode);
}
INLINE GlowVec chain(GlowVec a, GlowVec b, GlowVec c) { return vec_fma(a, b, c); }
INLINE GlowVec add(GlowVec a, GlowVec b) { return a + b; }
INLINE GlowVec weights(GlowVecI w) { return (GlowVec)w; }
#else
INLINE uint32_t begin_flushing(void) { return 0; }
INLINE void end_flushing(uint32_t mode) { (void)mode; }
/* glow_bf16_fma. */
APART GlowVec chain(GlowVec a, GlowVec b, GlowVec c) {
  typedef uint32_t Bits __attribute__((vector_size(GLOW_VL * 4)));
  GlowVec r = vec_fma(a, b, c);
  const Bits u = (Bits)((GlowVecI)r & splat_bits(0x7fffffff)) - 1;
  const GlowVecI low = (GlowVecI)(u < (uint32_t)GLOW_BF16_LEAST);
  int32_t any = 0;
  UNROLL for (int l = 0; l < GLOW_VL; l++) any |= low[l];
  if (any) {
    ROLLED for (int l = 0; l < GLOW_VL; l++) r[l] =
        low[l] ? glow_bf16_low(r[l], a[l], b[l], c[l]) : r[l];
  }
  return r;
}
INLINE GlowVec add(GlowVec a, GlowVec b) { return (GlowVec)flush((GlowVecI)(a + b)); }
INLINE GlowVec weights(GlowVecI w) { return (GlowVec)flush(w); }
#endif

#endif
