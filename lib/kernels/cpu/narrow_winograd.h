/* Sums of narrow integers by Winograd's F(2x2, 3x3), for AVX2 without VNNI: 16 products for four
 * sums instead of 36, in 16 bits. Exact, since the transforms are of integers:
 *
 *   x   B^T x B of a tile of 4x4 bytes is within +-1020
 *   w   G w G^T, where rows of G that have halves are doubled, is within +-1152
 *   y   A^T m A, where what stands for doubled rows is halved: their sums are even
 *
 * and sums over up to 1024 channels stay in 32 bits.
 *
 * A band of output rows is tiles of 2x2. Its transformed input is [16 places][tiles][channels], a
 * panel's filters [16 places][pairs of channels][16 filters][2], what they give
 * [16 places][tiles][16 filters]. Channels are in the order of narrow_wide_x. */
#ifndef GLOW_KERNELS_CPU_NARROW_WINOGRAD_H
#define GLOW_KERNELS_CPU_NARROW_WINOGRAD_H

#include "narrow_results.h"

#if NARROW_PROVES

enum { NARROW_PLACES = 16, NARROW_SIDE = 4 };

/* Elements of the transformed filters of a panel. */
INLINE int64_t narrow_winograd_panel(const GlowNarrowParams *p) {
  return NARROW_PLACES * p->tap * DOT_BYTES;
}

/* Tiles of a row of outputs, and of a band, with those that fill its last register tile. */
INLINE int64_t narrow_winograd_across(const GlowNarrowParams *p) { return (p->ow + 1) / 2; }
INLINE int64_t narrow_winograd_tiles(const GlowNarrowParams *p, int64_t rows) {
  const int64_t tiles = (rows + 1) / 2 * narrow_winograd_across(p);
  return (tiles + NARROW_PIXELS - 1) / NARROW_PIXELS * NARROW_PIXELS;
}

/* ---- Transforms ------------------------------------------------------------------------------ */

/* Filters of a panel: eight filters by two channels at a time. */
NARROW_APART void narrow_winograd_filters(int16_t *to, const int8_t *w, int64_t tap) {
  ROLLED for (int64_t i = 0; i < tap * 4; i++, to += 16) {
    const int64_t group = i / 4, half = i % 2, odd = i / 2 % 2;
    NarrowTwo g[NARROW_SIDE][3];
    UNROLL for (int s = 0; s < 3; s++) {
      NarrowTwo v[3];
      UNROLL for (int r = 0; r < 3; r++) {
        v[r] = (NarrowTwo)narrow_load(w + ((3 * r + s) * tap + group) * DOT_BYTES + half * 32);
        v[r] = odd ? v[r] >> 8 : v[r] << 8 >> 8;
      }
      g[0][s] = v[0], g[3][s] = v[2];
      g[1][s] = v[0] + v[2] + v[1], g[2][s] = v[0] + v[2] - v[1];
    }
    UNROLL for (int r = 0; r < NARROW_SIDE; r++) {
      const NarrowTwo ends = g[r][0] + g[r][2];
      const NarrowTwo all[] = {g[r][0], ends + g[r][1], ends - g[r][1], g[r][2]};
      UNROLL for (int s = 0; s < NARROW_SIDE; s++) *
          (NarrowTwo *)(to + (NARROW_SIDE * r + s) * tap * DOT_BYTES) = all[s];
    }
  }
}

/* 16 channels of a pixel. */
INLINE NarrowTwo narrow_winograd_pixel(const NarrowX *x) {
  typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1)));
  const Bytes v = *(const Bytes *)x;
  return __builtin_convertvector(
      __builtin_shufflevector(v, v, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15),
      NarrowTwo);
}
/* B^T of four. */
INLINE void narrow_winograd_four(NarrowTwo *to, NarrowTwo a, NarrowTwo b, NarrowTwo c,
                                 NarrowTwo d) {
  to[0] = a - c, to[1] = b + c, to[2] = c - b, to[3] = b - d;
}
INLINE void narrow_winograd_column(NarrowTwo *to, const NarrowX *x, int64_t row) {
  narrow_winograd_four(to, narrow_winograd_pixel(x), narrow_winograd_pixel(x + row),
                       narrow_winograd_pixel(x + 2 * row), narrow_winograd_pixel(x + 3 * row));
}

/* A row of tiles, whose first pixel is at x; `place`: elements from a place to the next. */
INLINE void narrow_winograd_row(const Unit *u, int16_t *to, int64_t place, const NarrowX *x) {
  const int64_t room = u->p->tap * DOT_GROUP, tiles = narrow_winograd_across(u->p);
  ROLLED for (int64_t c = 0; c < room; c += 16) {
    const NarrowX *from = x + c;
    int16_t *at = to + c;
    NarrowTwo v[NARROW_SIDE][NARROW_SIDE];
    narrow_winograd_column(v[0], from, u->row);
    narrow_winograd_column(v[1], from + u->pixel, u->row);
    ROLLED for (int64_t i = 0; i < tiles; i++, at += room) {
      from += 2 * u->pixel;
      narrow_winograd_column(v[2], from, u->row);
      narrow_winograd_column(v[3], from + u->pixel, u->row);
      UNROLL for (int r = 0; r < NARROW_SIDE; r++) {
        NarrowTwo t[NARROW_SIDE];
        narrow_winograd_four(t, v[0][r], v[1][r], v[2][r], v[3][r]);
        UNROLL for (int s = 0; s < NARROW_SIDE; s++) *
            (NarrowTwo *)(at + (NARROW_SIDE * r + s) * place) = t[s];
        v[0][r] = v[2][r], v[1][r] = v[3][r];
      }
    }
  }
}
INLINE void narrow_winograd_band(const Unit *u, int64_t rows) {
  const int64_t room = u->p->tap * DOT_GROUP, tiles = narrow_winograd_across(u->p);
  const int64_t place = narrow_winograd_tiles(u->p, rows) * room;
  ROLLED for (int64_t r = 0; 2 * r < rows; r++)
      narrow_winograd_row(u, u->places + r * tiles * room, place, u->band + 2 * r * u->row);
}

/* ---- Products -------------------------------------------------------------------------------- */

/* NARROW_PIXELS tiles by a panel, at one place. */
INLINE void narrow_winograd_product(int64_t tap, int32_t *to, const int16_t *x, const int16_t *w) {
  GlowVecI acc[NARROW_PIXELS][NARROW_VECTORS];
  UNROLL for (int i = 0; i < NARROW_PIXELS; i++) {
    UNROLL for (int j = 0; j < 2; j++) acc[i][j] = dot_splat(0);
  }
  ROLLED for (int64_t k = 0; k < 2 * tap; k++, x += 2, w += 32) {
    const NarrowTwo b[2] = {*(const NarrowTwo *)w, *(const NarrowTwo *)(w + 16)};
    UNROLL for (int i = 0; i < NARROW_PIXELS; i++) {
      const NarrowTwo v = narrow_two_of(x + i * tap * DOT_GROUP);
      UNROLL for (int j = 0; j < 2; j++) acc[i][j] += narrow_wide(v, b[j]);
    }
  }
  UNROLL for (int i = 0; i < NARROW_PIXELS; i++) {
    UNROLL for (int j = 0; j < 2; j++) * (GlowVecI *)(to + i * DOT_PANEL + j * GLOW_VL) = acc[i][j];
  }
}

/* ---- Results --------------------------------------------------------------------------------- */

/* A^T of four, the doubled ones of which are halved. */
INLINE void narrow_winograd_two(GlowVecI *to, GlowVecI a, GlowVecI b, GlowVecI c, GlowVecI d) {
  to[0] = a + ((b + c) >> 1);
  to[1] = ((b - c) >> 1) - d;
}

/* The sums of the outputs of a tile, [row][column][register]; `place`: from one to the next. */
INLINE void narrow_winograd_sums(const int32_t *m, int64_t place, const int32_t *start,
                                 GlowVecI (*acc)[2][NARROW_VECTORS]) {
  UNROLL for (int j = 0; j < NARROW_VECTORS; j++) {
    GlowVecI t[NARROW_SIDE][2], y[2];
    const GlowVecI first = *(const GlowVecI *)(start + j * GLOW_VL);
    UNROLL for (int s = 0; s < NARROW_SIDE; s++) {
      GlowVecI v[NARROW_SIDE];
      UNROLL for (int r = 0; r < NARROW_SIDE; r++) v[r] =
          *(const GlowVecI *)(m + (NARROW_SIDE * r + s) * place + j * GLOW_VL);
      narrow_winograd_two(t[s], v[0], v[1], v[2], v[3]);
    }
    UNROLL for (int r = 0; r < 2; r++) {
      narrow_winograd_two(y, t[0][r], t[1][r], t[2][r], t[3][r]);
      UNROLL for (int s = 0; s < 2; s++) acc[r][s][j] = y[s] + first;
    }
  }
}

/* Finishes `count` outputs of a row. */
INLINE void narrow_winograd_put(int count, const Unit *u, int64_t col, int64_t columns,
                                GlowVecI (*acc)[NARROW_VECTORS], int32_t *sums, char *y,
                                const uint8_t *add) {
  if (narrow_is_direct(u, columns)) {
    narrow_direct(count, u, col, acc, y);
    return;
  }
  narrow_keep(count, NARROW_VECTORS, u->start + col, acc, sums);
  narrow_finish(u, count, col, columns, sums, y, add);
}

/* The results of a row of tiles by a panel. */
INLINE void narrow_winograd_results(const Unit *u, const int32_t *m, int64_t place, int64_t rows,
                                    int64_t col, int64_t columns, int32_t *sums, char *y,
                                    const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  ROLLED for (int64_t at = 0; at < p->ow; at += 2, m += DOT_PANEL) {
    GlowVecI acc[2][2][NARROW_VECTORS];
    narrow_winograd_sums(m, place, u->start + col, acc);
    UNROLL for (int r = 0; r < 2; r++) {
      char *to = y + (r * p->yh + at * p->yw) * size;
      const uint8_t *of = add + r * p->ah + at * p->aw;
      if (r >= rows)
        continue;
      if (at + 1 < p->ow)
        narrow_winograd_put(2, u, col, columns, acc[r], sums, to, of);
      else
        narrow_winograd_put(1, u, col, columns, acc[r], sums, to, of);
    }
  }
}

/* Some output rows of an image by the filters of a unit; y and add: of the first filter. */
INLINE void narrow_winograd_rows(const Unit *u, int64_t rows, int64_t columns, int32_t *sums,
                                 char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const int64_t across = narrow_winograd_across(p), tiles = narrow_winograd_tiles(p, rows);
  const int64_t room = p->tap * DOT_GROUP, place = tiles * DOT_PANEL;
  const int16_t *w = u->filters;
  ROLLED for (int64_t col = 0; col < columns; col += DOT_PANEL) {
    ROLLED for (int64_t i = 0; i < NARROW_PLACES; i++, w += p->tap * DOT_BYTES) {
      const int16_t *x = u->places + i * tiles * room;
      ROLLED for (int64_t t = 0; t < tiles; t += NARROW_PIXELS)
          narrow_winograd_product(p->tap, u->products + i * place + t * DOT_PANEL, x + t * room, w);
    }
    ROLLED for (int64_t r = 0; r < rows; r += 2) narrow_winograd_results(
        u, u->products + r / 2 * across * DOT_PANEL, place, rows - r, col, columns - col, sums,
        y + (r * p->yh + col) * size, add + r * p->ah + col);
  }
}

#endif
#endif
