/* Vector types of the target.
 *
 * Kernels are freestanding: no libc, nothing but clang's own headers. GLOW_VL (floats in a
 * register), GLOW_TILE_PIXELS and GLOW_TILE_VECTORS come from the row of isa.def. All floating
 * point is explicit: fma is written as fma, nothing is contracted, so every target computes the
 * same bits. */
#ifndef GLOW_KERNELS_CPU_VECTOR_H
#define GLOW_KERNELS_CPU_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num/fma.h"

#if !defined(GLOW_VL) || !defined(GLOW_TILE_PIXELS) || !defined(GLOW_TILE_VECTORS)
#error "the columns of isa.def must be given as macros"
#endif

#define INLINE static inline __attribute__((always_inline))
/* A function of its own in library code, lest its callers and what they call share the registers;
 * a part of them in compiled code. */
#ifdef GLOW_LIBRARY
#define APART static __attribute__((noinline))
enum { IN_LIBRARY = 1 };
#else
#define APART INLINE
enum { IN_LIBRARY = 0 };
#endif
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable) vectorize(disable)")

/* One register of floats; memory need not be aligned. */
typedef float GlowVec __attribute__((vector_size(GLOW_VL * 4), aligned(4)));
typedef int32_t GlowVecI __attribute__((vector_size(GLOW_VL * 4), aligned(4)));

INLINE GlowVec vec_splat(float s) {
  GlowVec v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = s;
  return v;
}
/* One number in the first half of the lanes, another in the second. */
INLINE GlowVec vec_halves(float first, float second) {
  GlowVec v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = l < GLOW_VL / 2 ? first : second;
  return v;
}
INLINE GlowVec vec_load(const float *p) { return *(const GlowVec *)p; }
INLINE void vec_store(float *p, GlowVec v) { *(GlowVec *)p = v; }
#if GLOW_HAS_FMA
INLINE GlowVec vec_fma(GlowVec a, GlowVec b, GlowVec c) {
  return __builtin_elementwise_fma(a, b, c);
}
#else
/* glow_fmaf_soft (num/fma.h) on all lanes. */
INLINE GlowVec vec_fma(GlowVec a, GlowVec b, GlowVec c) {
  typedef double Wide __attribute__((vector_size(GLOW_VL * 8)));
  typedef int64_t WideI __attribute__((vector_size(GLOW_VL * 8)));
  Wide p = __builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide);
  Wide z = __builtin_convertvector(c, Wide), s = p + z, t = s - p;
  Wide error = (p - (s - t)) + (z - t);
  WideI u = (WideI)s, inexact = (WideI)((error > 0) | (error < 0));
  WideI inwards = (WideI)((error > 0) ^ (s > 0)); /* -1, or 0: outwards */
  u += inexact & ((u & 1) - 1) & (1 + 2 * inwards);
  return __builtin_convertvector((Wide)u, GlowVec);
}
#endif

/* Returns v and emits nothing. In library code no load moves up from behind it to before it, which
 * would take a register; code generation has no mind to. */
INLINE GlowVec vec_now(GlowVec v) {
#if defined(__x86_64__) && defined(GLOW_LIBRARY)
  __asm__ volatile("" : "+v"(v));
#endif
  return v;
}

/* The larger of two lanes: the first of equals, a NaN above all. */
INLINE GlowVec vec_top(GlowVec a, GlowVec b) {
  const GlowVecI above = ~(b <= a) & (a == a);
  return (GlowVec)(((GlowVecI)b & above) | ((GlowVecI)a & ~above));
}
/* v with +0 in the lanes from `count` on. */
INLINE GlowVec vec_first(GlowVec v, int64_t count) {
  static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return (GlowVec)((GlowVecI)v & (*(const GlowVecI *)lanes < (int32_t)count));
}
/* The first `count` floats at p, then zeros; reads nothing else. */
INLINE GlowVec vec_load_first(const float *p, int64_t count) {
  float v[GLOW_VL] = {0};
  ROLLED for (int64_t l = 0; l < count && l < GLOW_VL; l++) v[l] = p[l];
  return vec_load(v);
}
/* Stores the first `count` lanes, at most all, and nothing else. */
INLINE void vec_store_first(float *p, GlowVec v, int64_t count) {
  __builtin_memcpy(p, &v, (size_t)count * sizeof(float));
}

#endif
