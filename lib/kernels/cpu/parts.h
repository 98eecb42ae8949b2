/* Parts of registers in memory. */
#ifndef GLOW_KERNELS_CPU_PARTS_H
#define GLOW_KERNELS_CPU_PARTS_H

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

#endif
