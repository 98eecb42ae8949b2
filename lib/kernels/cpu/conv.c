/* Convolution: one function per tile size, and the loops over all tiles. See conv_tile.h.
 *
 * Code generation links the sizes that a convolution uses, wraps each with constant parameters and
 * the convolution's epilogue, and hands the wrappers to glow_conv. */
#include "conv_tile.h"

#define TILE(mr, nr)                                                                               \
  void glow_conv_tile_##mr##x##nr(const GlowConvParams *params, GlowEpilogueFn *epilogue,          \
                                  float *y, const float *x, const float *w, const float *bias,     \
                                  const float *zeros, void *const *env, int64_t row, int64_t col,  \
                                  int64_t group) {                                                 \
    GlowConvPtrs ptrs = {y, x, w, bias, zeros, env};                                               \
    tile(mr, nr, params, &ptrs, row, col, group, epilogue);                                 \
  }
#define TILES(mr) TILE(mr, 1) TILE(mr, 2)
TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6)
#if GLOW_TILE_PIXELS >= 14
TILES(7) TILES(8) TILES(9) TILES(10) TILES(11) TILES(12) TILES(13) TILES(14)
#endif

void glow_conv(const GlowConvParams *params, GlowConvTileFn *full, GlowConvTileFn *small,
               GlowConvTileFn *full_odd, GlowConvTileFn *small_odd, float *y, const float *x,
               const float *w, const float *bias, const float *zeros, void *const *env) {
  all_tiles(params, full, small, full_odd, small_odd, y, x, w, bias, zeros, env);
}
