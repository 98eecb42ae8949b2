/* Convolution: one function per size of tiles, and the loops over all tiles. See conv_tile.h.
 *
 * Compiled code links the sizes that a convolution uses, wraps each with constant parameters and
 * the convolution's epilogue, and hands the wrappers to glow_conv. */
#include "conv_tile.h"

/* Whether a tile may be called with these params: only windows over blocks have tiles of several
 * rows, and no tile is wider than a block of the filter. Where params are constants, the code of
 * the other tiles vanishes. */
INLINE bool is_called(int rows, int vectors, const GlowConvParams *s) {
  return (rows == 1 || s->g.xw >= GLOW_CONV_BLOCK) && vectors * GLOW_VL <= s->ob;
}

/* fixed_params: declares `fixed`. */
#define TILE_OF(name, fixed_params, rows, cols, vectors)                                           \
  void name(const GlowConvParams *params, GlowEpilogueFn *epilogue, float *y, const float *x,      \
            const float *w, const float *bias, const float *zeros, void *const *env, int64_t row,  \
            int64_t from, int64_t to, int64_t group) {                                             \
    GlowConvPtrs ptrs = {y, x, w, bias, zeros, env};                                               \
    fixed_params;                                                                                  \
    if (!is_called(rows, vectors, fixed))                                                          \
      return;                                                                                      \
    ROLLED for (bool more = true; more; more = GLOW_CONV_SIDE_BY_SIDE && from < to) {              \
      tile(rows, cols, vectors, fixed, &ptrs, row, from, group, epilogue);                         \
      from += cols;                                                                                \
    }                                                                                              \
  }
#define TILE(rows, cols, vectors)                                                                  \
  TILE_OF(glow_conv_tile_##rows##x##cols##x##vectors, ANY_PARAMS(GlowConvParams), rows, cols,      \
          vectors)
#define FIXED(how, rows, cols, vectors)                                                            \
  TILE_OF(glow_conv_tile_##how##_##rows##x##cols##x##vectors,                                      \
          FIXED_PARAMS(GlowConvParams, glow_fix_conv_tile_##how), rows, cols, vectors)

#define SCATTERED_OF(name, fixed_params, count, vectors)                                           \
  void name(const GlowConvParams *params, GlowEpilogueFn *epilogue, float *y, const float *x,      \
            const float *w, const float *bias, const float *zeros, void *const *env, int64_t row,  \
            int64_t from, int64_t to, int64_t group) {                                             \
    GlowConvPtrs ptrs = {y, x, w, bias, zeros, env};                                               \
    fixed_params;                                                                                  \
    (void)row;                                                                                     \
    ROLLED for (bool more = true; more; more = GLOW_CONV_SIDE_BY_SIDE && from < to) {              \
      scattered_tile(count, vectors, fixed, &ptrs, from, group, epilogue);                         \
      from += count;                                                                               \
    }                                                                                              \
  }
#define SCATTERED(count, vectors)                                                                  \
  SCATTERED_OF(glow_conv_scattered_##count##x##vectors, ANY_PARAMS(GlowConvParams), count, vectors)
#define SCATTERED_FIXED(how, count, vectors)                                                       \
  SCATTERED_OF(glow_conv_scattered_##how##_##count##x##vectors,                                    \
               FIXED_PARAMS(GlowConvParams, glow_fix_conv_scattered_##how), count, vectors)

EACH_CONV_TILE(TILE)
EACH_CONV_SCATTERED(SCATTERED)
#ifdef GLOW_LIBRARY
EACH_CONV_TILE_FIXED(FIXED)
EACH_CONV_SCATTERED_FIXED(SCATTERED_FIXED)
#endif

void glow_conv(const GlowConvParams *params, GlowConvTileFn *full, GlowConvTileFn *small,
               GlowConvTileFn *full_odd, GlowConvTileFn *small_odd, GlowEpilogueFn *callback,
               void *const *ptrs, int64_t begin, int64_t end, char *scratch) {
  const GlowConvPtrs t = GLOW_CONV_PTRS(ptrs);
  (void)scratch;
  all_tiles(params, full, small, full_odd, small_odd, callback, &t, begin, end);
}
