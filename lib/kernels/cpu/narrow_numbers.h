/* The numbers that finish sums of narrow integers: factors, terms and limits. */
#ifndef GLOW_KERNELS_CPU_NARROW_NUMBERS_H
#define GLOW_KERNELS_CPU_NARROW_NUMBERS_H

#include "kernels/params.h"

#include "vector.h"

/* Compiled code has these functions once, not once for each piece of work. */
#define NARROW_APART static __attribute__((noinline))

typedef uint8_t NarrowU8 __attribute__((vector_size(GLOW_VL), aligned(1)));

INLINE GlowVecI narrow_splat(int32_t v) { return (GlowVecI){0} + v; }

INLINE float narrow_float(int64_t bits) {
  const int32_t b = (int32_t)bits;
  float f;
  __builtin_memcpy(&f, &b, sizeof f);
  return f;
}

/* min(max(t, low), high), where NaN stays and equals keep t's sign. */
INLINE GlowVec narrow_between(GlowVec t, float least, float most) {
  const GlowVec low = vec_splat(least), high = vec_splat(most);
  const GlowVecI below = low > t;
  t = (GlowVec)(((GlowVecI)low & below) | ((GlowVecI)t & ~below));
  const GlowVecI above = high < t;
  return (GlowVec)(((GlowVecI)high & above) | ((GlowVecI)t & ~above));
}

/* A float in the range of a few hundreds, rounded to the nearest even, plus `offset`: adding
 * 1.5 * 2^23 leaves the integer in the low bits. */
INLINE GlowVecI narrow_rounded(GlowVec t, int32_t offset) {
  return (GlowVecI)(t + vec_splat(0x1.8p23f)) + narrow_splat(offset - 0x4b400000);
}

/* The same, and `offset` of a NaN. */
INLINE GlowVecI narrow_rounded_any(GlowVec t, int32_t offset) {
  const GlowVecI is = t == t;
  return (narrow_rounded(t, offset) & is) | (narrow_splat(offset) & ~is);
}

NARROW_APART bool narrow_finite(const float *v, int64_t count) {
  bool finite = true;
  ROLLED for (int64_t i = 0; i < count; i++) finite &= v[i] - v[i] == 0;
  return finite;
}

/* Whether a factor and a term are so small that results fit in i32 when they are rounded. */
#define NARROW_FITS(scale, bias)                                                                   \
  (((scale) > -0.25f) & ((scale) < 0.25f) & ((bias) > -0x1p29f) & ((bias) < 0x1p29f))
INLINE bool narrow_fits(float scale, float bias) { return NARROW_FITS(scale, bias); }

/* A limit as a byte: rounded, moved by `offset`, within [0, 255]. */
INLINE uint8_t narrow_limit(float limit, int32_t offset) {
  const int32_t v = (int32_t)__builtin_rintf(limit) + offset;
  return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* ---- Bytes in whole registers ---------------------------------------------------------------- */

/* Four registers of floats become one of bytes, rounded to the nearest even. Packing makes 0 of
 * what is below: signed results are 128 larger meanwhile. */
#if defined(__AVX512BW__) && GLOW_VL == 16
#define NARROW_PACKS 1
#define NARROW_BUILTIN(name) __builtin_ia32_##name##512
#elif defined(__AVX2__) && GLOW_VL == 8
#define NARROW_PACKS 1
#define NARROW_BUILTIN(name) __builtin_ia32_##name##256
#else
#define NARROW_PACKS 0
#endif

#if NARROW_PACKS
typedef uint8_t NarrowBytes __attribute__((vector_size(GLOW_VL * 4), aligned(1)));
typedef int16_t NarrowWords __attribute__((vector_size(GLOW_VL * 4)));
typedef int32_t NarrowInts __attribute__((vector_size(GLOW_VL * 4)));

/* How floats become bytes, where their limits are within +-1024. What compiled code has as
 * constants, and the numbers: what is added to floats, and limits as bytes. */
typedef struct NarrowPack {
  bool is_signed, bounded;
  NarrowWords move;
  NarrowBytes low, high;
} NarrowPack;

INLINE NarrowPack narrow_pack_of(bool is_signed, bool bounded, const GlowNarrowNumbers *n) {
  const int32_t moved = (int32_t)n->offset + (is_signed ? 128 : 0);
  NarrowPack p = {.is_signed = is_signed, .bounded = bounded};
  p.move = (NarrowWords){0} + (int16_t)moved;
  if (bounded) {
    p.low = (NarrowBytes){0} + narrow_limit(narrow_float(n->low), moved);
    p.high = (NarrowBytes){0} + narrow_limit(narrow_float(n->high), moved);
  }
  return p;
}

INLINE NarrowInts narrow_to_ints(GlowVec t) {
  typedef float Floats __attribute__((vector_size(GLOW_VL * 4)));
#if GLOW_VL == 16
  return (NarrowInts)__builtin_ia32_cvtps2dq512_mask((Floats)t, (NarrowInts){0}, 0xffff, 4);
#else
  return (NarrowInts)__builtin_ia32_cvtps2dq256((Floats)t);
#endif
}

/* The bytes of 16 bytes of each register after the other. */
INLINE NarrowBytes narrow_pack(const NarrowPack *p, const NarrowInts *q) {
  NarrowWords words[2];
  UNROLL for (int i = 0; i < 2; i++) words[i] = __builtin_elementwise_add_sat(
      (NarrowWords)NARROW_BUILTIN(packssdw)(q[2 * i], q[2 * i + 1]), p->move);
  NarrowBytes b = (NarrowBytes)NARROW_BUILTIN(packuswb)(words[0], words[1]);
  if (p->bounded)
    b = __builtin_elementwise_min(__builtin_elementwise_max(b, p->low), p->high);
  return p->is_signed ? b ^ 0x80 : b;
}
#endif

#endif
