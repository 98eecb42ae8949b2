/* Convolution: one function per size of tiles, and the loops over all tiles. See conv_tile.h.
 *
 * Code generation links the sizes that a convolution uses, wraps each with constant parameters and
 * the convolution's epilogue, and hands the wrappers to glow_conv. Operands: result, input, filter,
 * bias, zeros, then the epilogue's. */
#include "conv_tile.h"

#define TILE(rows, cols, vectors) TILE_(rows, cols, vectors) /* expands the last */
#define TILE_(rows, cols, vectors)                                                                 \
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

#define SCATTERED(count, vectors) SCATTERED_(count, vectors)
#define SCATTERED_(count, vectors)                                                                 \
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

/* A filter block of two channel blocks can be half empty. */
#if GLOW_TILE_VECTORS * GLOW_VL > GLOW_CONV_BLOCK
#define TILES(rows, cols) TILE(rows, cols, 1) TILE(rows, cols, GLOW_TILE_VECTORS)
#else
#define TILES(rows, cols) TILE(rows, cols, GLOW_TILE_VECTORS)
#endif

/* clang-format off */
#if defined(GLOW_TEST_TILE) /* does not fit the registers: a test looks for its spills */
TILE(1, 7, 4)
#else
TILES(1, 1)
#if GLOW_TILE_PIXELS >= 2
TILES(1, 2) TILES(2, 1)
#endif
#if GLOW_TILE_PIXELS >= 6
TILES(1, 3) TILES(1, 4) TILES(1, 5) TILES(1, 6) TILES(2, 2) TILES(2, 3) TILES(3, 1) TILES(3, 2)
TILES(4, 1)
#endif
#if GLOW_TILE_PIXELS >= 14
TILES(1, 7) TILES(1, 8) TILES(1, 9) TILES(1, 10) TILES(1, 11) TILES(1, 12) TILES(1, 13)
TILES(1, 14) TILES(2, 4) TILES(2, 5) TILES(2, 6) TILES(2, 7) TILES(3, 3) TILES(3, 4)
TILES(4, 2) TILES(4, 3)
#elif GLOW_TILE_PIXELS >= 6
SCATTERED(1, GLOW_TILE_VECTORS) SCATTERED(2, GLOW_TILE_VECTORS) SCATTERED(3, GLOW_TILE_VECTORS)
SCATTERED(4, GLOW_TILE_VECTORS) SCATTERED(5, GLOW_TILE_VECTORS) SCATTERED(6, GLOW_TILE_VECTORS)
#endif
#endif
/* clang-format on */

void glow_conv(const GlowConvParams *params, GlowConvTilesFn *full, GlowConvTilesFn *small,
               GlowConvTilesFn *full_odd, GlowConvTilesFn *small_odd, void *const *ptrs,
               int64_t begin, int64_t end, char *scratch) {
  const GlowConvPtrs t = {ptrs[0], ptrs[1], ptrs[2], ptrs[3], ptrs[4], ptrs + 5};
  (void)scratch;
  all_tiles(params, full, small, full_odd, small_odd, &t, begin, end);
}
