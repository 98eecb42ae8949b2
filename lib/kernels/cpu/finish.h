/* What a tile stores for a vector of sums. Compiled code has the epilogue as a function, which is
 * inlined. Library code gets the body as data (kernels/body.h): most bodies are limits, perhaps
 * after one sum, which tiles run themselves; the others run as lists. */
#ifndef GLOW_KERNELS_CPU_FINISH_H
#define GLOW_KERNELS_CPU_FINISH_H

#include "kernels/kernels.h"

/* The params of a tile. Those of tiles with fixed params are a copy, to which `fix` gives
 * constants. */
#define ANY_PARAMS(Type) const Type *const fixed = params
#define FIXED_PARAMS(Type, fix)                                                                    \
  Type copy_ = *params;                                                                            \
  fix(&copy_);                                                                                     \
  const Type *const fixed = &copy_

#ifdef GLOW_LIBRARY
#include "kernels/body.h"
#include "kernels/cpu/body.h"

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

/* The limits of a body, for all lanes. */
typedef struct GlowLimits {
  GlowVec below, low, high;
} GlowLimits;
INLINE GlowLimits limits_of(const GlowBodyCode *b) {
  return (GlowLimits){vec_splat(b->below), vec_splat(b->low), vec_splat(b->high)};
}
INLINE GlowVec within(GlowVec v, const GlowLimits *l) {
  const GlowVecI is_low = v <= l->below;
  v = (GlowVec)(((GlowVecI)l->low & is_low) | ((GlowVecI)v & ~is_low));
  const GlowVecI is_high = v > l->high;
  return (GlowVec)(((GlowVecI)l->high & is_high) | ((GlowVecI)v & ~is_high));
}
INLINE GlowVec limited(GlowVec v, const GlowBodyCode *b) {
  const GlowLimits l = limits_of(b);
  return within(v, &l);
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

/* The lanes of v whose bits are set in a mask; +0 in the others. */
INLINE GlowVec kept(GlowVec v, GlowVecI mask) { return (GlowVec)((GlowVecI)v & mask); }

/* ---- A row of pixels --------------------------------------------------------------------------
 */

/* Stores what becomes of sums of `count` pixels, `step` registers apart, from (h, w) of image n on,
 * first channel c of `channels`: pixel i to to[i * yw]. Channels beyond the last one are zeros. */
#ifdef GLOW_LIBRARY
INLINE void store_pixels(int count, const GlowVec *acc, int step, GlowEpilogueFn *callback,
                         void *const *env, int64_t n, int64_t c, int64_t h, int64_t w,
                         int64_t channels, float *to, int64_t yw) {
  const GlowBodyCode *b = env[0];
  const bool part = channels % GLOW_CONV_BLOCK && c + GLOW_VL > channels;
  const GlowVecI all = (GlowVecI){0} == 0;
  const GlowVecI keep = channels % GLOW_CONV_BLOCK
                            ? (GlowVecI)vec_first((GlowVec)all, part ? channels - c : GLOW_VL)
                            : all;
  (void)callback;
  if (!b) {
    UNROLL for (int i = 0; i < count; i++) vec_store(to + i * yw, kept(acc[i * step], keep));
    return;
  }
  if (b->clip) {
    const GlowLimits l = limits_of(b);
    if (!b->noperands) {
      UNROLL for (int i = 0; i < count; i++)
          vec_store(to + i * yw, kept(within(acc[i * step], &l), keep));
      return;
    }
    const GlowBodyOperand *o = glow_body_operands(b);
    const int64_t pixel = o->stride[3];
    if (o->stride[4] && !(o->channels % GLOW_VL && c + GLOW_VL > o->channels)) {
      const float *at = (const float *)env[1] + n * o->stride[0] +
                        c / GLOW_CONV_BLOCK * o->stride[1] + h * o->stride[2] + w * pixel +
                        c % GLOW_CONV_BLOCK * o->stride[4];
      UNROLL for (int i = 0; i < count; i++)
          vec_store(to + i * yw, kept(within(acc[i * step] + vec_load(at + i * pixel), &l), keep));
      return;
    }
  }
  GlowVec sums[GLOW_TILE_PIXELS];
  UNROLL for (int i = 0; i < count; i++) sums[i] = acc[i * step];
  glow_body_rows((float *)sums, count, GLOW_VL, env,
                 (const int64_t[]){n, c / GLOW_CONV_BLOCK, h, w, c % GLOW_CONV_BLOCK}, 5, c);
  ROLLED for (int64_t i = 0; i < count; i++) vec_store(to + i * yw, kept(sums[i], keep));
}
#else
INLINE void store_pixels(int count, const GlowVec *acc, int step, GlowEpilogueFn *callback,
                         void *const *env, int64_t n, int64_t c, int64_t h, int64_t w,
                         int64_t channels, float *to, int64_t yw) {
  UNROLL for (int i = 0; i < count; i++) {
    GlowVec v = callback(acc[i * step], env, n, c, h, w + i);
    if (channels % GLOW_CONV_BLOCK && c + GLOW_VL > channels)
      v = vec_first(v, channels - c);
    vec_store(to + i * yw, v);
  }
}
#endif

#endif
