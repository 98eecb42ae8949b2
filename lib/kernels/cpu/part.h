/* Parts of registers in memory. */
#ifndef GLOW_KERNELS_CPU_PART_H
#define GLOW_KERNELS_CPU_PART_H

#include "vector.h"

/* The first `count` lanes of a register. Library code does not know how many: it uses masks where
 * the machine has them, since a copy of some bytes is a call. */
#if defined(GLOW_LIBRARY) && GLOW_VL >= 8
#define MASKED                                                                                     \
  _Pragma(                                                                                         \
      "clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL) unroll(disable)")
INLINE void put_first(float *to, GlowVec v, int64_t count) {
  float all[GLOW_VL];
  vec_store(all, v);
  MASKED for (int l = 0; l < GLOW_VL; l++) {
    if (l < count)
      to[l] = all[l];
  }
}
INLINE GlowVec get_first(const float *from, int64_t count) {
  float all[GLOW_VL];
  MASKED for (int l = 0; l < GLOW_VL; l++) all[l] = l < count ? from[l] : 0;
  return vec_load(all);
}
#else
INLINE void put_first(float *to, GlowVec v, int64_t count) { vec_store_first(to, v, count); }
INLINE GlowVec get_first(const float *from, int64_t count) { return vec_load_first(from, count); }
#endif

/* The beginning of 16 elements of 4 bytes, by a mask where the machine can. Library code does not
 * know how many are loaded: loads of what it would copy in pieces would wait for all of them. */
#if defined(GLOW_LIBRARY) && defined(__AVX__)
enum { HAS_PARTS = 1 };
#else
enum { HAS_PARTS = 0 };
#endif

/* The first `count` <= 16 elements at p, then zeros; only where a machine has masks. */
#ifdef __AVX512F__
INLINE void load_part(void *to, const void *p, int64_t count) {
  typedef float Part __attribute__((vector_size(64)));
  const Part part =
      __builtin_ia32_loadups512_mask(p, (Part){0}, (unsigned short)((1u << count) - 1));
  __builtin_memcpy(to, &part, sizeof part);
}
#elif defined(__AVX__)
INLINE void load_part(void *to, const void *p, int64_t count) {
  typedef float Part __attribute__((vector_size(32)));
  typedef int32_t Mask __attribute__((vector_size(32)));
  UNROLL for (int i = 0; i < 2; i++) {
    const Mask lanes = {0, 1, 2, 3, 4, 5, 6, 7}, mask = lanes < (int32_t)count - 8 * i;
    const Part part = __builtin_ia32_maskloadps256((const Part *)p + i, mask);
    __builtin_memcpy((char *)to + i * sizeof part, &part, sizeof part);
  }
}
#else
INLINE void load_part(void *to, const void *p, int64_t count) { (void)to, (void)p, (void)count; }
#endif

#endif
