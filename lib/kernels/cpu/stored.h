/* Floats that are stored in 16 bits, float16 or bfloat16. Stored floats round to even, as Cast
 * does; the machine's own conversions give the same bits. */
#ifndef GLOW_KERNELS_CPU_STORED_H
#define GLOW_KERNELS_CPU_STORED_H

#include "kernels/kernels.h"
#include "num/half.h"

typedef uint16_t GlowStored __attribute__((vector_size(GLOW_VL * 2), aligned(2)));
typedef uint32_t GlowStoredBits __attribute__((vector_size(GLOW_VL * 4), aligned(4)));

#if defined(__F16C__) || defined(__aarch64__)
typedef _Float16 GlowHalves __attribute__((vector_size(GLOW_VL * 2), aligned(2)));
INLINE GlowVec halves_to_vec(GlowStored h) {
  return __builtin_convertvector((GlowHalves)h, GlowVec);
}
INLINE GlowStored vec_to_halves(GlowVec v) {
  return (GlowStored) __builtin_convertvector(v, GlowHalves);
}
#else
INLINE GlowVec halves_to_vec(GlowStored h) {
  GlowVec v;
  ROLLED for (int l = 0; l < GLOW_VL; l++) v[l] = glow_half_to_float(h[l]);
  return v;
}
INLINE GlowStored vec_to_halves(GlowVec v) {
  GlowStored h;
  ROLLED for (int l = 0; l < GLOW_VL; l++) h[l] = glow_half_from_float(v[l]);
  return h;
}
#endif

INLINE GlowVec bfloats_to_vec(GlowStored h) {
  return (GlowVec)(__builtin_convertvector(h, GlowStoredBits) << 16);
}
/* glow_bfloat_from_float. */
INLINE GlowStored vec_to_bfloats(GlowVec v) {
  const GlowStoredBits u = (GlowStoredBits)v, nan = (GlowStoredBits)(v != v);
  const GlowStoredBits even = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
  return __builtin_convertvector((quiet & nan) | (even & ~nan), GlowStored);
}

/* Loads `count` elements, whole blocks of channels, as floats. */
INLINE void widen(float *to, const uint16_t *from, int64_t count, int64_t element) {
  if (element == GLOW_CONV_ELEMENT_HALF) {
    ROLLED for (int64_t i = 0; i < count; i += GLOW_VL)
        vec_store(to + i, halves_to_vec(*(const GlowStored *)(from + i)));
    return;
  }
  ROLLED for (int64_t i = 0; i < count; i += GLOW_VL)
      vec_store(to + i, bfloats_to_vec(*(const GlowStored *)(from + i)));
}

/* Stores as many floats. */
INLINE void narrow(uint16_t *to, const float *from, int64_t count, int64_t element) {
  if (element == GLOW_CONV_ELEMENT_HALF) {
    ROLLED for (int64_t i = 0; i < count; i += GLOW_VL) * (GlowStored *)(to + i) =
        vec_to_halves(vec_load(from + i));
    return;
  }
  ROLLED for (int64_t i = 0; i < count; i += GLOW_VL) * (GlowStored *)(to + i) =
      vec_to_bfloats(vec_load(from + i));
}

/* The same of `pixels` blocks of channels, which are `step` elements apart where they are stored
 * and side by side as floats. */
INLINE void widen_pixels(float *to, const uint16_t *from, int64_t step, int64_t pixels,
                         int64_t element) {
  const int64_t run = step == GLOW_CONV_BLOCK ? pixels : 1;
  ROLLED for (int64_t i = 0; i < pixels; i += run)
      widen(to + i * GLOW_CONV_BLOCK, from + i * step, run * GLOW_CONV_BLOCK, element);
}
INLINE void narrow_pixels(uint16_t *to, int64_t step, const float *from, int64_t pixels,
                          int64_t element) {
  const int64_t run = step == GLOW_CONV_BLOCK ? pixels : 1;
  ROLLED for (int64_t i = 0; i < pixels; i += run)
      narrow(to + i * step, from + i * GLOW_CONV_BLOCK, run * GLOW_CONV_BLOCK, element);
}

#endif
