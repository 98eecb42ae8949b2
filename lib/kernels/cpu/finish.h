/* What a tile stores for a vector of sums. Compiled code has the epilogue as a function, which is
 * inlined. Library code gets the body as data (kernels/body.h): most bodies are limits, perhaps
 * after one sum, which tiles run themselves; the others run as lists. */
#ifndef GLOW_KERNELS_CPU_FINISH_H
#define GLOW_KERNELS_CPU_FINISH_H

#include "kernels/kernels.h"

#ifdef GLOW_LIBRARY
#include "kernels/body.h"

/* Operand 0 at a place of `dims` coordinates, the last one along the axis of the register; `lane`
 * is the number of the first lane, counted over all blocks. */
INLINE GlowVec first_operand(const GlowBodyCode *b, void *const *env, const int64_t *place,
                             int dims, int64_t lane) {
  const GlowBodyOperand *o = glow_body_operands(b);
  const float *at = env[1];
  UNROLL for (int d = 0; d < dims; d++) at += place[d] * o->stride[d];
  if (!o->stride[dims - 1])
    return vec_splat(*at);
  if (o->channels % GLOW_VL && lane + GLOW_VL > o->channels)
    return vec_load_first(at, o->channels - lane);
  return vec_load(at);
}

INLINE GlowVec limited(GlowVec v, const GlowBodyCode *b) {
  const GlowVec below = vec_splat(b->below), low = vec_splat(b->low), high = vec_splat(b->high);
  const GlowVecI is_low = v <= below;
  v = (GlowVec)(((GlowVecI)low & is_low) | ((GlowVecI)v & ~is_low));
  const GlowVecI is_high = v > high;
  return (GlowVec)(((GlowVecI)high & is_high) | ((GlowVecI)v & ~is_high));
}

/* Returns what to store: `acc` itself, what the limits of the body in env[0] make of it, or `call`,
 * the call of the epilogue. */
#define FINISH(acc, env, place, dims, lane, call)                                                  \
  const GlowBodyCode *b = (env)[0];                                                                \
  if (!b)                                                                                          \
    return acc;                                                                                    \
  if (!b->clip)                                                                                    \
    return call;                                                                                   \
  return limited(b->noperands ? (acc) + first_operand(b, env, place, dims, lane) : (acc), b)
#else
#define FINISH(acc, env, place, dims, lane, call) return call
#endif

/* At image n, first channel c, pixel (h, w). */
INLINE GlowVec finish_pixel(GlowEpilogueFn *callback, GlowVec acc, void *const *env, int64_t n,
                            int64_t c, int64_t h, int64_t w) {
  const int64_t place[] = {n, c / GLOW_CONV_BLOCK, h, w, c % GLOW_CONV_BLOCK};
  (void)place;
  FINISH(acc, env, place, 5, c, callback(acc, env, n, c, h, w));
}

/* At batch indices `at`, a row and columns from col on. */
INLINE GlowVec finish_matrix(GlowMatrixEpilogueFn *callback, GlowVec acc, void *const *env,
                             const int64_t *at, int64_t row, int64_t col) {
  const int64_t place[] = {at[0], at[1], at[2], at[3], row, col};
  (void)place;
  FINISH(acc, env, place, 6, col, callback(acc, env, at[0], at[1], at[2], at[3], row, col));
}

#endif
