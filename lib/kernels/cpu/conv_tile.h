/* Direct convolution over blocked activations.
 *
 * A tile of output pixels by output vectors stays in registers while one FMA chain per output runs
 * from the bias over (ic/16, kh, kw, ic%16) of its group; see docs/Numerics. Each step loads the
 * filter vectors and broadcasts one input per pixel. Everything but the pointers is constant once a
 * wrapper has been specialized, so displacements fold into addresses and unused paths vanish.
 *
 * Padding needs neither a copy of the input nor code of its own: a row of taps outside of the input
 * reads from a row of zeros, and each of the few pixels at the left and right of a tile that may
 * reach outside has a pointer of its own. A tile may span up to GLOW_CONV_MAX_ROWS output rows,
 * also of different images, so that narrow maps fill it. */
#ifndef GLOW_KERNELS_CPU_CONV_TILE_H
#define GLOW_KERNELS_CPU_CONV_TILE_H

#include "finish.h"

/* A call works on all tiles side by side, so that addresses are computed once and the end of a tile
 * overlaps with the start of the next one. But around a tile that fills many registers LLVM moves
 * what an epilogue needs out of that loop, and then spills. */
#define GLOW_CONV_SIDE_BY_SIDE (GLOW_TILE_PIXELS * GLOW_TILE_VECTORS <= 16)

INLINE GlowVec bias_at(const GlowConvParams *s, const float *bias, int64_t c) {
  GlowVec zero = {0};
  if (!s->g.bias)
    return zero;
  return s->g.oc % GLOW_CONV_BLOCK == 0 || c + GLOW_VL <= s->g.oc
             ? vec_load(bias + c)
             : vec_load_first(bias + c, s->g.oc - c);
}

/* One input channel of mr pixels by nr vectors: mr * nr FMAs. The fence emits nothing. It keeps the
 * loads of the next step out of this one, where no register is left for them. */
INLINE void step(int mr, int nr, GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS],
                 const float *const *pixel, const float *w, int64_t k) {
  GlowVec f[GLOW_TILE_VECTORS];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  UNROLL for (int j = 0; j < nr; j++) f[j] = vec_load(w + j * GLOW_VL);
  UNROLL for (int i = 0; i < mr; i++) {
    GlowVec v = vec_splat(pixel[i][k]);
    UNROLL for (int j = 0; j < nr; j++) acc[i][j] = vec_fma(v, f[j], acc[i][j]);
  }
}

/* Channel k of a pixel for vector j of the results, where two groups share a block: each result
 * reads channel k of its own group. */
INLINE GlowVec shared_input(const float *pixel, int64_t k, int j) {
#if GLOW_VL <= GLOW_CONV_GROUP
  return vec_splat(pixel[j * GLOW_VL / GLOW_CONV_GROUP * GLOW_CONV_GROUP + k]);
#else
  (void)j;
  return vec_halves(pixel[k], pixel[GLOW_CONV_GROUP + k]);
#endif
}

/* The same as `step` for groups that share a block. Vectors come one after the other, since no two
 * read the same input. */
INLINE void shared_step(int mr, int nr, GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS],
                        const float *const *pixel, const float *w, int64_t k) {
  UNROLL for (int j = 0; j < nr; j++) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const GlowVec f = vec_load(w + j * GLOW_VL);
    UNROLL for (int i = 0; i < mr; i++) {
      acc[i][j] = vec_fma(shared_input(pixel[i], k, j), f, acc[i][j]);
    }
  }
}

/* The channels of one group at one tap, where two groups share a block. One step at a time: LLVM
 * takes new registers for the sums of each step, and of several steps spills some. */
INLINE void shared_tap(int mr, int nr, const GlowConvParams *s,
                       GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *const *pixel,
                       const float *w) {
  ROLLED for (int64_t k = 0; k < GLOW_CONV_GROUP; k++) {
    shared_step(mr, nr, acc, pixel, w + k * s->ob, k);
  }
}

/* The channels of one block at one tap, up to four at a time. */
INLINE void tap(int mr, int nr, const GlowConvParams *s,
                GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *const *pixel,
                const float *w, int64_t channels) {
  if (s->shared) {
    shared_tap(mr, nr, s, acc, pixel, w);
    return;
  }
  const int64_t n = s->g.ic % s->block == 0 ? s->block : channels;
  const bool fours = s->g.ic % 4 == 0 && s->block % 4 == 0;
  const int64_t unit = fours ? 4 : s->g.ic % s->block || s->block % 3 ? 1 : 3;
  ROLLED for (int64_t k = 0; k < n; k += unit) {
    UNROLL for (int u = 0; u < 4; u++) {
      if (u < unit)
        step(mr, nr, acc, pixel, w + (k + u) * s->ob, k + u);
    }
  }
}

/* Library code has tiles of more pixels than there are registers for addresses. Where no pixel may
 * be padding, those of a row are `step` floats apart: three addresses and a step lead to them. */
#ifdef GLOW_LIBRARY
enum { NEAR = 5 }; /* pixels that one address leads to */

/* Pixels 0, 1, 2, 3 or 4 steps away, in bytes. `three`: steps that the machine does not multiply.
 */
INLINE float near_pixel(const char *at, int i, int64_t step, int64_t three) {
  at += i == 3 ? three : i * step;
  return *(const float *)(const void *)at;
}

/* The same as `tap`. */
INLINE void strided_tap(int mr, int nr, const GlowConvParams *s,
                        GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *first,
                        int64_t step, const float *w, int64_t channels) {
  const int64_t bytes = step * (int64_t)sizeof *first, three = 3 * bytes;
  const int64_t n = s->g.ic % s->block == 0 ? s->block : channels;
  const int64_t unit = s->g.ic % 4 == 0 && s->block % 4 == 0          ? 4
                       : s->g.ic % s->block != 0 || s->block % 3 != 0 ? 1
                                                                      : 3;
  const char *at[3];
  UNROLL for (int i = 0; i < 3; i++) at[i] = (const char *)first + i * NEAR * bytes;
  ROLLED for (int64_t k = 0; k < n; k += unit) {
    __asm__("" : "+r"(at[0]), "+r"(at[1]), "+r"(at[2])); /* or sums of them would be kept */
    UNROLL for (int u = 0; u < 4; u++) {
      if (u < unit) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        GlowVec f[GLOW_TILE_VECTORS];
        UNROLL for (int j = 0; j < nr; j++) f[j] = vec_load(w + j * GLOW_VL);
        UNROLL for (int i = 0; i < mr; i++) {
          const GlowVec v =
              vec_splat(near_pixel(at[i / NEAR] + u * sizeof(float), i % NEAR, bytes, three));
          UNROLL for (int j = 0; j < nr; j++) acc[i][j] = vec_fma(v, f[j], acc[i][j]);
        }
        w += s->ob;
      }
    }
    UNROLL for (int i = 0; i < 3; i++) at[i] += unit * (int64_t)sizeof *first;
  }
}
#else
INLINE void strided_tap(int mr, int nr, const GlowConvParams *s,
                        GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *first,
                        int64_t step, const float *w, int64_t channels) {}
#endif

/* A row of a tile: image and row of the output. */
typedef struct GlowConvRow {
  int64_t n, h;
} GlowConvRow;

/* All taps and channels of a tile of one row, which reads x from place->n, place->h on. */
INLINE void strided_taps(int cols, int nr, const GlowConvParams *s,
                         GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *x,
                         const float *zeros, const GlowConvRow *place, int64_t left,
                         const float *w) {
  const int64_t top = place->h * s->g.sh - s->g.pt, step = s->g.sw * s->g.xw;
  const float *first = x + place->n * s->g.xn + top * s->g.xh + left * s->g.xw;
  ROLLED for (int64_t c = 0; c < s->g.ic; c += s->block, first += s->g.xc) {
    const float *row = first;
    const int64_t left_over = s->g.ic - c < s->block ? s->g.ic - c : s->block;
    ROLLED for (int64_t kh = 0; kh < s->g.kh; kh++, row += s->g.dh * s->g.xh) {
      const bool inside = !s->padded || (uint64_t)(top + kh * s->g.dh) < (uint64_t)s->g.ih;
      const float *p = row;
      ROLLED for (int64_t kw = 0; kw < s->g.kw; kw++, p += s->g.dw * s->g.xw) {
        strided_tap(cols, nr, s, acc, inside ? p : zeros, step, w, left_over);
        w += s->wi * s->ob;
      }
    }
  }
}

INLINE int64_t filter_size(const GlowConvParams *s) {
  return (s->g.ic + s->block - 1) / s->block * s->g.kh * s->g.kw * s->wi * s->ob;
}

/* The address that a tile fetches at its first tap: its share of the next block of the filter.
 * Large filters lie in a far cache or in memory, and the machine does not foresee the next pass. */
INLINE const float *next_filter(const GlowConvParams *s, const float *w, int64_t group,
                                int64_t tile) {
  const int64_t size = filter_size(s);
  w += (group + 1) * s->ob < s->g.oc ? size : -group * size;
  return w + tile % s->turns * s->ahead * 16;
}
INLINE void fetch_filter(const GlowConvParams *s, const float *next) {
  UNROLL for (int i = 0; i < 8; i++) {
    if (i < s->ahead)
      __builtin_prefetch(next + i * 16, 0, 2);
  }
}

INLINE void store(int rows, int cols, int nr, const GlowConvParams *s, const GlowConvPtrs *t,
                  const GlowConvRow *row, int64_t col, int64_t group,
                  GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], GlowEpilogueFn *epilogue) {
  UNROLL for (int j = 0; j < nr; j++) {
    int64_t c = group * s->ob + j * GLOW_VL;
    UNROLL for (int r = 0; r < rows; r++) {
      int64_t n = row[r].n, h = row[r].h;
      float *y = t->y + n * s->g.yn + c / GLOW_CONV_BLOCK * s->g.yc + h * s->g.yh + col * s->g.yw +
                 c % GLOW_CONV_BLOCK;
      store_pixels(cols, &acc[r * cols][j], GLOW_TILE_VECTORS, epilogue, t->env, n, c, h, col,
                   s->g.oc, y, s->g.yw);
    }
  }
}

/* The input of the group that block `group` of the filter belongs to. */
INLINE const float *group_input(const GlowConvParams *s, const float *x, int64_t group) {
  return s->gx ? x + group / s->gb * s->gx : x;
}

/* Row `row` of all images. In library code divisions take long, and most runs have one image. */
INLINE GlowConvRow row_at(const GlowConvParams *s, int64_t row) {
  if (IN_LIBRARY && row < s->g.oh)
    return (GlowConvRow){0, row};
  return (GlowConvRow){row / s->g.oh, row % s->g.oh};
}

/* The taps and channels of a tile of rows by cols pixels by nr vectors. Addresses outside of the
 * input are computed but not used; -fwrapv makes that defined. */
INLINE void all_taps(int rows, int cols, int nr, const GlowConvParams *params,
                     GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS], const float *x0,
                     const float *zeros, const GlowConvRow *place, int64_t left, const float *w,
                     const float *next, int64_t group) {
  const GlowConvParams s = *params;
  ROLLED for (int64_t c = 0; c < s.g.ic; c += s.block) {
    ROLLED for (int64_t kh = 0; kh < s.g.kh; kh++) {
      ROLLED for (int64_t kw = 0; kw < s.g.kw; kw++) {
        const float *pixel[GLOW_TILE_PIXELS];
        const int64_t left_over = s.g.ic - c < s.block ? s.g.ic - c : s.block;
        UNROLL for (int r = 0; r < rows; r++) {
          int64_t h = place[r].h * s.g.sh - s.g.pt + kh * s.g.dh;
          const float *p = x0 + place[r].n * s.g.xn + c / s.block * s.g.xc + h * s.g.xh +
                           (left + kw * s.g.dw) * s.g.xw;
          p = !s.padded || (uint64_t)h < (uint64_t)s.g.ih ? p : zeros;
          UNROLL for (int i = 0; i < cols; i++) {
            int64_t x = left + i * s.g.sw + kw * s.g.dw;
            const float *q = p + i * s.g.sw * s.g.xw;
            bool edge = i < s.left || cols - i <= s.right;
            pixel[r * cols + i] = edge && (uint64_t)x >= (uint64_t)s.g.iw ? zeros : q;
          }
        }
        if (s.fetch && group % s.gb == 0) {
          UNROLL for (int i = 0; i < cols; i++) __builtin_prefetch(pixel[i] + s.fetch, 0, 2);
        }
        if (s.ahead)
          fetch_filter(&s, next);
        next += s.wi * s.ob;
        tap(rows * cols, nr, &s, acc, pixel, w, left_over);
        w += s.wi * s.ob;
      }
    }
  }
}

/* rows by cols pixels by nr vectors, all literals. Parameters are loaded where they are needed: a
 * copy of all of them would take longer than the taps of a small tile. */
INLINE void tile(int rows, int cols, int nr, const GlowConvParams *s, const GlowConvPtrs *t,
                 int64_t row, int64_t col, int64_t group, GlowEpilogueFn *epilogue) {
  const int64_t left = col * s->g.sw - s->g.pl;
  GlowConvRow place[GLOW_CONV_MAX_ROWS];
  GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS];
  UNROLL for (int j = 0; j < nr; j++) {
    GlowVec b = bias_at(s, t->bias, group * s->ob + j * GLOW_VL);
    UNROLL for (int i = 0; i < rows * cols; i++) acc[i][j] = b;
  }
  UNROLL for (int r = 0; r < rows; r++) place[r] = row_at(s, row + r);
  const float *w = t->w + group * filter_size(s), *x0 = group_input(s, t->x, group), *next = NULL;
  const bool many = IN_LIBRARY && rows == 1 && cols > 3 && cols <= 15;
  if (many && !__builtin_constant_p(s->g.xw) && !s->left && !s->right && !s->shared && !s->fetch &&
      !s->ahead) {
    strided_taps(cols, nr, s, acc, x0, t->zeros, place, left, w);
  } else {
    if (s->ahead)
      next =
          next_filter(s, w, group,
                      row / s->tile_rows * ((s->g.ow - 1) / s->tile_cols + 1) + col / s->tile_cols);
    all_taps(rows, cols, nr, s, acc, x0, t->zeros, place, left, w, next, group);
  }
  store(rows, cols, nr, s, t, place, col, group, acc, epilogue);
}

/* A pixel of the output of all images. */
typedef struct GlowConvPixel {
  int64_t n, h, w;
} GlowConvPixel;

/* The pixel behind p: divisions would take longer. */
INLINE GlowConvPixel next_pixel(const GlowConvParams *s, GlowConvPixel p) {
  const bool row = p.w + 1 == s->g.ow, image = row && p.h + 1 == s->g.oh;
  return (GlowConvPixel){p.n + image, image ? 0 : p.h + row, row ? 0 : p.w + 1};
}

/* Where a pixel reads a tap. Inside of the input `from` is the address of the first block of
 * channels; the offset of other blocks is added. Outside it is that of zeros, for all blocks. */
typedef struct GlowConvTap {
  const float *from;
  int64_t moves; /* a mask for that offset: all bits, or none */
} GlowConvTap;

/* Finds the inputs of pixel i of a tile, which is at `at`, for all taps. x: of the first tap. */
INLINE void find_taps(const GlowConvParams *s, const float *x, const float *zeros,
                      const GlowConvPixel *at, int i,
                      GlowConvTap taps[GLOW_CONV_MAX_TAPS][GLOW_TILE_PIXELS]) {
  const int64_t h = at->h * s->g.sh - s->g.pt, w = at->w * s->g.sw - s->g.pl;
  ROLLED for (int64_t kh = 0; kh < s->g.kh; kh++) {
    ROLLED for (int64_t kw = 0; kw < s->g.kw; kw++) {
      bool inside = (uint64_t)(h + kh * s->g.dh) < (uint64_t)s->g.ih &&
                    (uint64_t)(w + kw * s->g.dw) < (uint64_t)s->g.iw;
      const float *from = x + kh * s->g.dh * s->g.xh + kw * s->g.dw * s->g.xw;
      taps[kh * s->g.kw + kw][i] = (GlowConvTap){inside ? from : zeros, inside ? -1 : 0};
    }
  }
}

/* `count` consecutive pixels by nr vectors, from pixel `first` of all images on: rows and images
 * may end anywhere between them. Each pixel has a pointer of its own, so `count` must be small. */
INLINE void scattered_tile(int count, int nr, const GlowConvParams *params, const GlowConvPtrs *t,
                           int64_t first, int64_t group, GlowEpilogueFn *epilogue) {
  const GlowConvParams s = *params;
  GlowConvPixel at[GLOW_TILE_PIXELS];
  GlowConvTap taps[GLOW_CONV_MAX_TAPS][GLOW_TILE_PIXELS];
  const float *base[GLOW_TILE_PIXELS];
  GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS];
  UNROLL for (int j = 0; j < nr; j++) {
    GlowVec b = bias_at(&s, t->bias, group * s.ob + j * GLOW_VL);
    UNROLL for (int i = 0; i < count; i++) acc[i][j] = b;
  }
  const float *x0 = group_input(&s, t->x, group);
  at[0] = (GlowConvPixel){first / s.g.ow / s.g.oh, first / s.g.ow % s.g.oh, first % s.g.ow};
  UNROLL for (int i = 0; i < count; i++) {
    if (i)
      at[i] = next_pixel(&s, at[i - 1]);
    base[i] = x0 + at[i].n * s.g.xn + (at[i].h * s.g.sh - s.g.pt) * s.g.xh +
              (at[i].w * s.g.sw - s.g.pl) * s.g.xw;
    if (s.padded)
      find_taps(&s, base[i], t->zeros, &at[i], i, taps);
  }
  const float *w = t->w + group * filter_size(&s);
  const float *next = s.ahead ? next_filter(&s, w, group, first / s.tile_rows) : NULL;
  ROLLED for (int64_t c = 0; c < s.g.ic; c += s.block) {
    ROLLED for (int64_t k = 0; k < s.g.kh * s.g.kw; k++) {
      const float *pixel[GLOW_TILE_PIXELS];
      const int64_t channel = c / s.block * s.g.xc;
      const int64_t tap_at = channel + k / s.g.kw * s.g.dh * s.g.xh + k % s.g.kw * s.g.dw * s.g.xw;
      UNROLL for (int i = 0; i < count; i++) {
        pixel[i] = base[i] + tap_at;
        if (s.padded)
          pixel[i] = taps[k][i].from + (channel & taps[k][i].moves);
      }
      if (s.fetch && group % s.gb == 0) {
        UNROLL for (int i = 0; i < count; i++) __builtin_prefetch(pixel[i] + s.fetch, 0, 2);
      }
      if (s.ahead)
        fetch_filter(&s, next);
      next += s.wi * s.ob;
      tap(count, nr, &s, acc, pixel, w, s.g.ic - c < s.block ? s.g.ic - c : s.block);
      w += s.wi * s.ob;
    }
  }
  UNROLL for (int i = 0; i < count; i++) {
    GlowConvRow row = {at[i].n, at[i].h};
    store(1, 1, nr, &s, t, &row, at[i].w, group, acc + i, epilogue);
  }
}

/* Tiles of `width` columns side by side. */
INLINE void tiles(GlowConvTileFn *fn, const GlowConvParams *params, GlowEpilogueFn *callback,
                  const GlowConvPtrs *t, int64_t row, int64_t from, int64_t to, int64_t width,
                  int64_t group) {
  ROLLED while (from < to) {
    int64_t end = GLOW_CONV_SIDE_BY_SIDE ? to : from + width;
    fn(GLOW_IN_LIBRARY(params, callback) t->y, t->x, t->w, t->bias, t->zeros, t->env, row, from,
       end, group);
    from = end;
  }
}

/* The tiles of units [begin, end). Those of `small` are narrower, or have the rows that are left
 * over. The _odd ones serve a last group that has no more than one block of channels. Functions
 * that are not used may be null. The loops, from the outside: bands of rows that share one pass
 * over the filter; groups of output channels, so that a group's filter stays in the cache; rows;
 * columns. */
INLINE void all_tiles(const GlowConvParams *params, GlowConvTileFn *full, GlowConvTileFn *small,
                      GlowConvTileFn *full_odd, GlowConvTileFn *small_odd, GlowEpilogueFn *callback,
                      const GlowConvPtrs *t, int64_t begin, int64_t end) {
  const GlowConvParams s = *params;
  const GlowConvPtrs p = *t;
  const int64_t groups = (s.g.oc + s.ob - 1) / s.ob;
  const bool odd = s.ob > GLOW_CONV_BLOCK && s.g.oc - (groups - 1) * s.ob <= GLOW_CONV_BLOCK;
  const int64_t first_row = s.by_group ? 0 : begin * s.tile_rows;
  const int64_t last_row = s.by_group || end * s.tile_rows > s.rows ? s.rows : end * s.tile_rows;
  const int64_t first_group = s.by_group ? begin : 0, last_group = s.by_group ? end : groups;
  const int64_t slim = s.g.ow - s.narrow * (s.tile_cols - 1); /* where narrower tiles begin */
  ROLLED for (int64_t r0 = first_row; r0 < last_row; r0 += s.band) {
    const int64_t r1 = r0 + s.band < last_row ? r0 + s.band : last_row;
    const int64_t whole = r0 + (r1 - r0) / s.tile_rows * s.tile_rows;
    ROLLED for (int64_t g = first_group; g < last_group; g++) {
      const bool last = odd && g == groups - 1;
      GlowConvTileFn *f = last ? full_odd : full, *h = last ? small_odd : small;
      if (s.scattered) {
        tiles(f, params, callback, &p, 0, r0, whole, s.tile_rows, g);
        if (s.rows % s.tile_rows)
          tiles(h, params, callback, &p, 0, whole, r1, s.tile_rows, g);
        continue;
      }
      ROLLED for (int64_t r = r0; r < whole; r += s.tile_rows) {
        tiles(f, params, callback, &p, r, 0, slim, s.tile_cols, g);
        if (s.narrow)
          tiles(h, params, callback, &p, r, slim, s.g.ow, s.tile_cols - 1, g);
      }
      if (s.rows % s.tile_rows && r1 > whole)
        tiles(h, params, callback, &p, whole, 0, s.g.ow, s.tile_cols, g);
    }
  }
}

#endif
