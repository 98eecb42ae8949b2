/* Convolution: one function per size of tiles, and the loops over all tiles. See conv_tile.h.
 *
 * Compiled code links the sizes that a convolution uses, wraps each with constant parameters and
 * the convolution's epilogue, and hands the wrappers to glow_conv. */
#include "conv_tile.h"

#define TILE(rows, cols, vectors)                                                                  \
  void glow_conv_tile_##rows##x##cols##x##vectors(                                                 \
      const GlowConvParams *params, GlowEpilogueFn *epilogue, float *y, const float *x,            \
      const float *w, const float *bias, const float *zeros, void *const *env, int64_t row,        \
      int64_t from, int64_t to, int64_t group) {                                                   \
    GlowConvPtrs ptrs = {y, x, w, bias, zeros, env};                                               \
    ROLLED for (bool more = true; more; more = GLOW_CONV_SIDE_BY_SIDE && from < to) {              \
      tile(rows, cols, vectors, params, &ptrs, row, from, group, epilogue);                        \
      from += cols;                                                                                \
    }                                                                                              \
  }

#define SCATTERED(count, vectors)                                                                  \
  void glow_conv_scattered_##count##x##vectors(                                                    \
      const GlowConvParams *params, GlowEpilogueFn *epilogue, float *y, const float *x,            \
      const float *w, const float *bias, const float *zeros, void *const *env, int64_t row,        \
      int64_t from, int64_t to, int64_t group) {                                                   \
    GlowConvPtrs ptrs = {y, x, w, bias, zeros, env};                                               \
    (void)row;                                                                                     \
    ROLLED for (bool more = true; more; more = GLOW_CONV_SIDE_BY_SIDE && from < to) {              \
      scattered_tile(count, vectors, params, &ptrs, from, group, epilogue);                        \
      from += count;                                                                               \
    }                                                                                              \
  }

EACH_CONV_TILE(TILE)
EACH_CONV_SCATTERED(SCATTERED)

void glow_conv(const GlowConvParams *params, GlowConvTileFn *full, GlowConvTileFn *small,
               GlowConvTileFn *full_odd, GlowConvTileFn *small_odd, GlowEpilogueFn *callback,
               void *const *ptrs, int64_t begin, int64_t end, char *scratch) {
  const GlowConvPtrs t = GLOW_CONV_PTRS(ptrs);
  (void)scratch;
  all_tiles(params, full, small, full_odd, small_odd, callback, &t, begin, end);
}
