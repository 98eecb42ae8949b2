/* Pools of float whose windows are whole planes: glow_pool_planes_<what>.
 *
 * Planes follow each other, and have one result each. A register holds one tap of GLOW_VL planes:
 * squares of taps are transposed in registers. So each result is the chain over its window that
 * docs/Numerics describes, and the chains of GLOW_VL planes run side by side. */
#include "kernels/kernels.h"
#include "pack.h"

#include "num/math.h"

typedef enum What { MAX, MEAN, NORM1, NORM2 } What;

INLINE GlowVec add(What what, GlowVec chain, GlowVec v) {
  switch (what) {
  case MAX:
    return vec_top(chain, v);
  case MEAN:
    return chain + v;
  case NORM1:
    return chain + (GlowVec)((GlowVecI)v & 0x7fffffff);
  default:
    return chain + v * v;
  }
}

INLINE float result_of(What what, float chain, int64_t taps) {
  return what == MEAN ? chain / (float)taps : what == NORM2 ? glow_sqrtf(chain) : chain;
}

/* Taps `first` to GLOW_VL - 1 of GLOW_VL ones from `at` on of each plane, in this order. */
INLINE GlowVec add_square(What what, GlowVec chain, const float *const *plane, int64_t at,
                          int64_t first) {
  GlowVec v[GLOW_VL];
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = vec_load(plane[l] + at);
  transpose_square(v);
  if (what == MAX &&
      first == 0) { /* the first of equals is the same, and no tap waits for all before */
    UNROLL for (int d = 1; d < GLOW_VL; d *= 2) {
      UNROLL for (int l = 0; l < GLOW_VL; l += 2 * d) v[l] = vec_top(v[l], v[l + d]);
    }
    return vec_top(chain, v[0]);
  }
  UNROLL for (int l = 0; l < GLOW_VL; l++) {
    if (l >= first)
      chain = add(what, chain, v[l]);
  }
  return chain;
}

/* The planes from x on; those from `count` on are the last one again. */
INLINE GlowVec chains(What what, const float *x, int64_t count, int64_t taps) {
  GlowVec chain = vec_splat(what == MAX ? -__builtin_inff() : 0);
  const float *plane[GLOW_VL];
  UNROLL for (int l = 0; l < GLOW_VL; l++) plane[l] = x + (l < count ? l : count - 1) * taps;
  if (taps < GLOW_VL) {
    ROLLED for (int64_t t = 0; t < taps; t++) {
      GlowVec v;
      UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = plane[l][t];
      chain = add(what, chain, v);
    }
    return chain;
  }
  int64_t t = 0;
  ROLLED for (; t + GLOW_VL <= taps; t += GLOW_VL) chain = add_square(what, chain, plane, t, 0);
  if (t < taps)
    chain = add_square(what, chain, plane, taps - GLOW_VL, t + GLOW_VL - taps);
  return chain;
}

INLINE void pool(const GlowPoolPlanesParams *p, What what, float *y, const float *x, int64_t begin,
                 int64_t end) {
  ROLLED for (int64_t u = begin * GLOW_VL; u < end * GLOW_VL && u < p->planes; u += GLOW_VL) {
    const int64_t count = p->planes - u < GLOW_VL ? p->planes - u : GLOW_VL;
    GlowVec chain = chains(what, x + u * p->taps, count, p->taps);
    UNROLL for (int l = 0; l < GLOW_VL; l++) chain[l] = result_of(what, chain[l], p->taps);
    vec_store_first(y + u, chain, count);
  }
}

#define PLANES(name, what)                                                                         \
  void glow_pool_planes_##name(const GlowPoolPlanesParams *p, void *const *ptrs, int64_t begin,    \
                               int64_t end, char *scratch) {                                       \
    (void)scratch;                                                                                 \
    pool(p, what, GLOW_POOL_PLANES_PTRS(ptrs).y, GLOW_POOL_PLANES_PTRS(ptrs).x, begin, end);       \
  }
PLANES(max, MAX)
PLANES(mean, MEAN)
PLANES(norm1, NORM1)
PLANES(norm2, NORM2)
