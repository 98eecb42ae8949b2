/* Depthwise convolution over blocked activations: a filter of its own for each channel.
 *
 * A tile is some neighbouring output pixels of one block of channels, all in registers. Each tap is
 * a row of the filter and one FMA per register, whose input comes from the cache. Padding is read
 * from zeros, as in conv_tile.h. */
#include "finish.h"

#define VECTORS (GLOW_CONV_BLOCK / GLOW_VL)

/* A block of channels needs as many registers as a pixel of the register tile, or half as many. */
typedef GlowVec Tile[GLOW_TILE_PIXELS][VECTORS];

/* A row of `size` taps with stride `step`, literals: each input is read once, for all outputs that
 * it takes part in. p: the first input, at column `left`. */
INLINE void slide(int cols, int size, int step, const GlowDepthwiseParams *s, Tile acc,
                  const float *p, const float *w, const float *zeros, int64_t left) {
  const int inputs = (cols - 1) * step + size;
  UNROLL for (int j = 0; j < VECTORS; j++) {
    GlowVec f[7];
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* one half after the other: see conv_tile.h */
    UNROLL for (int k = 0; k < size; k++) f[k] = vec_load(w + k * GLOW_CONV_BLOCK + j * GLOW_VL);
    UNROLL for (int i = 0; i < inputs; i++) {
      bool edge = i < s->g.pl || inputs - i <= s->over;
      const float *q = p + i * s->g.xw;
      GlowVec x =
          vec_load((edge && (uint64_t)(left + i) >= (uint64_t)s->g.iw ? zeros : q) + j * GLOW_VL);
      UNROLL for (int k = 0; k < size; k++) {
        int o = (i - k) / step;
        if (i >= k && (i - k) % step == 0 && o < cols)
          acc[o][j] = vec_fma(x, f[k], acc[o][j]);
      }
    }
    UNROLL for (int i = 0; i < cols; i++) acc[i][j] = vec_now(acc[i][j]);
  }
}

/* A row of any taps, one after the other. */
INLINE void taps(int cols, const GlowDepthwiseParams *s, Tile acc, const float *p, const float *w,
                 const float *zeros, int64_t left) {
  ROLLED for (int64_t kw = 0; kw < s->g.kw; kw++) {
    GlowVec f[VECTORS];
    UNROLL for (int j = 0; j < VECTORS; j++) f[j] = vec_load(w + j * GLOW_VL);
    UNROLL for (int i = 0; i < cols; i++) {
      int64_t at = i * s->g.sw + kw * s->g.dw;
      const float *q = p + at * s->g.xw;
      bool edge = i < s->left || i >= cols - s->right;
      q = edge && (uint64_t)(left + at) >= (uint64_t)s->g.iw ? zeros : q;
      UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] =
          vec_fma(vec_load(q + j * GLOW_VL), f[j], acc[i][j]);
    }
    w += GLOW_CONV_BLOCK;
  }
}

/* A window of 5 or 7 columns slides where a block of channels is one register; one of 5 in
 * library code also where the window is known. */
#ifdef GLOW_LIBRARY
#define SLIDES_5(s) (VECTORS == 1 || __builtin_constant_p((s)->g.kw))
#else
#define SLIDES_5(s) (VECTORS == 1 && (s)->g.sw == 1)
#endif

/* Of one row alone, whose filter stays in registers for all tiles, 7 columns leave too few of them.
 */
#define SLIDES_7(s) (VECTORS == 1 && (s)->g.kh > 1)

INLINE void tile(int cols, const GlowDepthwiseParams *params, GlowEpilogueFn *epilogue, float *y,
                 const float *x, const float *w, const float *bias, const float *zeros,
                 void *const *env, int64_t n, int64_t block, int64_t row, int64_t col) {
  const GlowDepthwiseParams s = *params;
  const int64_t left = col * s.g.sw - s.g.pl, channel = block * GLOW_CONV_BLOCK;
  Tile acc;
  UNROLL for (int j = 0; j < VECTORS; j++) {
    int64_t c = channel + j * GLOW_VL;
    GlowVec b = {0};
    if (s.g.bias)
      b = s.g.oc % GLOW_CONV_BLOCK == 0 || c + GLOW_VL <= s.g.oc
              ? vec_load(bias + c)
              : vec_load_first(bias + c, s.g.oc - c);
    UNROLL for (int i = 0; i < cols; i++) acc[i][j] = b;
  }
  x += n * s.g.xn + block * s.g.xc + left * s.g.xw;
  w += block * (s.g.kh * s.g.kw * GLOW_CONV_BLOCK);
  ROLLED for (int64_t kh = 0; kh < s.g.kh; kh++) {
    int64_t h = row * s.g.sh - s.g.pt + kh * s.g.dh;
    const float *p = (uint64_t)h < (uint64_t)s.g.ih ? x + h * s.g.xh : zeros;
    if (s.g.dw == 1 && s.g.kw == 3 && s.g.sw == 1)
      slide(cols, 3, 1, &s, acc, p, w, zeros, left);
    else if (s.g.dw == 1 && s.g.kw == 3 && s.g.sw == 2)
      slide(cols, 3, 2, &s, acc, p, w, zeros, left);
    else if (SLIDES_5(&s) && s.g.dw == 1 && s.g.kw == 5 && s.g.sw == 1)
      slide(cols, 5, 1, &s, acc, p, w, zeros, left);
    else if (SLIDES_5(&s) && s.g.dw == 1 && s.g.kw == 5 && s.g.sw == 2)
      slide(cols, 5, 2, &s, acc, p, w, zeros, left);
    else if (SLIDES_7(&s) && s.g.dw == 1 && s.g.kw == 7 && s.g.sw == 1)
      slide(cols, 7, 1, &s, acc, p, w, zeros, left);
    else
      taps(cols, &s, acc, p, w, zeros, left);
    w += s.g.kw * GLOW_CONV_BLOCK;
  }
  UNROLL for (int j = 0; j < VECTORS; j++) {
    int64_t c = channel + j * GLOW_VL;
    float *to = y + n * s.g.yn + block * s.g.yc + row * s.g.yh + col * s.g.yw + j * GLOW_VL;
    store_pixels(cols, &acc[0][j], VECTORS, epilogue, env, n, c, row, col, s.g.oc, to, s.g.yw);
  }
}

/* fixed_params: declares `fixed`. */
#define TILE_OF(name, fixed_params, cols)                                                          \
  void name(const GlowDepthwiseParams *params, GlowEpilogueFn *epilogue, float *y, const float *x, \
            const float *w, const float *bias, const float *zeros, void *const *env,               \
            int64_t image, int64_t block, int64_t row, int64_t end, int64_t from, int64_t to) {    \
    fixed_params;                                                                                  \
    ROLLED for (; row < end; row++) {                                                              \
      ROLLED for (int64_t col = from; col < to; col += cols)                                       \
          tile(cols, fixed, epilogue, y, x, w, bias, zeros, env, image, block, row, col);          \
    }                                                                                              \
  }
#define TILE(cols) TILE_OF(glow_depthwise_tile_##cols, ANY_PARAMS(GlowDepthwiseParams), cols)
#define FIXED(how, cols)                                                                           \
  TILE_OF(glow_depthwise_tile_##how##_##cols,                                                      \
          FIXED_PARAMS(GlowDepthwiseParams, glow_fix_depthwise_tile_##how), cols)

EACH_DEPTHWISE_TILE(TILE)
#ifdef GLOW_LIBRARY
EACH_DEPTHWISE_TILE_FIXED(FIXED)
#endif

void glow_depthwise(const GlowDepthwiseParams *params, GlowDepthwiseTileFn *full,
                    GlowDepthwiseTileFn *small, GlowEpilogueFn *callback, void *const *ptrs,
                    int64_t begin, int64_t end, char *scratch) {
  const GlowDepthwiseParams s = *params;
  const int64_t slim = s.g.ow - s.narrow * (s.cols - 1); /* where narrower tiles begin */
  int64_t next;
  (void)scratch;
  ROLLED for (int64_t r = begin; r < end; r = next) {
    const int64_t map = r / s.g.oh, image = map / s.blocks, block = map % s.blocks;
    next = (map + 1) * s.g.oh < end ? (map + 1) * s.g.oh : end;
    const GlowDepthwisePtrs p = GLOW_DEPTHWISE_PTRS(ptrs);
    full(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.zeros, p.env, image, block,
         r - map * s.g.oh, next - map * s.g.oh, 0, slim);
    if (s.narrow)
      small(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.zeros, p.env, image, block,
            r - map * s.g.oh, next - map * s.g.oh, slim, s.g.ow);
  }
}
