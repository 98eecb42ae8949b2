/* Winograd's convolution F(n x n, 3x3), where n, called side, is 4 or 2, over blocked activations;
 * see docs/Numerics for what it computes and conv.ops for what lies where.
 *
 * A block of tiles goes through three steps while it is in the cache: the input transform, 36 or 16
 * matrix products (tiles by input channels, times a place of the filter), and the output transform,
 * which adds the bias, applies the epilogue and stores. A product keeps a chunk of tiles by output
 * vectors in registers, as a direct convolution does with its pixels. Tiles that reach outside of
 * the input are copied with zeros around them first. */
#ifndef GLOW_KERNELS_CPU_WINOGRAD_TILE_H
#define GLOW_KERNELS_CPU_WINOGRAD_TILE_H

#include "conv_tile.h"
#include "winograd_line.h"

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* The parameters with a literal as side, so that loops unroll where no kernel is specialized. */
INLINE GlowWinogradParams with_side(const GlowWinogradParams *params, int side) {
  GlowWinogradParams s = *params;
  s.side = side;
  s.points = side + 2;
  return s;
}

/* Where a tile is: image, first row and column of its outputs. */
typedef struct GlowWinogradTile {
  int64_t n, h, w;
} GlowWinogradTile;

INLINE GlowWinogradTile tile_at(const GlowWinogradParams *s, int64_t i) {
  int64_t row = i / s->across;
  return (GlowWinogradTile){row / s->down, row % s->down * s->side, i % s->across * s->side};
}
INLINE void next_tile(const GlowWinogradParams *s, GlowWinogradTile *t) {
  t->w += s->side;
  if (t->w < s->g.ow)
    return;
  t->w = 0;
  t->h += s->side;
  if (t->h < s->g.oh)
    return;
  t->h = 0;
  t->n++;
}

/* Transforms one vector of channels of a tile: its columns, then the rows of what they give. The
 * tile begins at d and has the strides row and col. Results go to v, `place` floats apart. */
INLINE void transform_input(int side, const float *d, int64_t row, int64_t col, float *v,
                            int64_t place) {
  const int points = side + 2;
  float columns[GLOW_WINOGRAD_MOST_PLACES * GLOW_VL] __attribute__((aligned(64)));
  ROLLED for (int64_t j = 0; j < points; j++) {
    input_points(side, d + j * col, row, columns + j * GLOW_VL, points * GLOW_VL);
  }
  ROLLED for (int64_t i = 0; i < points; i++) {
    input_points(side, columns + i * points * GLOW_VL, GLOW_VL, v + i * points * place, place);
  }
}

/* The same for a tile of which a part lies outside of the input. */
INLINE void transform_edge(const GlowWinogradParams *s, const float *x, int64_t h, int64_t w,
                           float *v) {
  const int side = (int)s->side, points = side + 2;
  float d[GLOW_WINOGRAD_MOST_PLACES * GLOW_VL] __attribute__((aligned(64)));
  static const float zeros[GLOW_VL] __attribute__((aligned(64)));
  ROLLED for (int64_t i = 0; i < points; i++) {
    bool inside = (uint64_t)(h + i) < (uint64_t)s->g.ih;
    UNROLL for (int j = 0; j < points; j++) {
      const float *from =
          inside && (uint64_t)(w + j) < (uint64_t)s->g.iw ? x + i * s->g.xh + j * s->g.xw : zeros;
      vec_store(d + (i * points + j) * GLOW_VL, vec_load(from));
    }
  }
  transform_input(side, d, points * GLOW_VL, GLOW_VL, v, s->v_place);
}

/* Prefetches the pixels in the middle of a tile; its neighbours fetch those around the middle. */
INLINE void fetch_tile(int side, const float *d, int64_t row, int64_t col) {
  UNROLL for (int i = 1; i <= side; i++) {
    UNROLL for (int j = 1; j <= side; j++) __builtin_prefetch(d + i * row + j * col, 0, 2);
  }
}

/* V of `count` tiles from `first` on. */
INLINE void input_step(int side, const GlowWinogradParams *params, const float *x, float *scratch,
                       int64_t first, int64_t count) {
  const GlowWinogradParams s = with_side(params, side);
  ROLLED for (int64_t c = 0; c < s.g.ic; c += GLOW_CONV_BLOCK) {
    GlowWinogradTile t = tile_at(&s, first), next = tile_at(&s, first + count);
    float *v = scratch + c * s.room;
    ROLLED for (int64_t i = 0; i < count; i++, v += GLOW_CONV_BLOCK, next_tile(&s, &t)) {
      int64_t h = t.h - s.g.pt, w = t.w - s.g.pl;
      bool inside = h >= 0 && w >= 0 && h + s.points <= s.g.ih && w + s.points <= s.g.iw;
      const float *d = x + t.n * s.g.xn + c / GLOW_CONV_BLOCK * s.g.xc + h * s.g.xh + w * s.g.xw;
      if (c + GLOW_CONV_BLOCK < s.g.ic) {
        fetch_tile(side, d + s.g.xc, s.g.xh, s.g.xw);
      } else {
        fetch_tile(side,
                   x + next.n * s.g.xn + (next.h - s.g.pt) * s.g.xh + (next.w - s.g.pl) * s.g.xw,
                   s.g.xh, s.g.xw);
        next_tile(&s, &next);
      }
      ROLLED for (int64_t l = 0; l < GLOW_CONV_BLOCK; l += GLOW_VL) {
        if (inside)
          transform_input(side, d + l, s.g.xh, s.g.xw, v + l, s.v_place);
        else
          transform_edge(&s, d + l, h, w, v + l);
      }
    }
  }
}

/* Where a vector of results of a tile goes, and what happens to it before. */
typedef struct GlowWinogradStore {
  float *y;
  GlowVec bias;
  void *const *env;
  int64_t c; /* first channel */
} GlowWinogradStore;

/* Whether place j of a row of the tile lies in the map. */
INLINE bool inside_row(const GlowWinogradParams *s, const GlowWinogradTile *t, int j) {
  return s->g.ow % s->side == 0 || t->w + j < s->g.ow;
}

/* Row i of the tile, from places along it: output transform, bias, epilogue. */
INLINE void finish_row(const GlowWinogradParams *s, const GlowWinogradTile *t, const float *row,
                       int64_t i, const GlowWinogradStore *to, GlowEpilogueFn *epilogue,
                       GlowVec *r) {
  const int side = (int)s->side;
  output_line(side, row, GLOW_VL, r);
  UNROLL for (int j = 0; j < side && inside_row(s, t, j); j++) {
    r[j] = finish_pixel(epilogue, s->g.bias ? r[j] + to->bias : r[j], to->env, t->n, to->c,
                        t->h + i, t->w + j);
  }
}

/* Stores results; lanes behind the last channel are +0. */
INLINE void store_result(const GlowWinogradParams *s, const GlowWinogradStore *to, int64_t i,
                         int64_t j, GlowVec v) {
  if (s->g.oc % GLOW_CONV_BLOCK && to->c + GLOW_VL > s->g.oc)
    v = vec_first(v, s->g.oc - to->c);
  vec_store(to->y + i * s->g.yh + j * s->g.yw, v);
}

/* One vector of channels of a tile: output transform, bias, epilogue, pool, store. */
INLINE void finish_tile(const GlowWinogradParams *s, const GlowWinogradTile *t, const float *m,
                        const GlowWinogradStore *to, GlowEpilogueFn *epilogue) {
  const int side = (int)s->side, points = side + 2;
  float rows[GLOW_WINOGRAD_MOST_PLACES * GLOW_VL] __attribute__((aligned(64)));
  GlowVec r[GLOW_WINOGRAD_LARGE], below[GLOW_WINOGRAD_LARGE];
  ROLLED for (int64_t j = 0; j < points; j++) {
    output_line(side, m + j * s->m_place, points * s->m_place, r);
    UNROLL for (int i = 0; i < side; i++) { vec_store(rows + (i * points + j) * GLOW_VL, r[i]); }
  }
  const float *row = rows;
  const int64_t next = points * GLOW_VL, down = s->pool ? 2 : 1;
  ROLLED for (int64_t i = 0; i < side && t->h + i + down <= s->g.oh; i += down) {
    finish_row(s, t, row, i, to, epilogue, r);
    if (s->pool) {
      finish_row(s, t, row + next, i + 1, to, epilogue, below);
      UNROLL for (int j = 0; j < side && inside_row(s, t, j + 1); j += 2) {
        GlowVec top = vec_top(vec_top(vec_top(r[j], r[j + 1]), below[j]), below[j + 1]);
        store_result(s, to, i / 2, j / 2, top);
      }
    } else {
      UNROLL for (int j = 0; j < side && inside_row(s, t, j); j++) {
        store_result(s, to, i, j, r[j]);
      }
    }
    row += down * next;
  }
}

/* The results of `count` tiles from `first` on. */
INLINE void output_step(int side, const GlowWinogradParams *params, float *y, const float *bias,
                        void *const *env, const float *scratch, int64_t first, int64_t count,
                        GlowEpilogueFn *epilogue) {
  const GlowWinogradParams s = with_side(params, side);
  const int64_t channels = (s.g.oc + GLOW_CONV_BLOCK - 1) / GLOW_CONV_BLOCK * GLOW_CONV_BLOCK;
  ROLLED for (int64_t c = 0; c < channels; c += GLOW_VL) {
    GlowWinogradTile t = tile_at(&s, first);
    int64_t block = c / GLOW_CONV_BLOCK, lane = c % GLOW_CONV_BLOCK;
    const float *m = scratch + s.m_at + block * GLOW_CONV_BLOCK * s.room + lane;
    GlowWinogradStore to = {.env = env, .c = c};
    if (s.g.bias)
      to.bias = s.g.oc % GLOW_CONV_BLOCK == 0 || c + GLOW_VL <= s.g.oc
                    ? vec_load(bias + c)
                    : vec_load_first(bias + c, s.g.oc - c);
    ROLLED for (int64_t i = 0; i < count; i++, m += GLOW_CONV_BLOCK, next_tile(&s, &t)) {
      const int64_t h = s.pool ? t.h / 2 : t.h, w = s.pool ? t.w / 2 : t.w;
      to.y = y + t.n * s.g.yn + block * s.g.yc + h * s.g.yh + w * s.g.yw + lane;
      finish_tile(&s, &t, m, &to, epilogue);
    }
  }
}

/* ---- Products -------------------------------------------------------------------------------- */

/* Blocks of output channels of the filter. Each is as wide as a tile. */
INLINE int64_t groups_of(const GlowWinogradParams *s) {
  const int64_t width = (int64_t)GLOW_TILE_VECTORS * GLOW_VL;
  return (s->g.oc + width - 1) / width;
}

/* n of d, rounded up. Most divide by one, and a division takes as long as a small product. */
INLINE int64_t share_of(int64_t n, int64_t d) { return d == 1 ? n : (n + d - 1) / d; }

/* What a product fetches for the next step: cache lines of the filter from u on and of V from v on,
 * so many of each for every block of input channels that it works on. */
typedef struct GlowWinogradAhead {
  const float *u, *v;
  int64_t u_lines, v_lines;
} GlowWinogradAhead;

/* The next block of the filter, and the next place of V, spread over what is computed till then. */
INLINE GlowWinogradAhead ahead_of(const GlowWinogradParams *s, const float *u, const float *scratch,
                                  int64_t blocks, int64_t place, int64_t group, int64_t first) {
  const int64_t chunk = group * s->block + (first ? first / s->chunk : 0);
  GlowWinogradAhead a = {.u_lines = share_of(s->ob, s->block),
                         .v_lines = share_of(s->chunk, groups_of(s))};
  a.u = u + blocks * GLOW_CONV_BLOCK * s->ob;
  a.v = scratch + (place + 1) * s->v_place + chunk * blocks * a.v_lines * GLOW_CONV_BLOCK;
  return a;
}

/* Library code fetches four lines in each round, since it does not know how many there are. */
INLINE void fetch_lines(const float *from, int64_t lines) {
#ifdef GLOW_LIBRARY
  ROLLED for (; lines >= 4; lines -= 4, from += 64) {
    UNROLL for (int i = 0; i < 4; i++) __builtin_prefetch(from + 16 * i, 0, 2);
  }
  ROLLED for (; lines > 0; lines--, from += 16) __builtin_prefetch(from, 0, 2);
#else
  UNROLL for (int i = 0; i < lines; i++) __builtin_prefetch(from + 16 * i, 0, 2);
#endif
}

INLINE void fetch_ahead(GlowWinogradAhead *a) {
  fetch_lines(a->u, a->u_lines);
  fetch_lines(a->v, a->v_lines);
  a->u += 16 * a->u_lines;
  a->v += 16 * a->v_lines;
}

/* Adds the products of one block of channels: those at row[i] of mr tiles, by the filter at u. */
INLINE void multiply_block(int mr, const GlowWinogradParams *s,
                           GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS],
                           const float *const *row, const float *u, int64_t channels) {
  if (s->g.ic % GLOW_CONV_BLOCK == 0) {
    ROLLED for (int64_t k = 0; k < GLOW_CONV_BLOCK; k += 4) {
      UNROLL for (int e = 0; e < 4; e++) {
        step(mr, GLOW_TILE_VECTORS, acc, row, u + (k + e) * s->ob, k + e);
      }
    }
  } else {
    ROLLED for (int64_t k = 0; k < GLOW_CONV_BLOCK && k < channels; k++) {
      step(mr, GLOW_TILE_VECTORS, acc, row, u + k * s->ob, k);
    }
  }
}

/* `count` chunks of mr tiles, from tile `first` of the block on, at one place and one block of
 * output channels. */
INLINE void product_step(int mr, const GlowWinogradParams *params, const float *w, float *scratch,
                         int64_t place, int64_t group, int64_t first, int64_t count) {
  const GlowWinogradParams s = *params;
  const int64_t blocks = (s.g.ic + GLOW_CONV_BLOCK - 1) / GLOW_CONV_BLOCK;
  const int64_t step_v = GLOW_CONV_BLOCK * s.room;
  const float *u = w + (place * groups_of(&s) + group) * blocks * GLOW_CONV_BLOCK * s.ob;
  const float *v = scratch + place * s.v_place + first * GLOW_CONV_BLOCK;
  float *m = scratch + s.m_at + place * s.m_place + group * s.ob * s.room + first * GLOW_CONV_BLOCK;
  GlowWinogradAhead ahead = ahead_of(&s, u, scratch, blocks, place, group, first);
  ROLLED for (int64_t n = 0; n < count; n++) {
    GlowVec acc[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS] = {0};
    UNROLL for (int64_t o = 0; o < s.ob; o += GLOW_CONV_BLOCK) {
      UNROLL for (int i = 0; i < mr; i++) {
        __builtin_prefetch(m + o * s.room + i * GLOW_CONV_BLOCK, 1, 3);
      }
    }
    ROLLED for (int64_t c = 0; c < blocks; c++) {
      const float *row[GLOW_TILE_PIXELS];
      UNROLL for (int i = 0; i < mr; i++) row[i] = v + c * step_v + i * GLOW_CONV_BLOCK;
      fetch_ahead(&ahead);
      multiply_block(mr, &s, acc, row, u + c * GLOW_CONV_BLOCK * s.ob,
                     s.g.ic - c * GLOW_CONV_BLOCK);
    }
    UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) {
      const int64_t o = j * GLOW_VL;
      float *to = m + o / GLOW_CONV_BLOCK * step_v + o % GLOW_CONV_BLOCK;
      UNROLL for (int i = 0; i < mr; i++) vec_store(to + i * GLOW_CONV_BLOCK, acc[i][j]);
    }
    v += mr * GLOW_CONV_BLOCK;
    m += mr * GLOW_CONV_BLOCK;
  }
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The first tile of a chunk. */
INLINE int64_t first_tile(const GlowWinogradParams *s, int64_t chunk) {
  return chunk * s->chunk - (chunk > s->full ? chunk - s->full : 0);
}

/* Chunks [n, next), which are a block, at pairs [begin, end) of a place and a block of the filter.
 * `small` multiplies those that have one tile less; it may be null. */
INLINE void multiply(const GlowWinogradParams *params, GlowWinogradProductFn *full,
                     GlowWinogradProductFn *small, GlowEpilogueFn *callback,
                     const GlowWinogradPtrs *ptrs, float *scratch, int64_t n, int64_t next,
                     int64_t begin, int64_t end) {
  const GlowWinogradParams s = *params;
  const GlowWinogradPtrs p = *ptrs;
  const int64_t whole = n >= s.full ? 0 : next < s.full ? next - n : s.full - n;
  const int64_t groups = groups_of(&s);
  int64_t place = begin / groups, group = begin % groups;
  ROLLED for (int64_t i = begin; i < end; i++) {
    if (whole)
      full(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env, scratch, place, group, 0,
           whole);
    if (s.full < s.chunks && whole < next - n)
      small(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env, scratch, place, group,
            whole * s.chunk, next - n - whole);
    place += ++group == groups;
    group = group == groups ? 0 : group;
  }
}

/* Units [begin, end) of the step that the parameters name. Functions that it does not need may be
 * null. */
INLINE void all_steps(const GlowWinogradParams *params, GlowWinogradInputFn *input,
                      GlowWinogradProductFn *full, GlowWinogradProductFn *small,
                      GlowWinogradOutputFn *output, GlowEpilogueFn *callback,
                      const GlowWinogradPtrs *ptrs, float *scratch, int64_t begin, int64_t end) {
  const GlowWinogradParams s = *params;
  const GlowWinogradPtrs p = *ptrs;
  if (s.step == GLOW_WINOGRAD_STEP_INPUT) {
    input(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env,
          scratch + begin * GLOW_CONV_BLOCK, begin, end - begin, 0, 0);
  } else if (s.step == GLOW_WINOGRAD_STEP_PRODUCT) {
    multiply(params, full, small, callback, ptrs, scratch, 0, s.chunks, begin, end);
  } else if (s.step == GLOW_WINOGRAD_STEP_OUTPUT) {
    output(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env,
           scratch + begin * GLOW_CONV_BLOCK, begin, end - begin, 0, 0);
  } else {
    ROLLED for (int64_t n = begin; n < end; n += s.block) {
      const int64_t next = n + s.block < end ? n + s.block : end;
      const int64_t tile = first_tile(&s, n), count = first_tile(&s, next) - tile;
      input(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env, scratch, tile, count, 0,
            0);
      multiply(params, full, small, callback, ptrs, scratch, n, next, 0,
               s.points * s.points * groups_of(&s));
      output(GLOW_IN_LIBRARY(params, callback) p.y, p.x, p.w, p.bias, p.env, scratch, tile, count,
             0, 0);
    }
  }
}

#endif
