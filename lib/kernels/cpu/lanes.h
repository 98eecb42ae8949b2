/* Element-wise operators on one register of lanes, for epilogues and stacks:
 * glow_lanes_<operator>_<kind>, generated from the scalar bodies in lib/ops. A file defines the
 * kinds that it wants, GLOW_LANES_<KIND>, and includes ops/vector.inc. GLOW_VL lanes of every kind.
 */
#ifndef GLOW_KERNELS_CPU_LANES_H
#define GLOW_KERNELS_CPU_LANES_H

#include "vector.h"

#include "ops/scalar.h"

/* The functions have no prototypes: they are called by number (glow_lane_names). The test unit.isa
 * looks for all of them. */
#pragma clang diagnostic ignored "-Wmissing-prototypes"

/* In library code each function of lanes gets a caller that works on blocks, a GlowBlockFn. */
#ifdef GLOW_LIBRARY
#include "kernels/library.h"
/* `count` operands. They are copied, since a result of bytes may alias anything. */
#define GLOW_BLOCK(name, count, call)                                                              \
  GlowBlockFn glow_block_##name;                                                                   \
  void glow_block_##name(const void *members, int64_t n, void *result,                             \
                         const GlowBlockOperand *const *operands) {                                \
    static const uint64_t zeros[GLOW_VL];                                                          \
    enum { COUNT = count };                                                                        \
    GlowBlockOperand in[COUNT];                                                                    \
    (void)zeros;                                                                                   \
    UNROLL for (int i = 0; i < COUNT; i++) in[i] = *operands[i];                                   \
    ROLLED for (int64_t at = 0; at < n; at += GLOW_VL) call;                                       \
  }
#define GLOW_LANES_FUNCTION static inline __attribute__((always_inline)) /* in that caller */
#define BLOCK_OUT(T) (T *)result + at
#define BLOCK_AT(T, i, from) (const T *)(const void *)(from) + (COUNT > 1 ? at & in[i].varies : at)
#define BLOCK_IN(T, i) BLOCK_AT(T, i, in[i].at)
#define BLOCK_OPTIONAL(T, i) BLOCK_AT(T, i, in[i].at ? in[i].at : (const char *)zeros)
#else
#define GLOW_BLOCK(name, count, call)
#define GLOW_LANES_FUNCTION
#endif

#define GLOW_LANES                                                                                 \
  _Pragma("clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL)")

#endif
