/* The sums of narrow integers on machines with AMX: tiles of 16 outputs by 16 filters, of which two
 * by two have a step of up to 64 of k at once.
 *
 * A row of a tile of X is one output's: `step` groups of four channels, from there on. Where rows
 * of the input lie evenly, tiles run over the rows of a band as if these were one, and what they
 * compute between two of them is for nobody. The last tile is moved back to end with the band; what
 * is known already is not stored again. */
#ifndef GLOW_KERNELS_CPU_NARROW_SQUARES_H
#define GLOW_KERNELS_CPU_NARROW_SQUARES_H

#include "narrow_results.h"

#ifdef __AMX_INT8__

/* Tiles as in dot.h. Released when the units are done. */
INLINE void narrow_configure(const GlowNarrowParams *p) {
  DotConfig config = {.palette = 1};
  if (!p->step)
    return;
  UNROLL for (int i = 0; i < 8; i++) {
    config.bytes[i] = i == 4 || i == 5 ? (uint16_t)(p->step * DOT_GROUP) : 64;
    config.rows[i] = (uint8_t)(i < 6 ? p->cols : p->step);
  }
  __builtin_ia32_tile_loadconfig(&config);
}

INLINE void narrow_release(const GlowNarrowParams *p) {
  if (p->step)
    __builtin_ia32_tilerelease();
}

/* Sums of one or two tiles of outputs, whose windows are at x, by one or two panels. */
INLINE void narrow_square(int tiles, int panels, const Unit *u, const NarrowX *const *x,
                          const int8_t *w, const int32_t *start, int32_t *sums) {
  const GlowNarrowParams *p = u->p;
  const size_t step = (size_t)(p->sw * u->pixel), line = NARROW_COLUMNS * sizeof(int32_t);
  __builtin_ia32_tileloadd64(0, start, 0);
  if (panels > 1)
    __builtin_ia32_tileloadd64(1, start + DOT_PANEL, 0);
  if (tiles > 1)
    __builtin_ia32_tileloadd64(2, start, 0);
  if (tiles > 1 && panels > 1)
    __builtin_ia32_tileloadd64(3, start + DOT_PANEL, 0);
  ROLLED for (int64_t r = 0; r < p->kh; r++) {
    ROLLED for (int64_t s = 0; s < p->runs; s++) {
      int64_t at = r * p->dh * u->row + s * p->dw * u->pixel;
      ROLLED for (int64_t g = 0; g < p->run; g += p->step) {
        __builtin_ia32_tileloadd64(6, w, DOT_BYTES);
        __builtin_ia32_tileloadd64(4, x[0] + at, step);
        __builtin_ia32_tdpbusd(0, 4, 6);
        if (panels > 1) {
          __builtin_ia32_tileloadd64(7, w + u->panel, DOT_BYTES);
          __builtin_ia32_tdpbusd(1, 4, 7);
        }
        if (tiles > 1) {
          __builtin_ia32_tileloadd64(5, x[1] + at, step);
          __builtin_ia32_tdpbusd(2, 5, 6);
          if (panels > 1)
            __builtin_ia32_tdpbusd(3, 5, 7);
        }
        w += p->step * DOT_BYTES;
        at += p->step * DOT_GROUP;
      }
    }
  }
  __builtin_ia32_tilestored64(0, sums, line);
  if (panels > 1)
    __builtin_ia32_tilestored64(1, sums + DOT_PANEL, line);
  if (tiles > 1)
    __builtin_ia32_tilestored64(2, sums + NARROW_SQUARE * NARROW_COLUMNS, line);
  if (tiles > 1 && panels > 1)
    __builtin_ia32_tilestored64(3, sums + NARROW_SQUARE * NARROW_COLUMNS + DOT_PANEL, line);
}

/* Where outputs lie: `seen` of a row, of which one begins every `pitch` outputs. */
typedef struct NarrowLines {
  int64_t seen, pitch;
} NarrowLines;

/* Outputs [from, to) of a band, whose sums begin at `sums`. */
INLINE void narrow_outputs(const Unit *u, NarrowLines l, int64_t from, int64_t to, int64_t col,
                           int64_t columns, const int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  ROLLED while (from < to) {
    const int64_t row = from / l.pitch, at = from % l.pitch;
    const int64_t count = to - from < l.pitch - at ? to - from : l.pitch - at;
    const int64_t seen = count < l.seen - at ? count : l.seen - at;
    if (seen > 0)
      narrow_finish(u, seen, col, columns, sums, y + (row * p->yh + at * p->yw) * size,
                    add + row * p->ah + at * p->aw);
    from += count;
    sums += count * NARROW_COLUMNS;
  }
}

/* `count` outputs, the first of which is at x, by one or two panels of `columns` filters from `col`
 * on. */
INLINE void narrow_line_of_squares(int panels, const Unit *u, NarrowLines l, const NarrowX *x,
                                   int64_t count, int64_t col, int64_t columns, int32_t *sums,
                                   char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int8_t *w = u->w + col / DOT_PANEL * u->panel;
  const int64_t pixel = p->sw * u->pixel;
  ROLLED for (int64_t at = 0; at < count; at += 2 * p->cols) {
    int64_t first[2];
    const NarrowX *from[2];
    UNROLL for (int i = 0; i < 2; i++) {
      const int64_t begin = at + i * p->cols, last = count - p->cols;
      first[i] = begin < last ? begin : last < 0 && p->copied ? 0 : last;
      from[i] = x + first[i] * pixel;
    }
    const bool both = count - at > p->cols;
    if (both)
      narrow_square(2, panels, u, from, w, u->start + col, sums);
    else
      narrow_square(1, panels, u, from, w, u->start + col, sums);
    ROLLED for (int64_t i = 0; i < 1 + both; i++) {
      const int64_t begin = at + i * p->cols,
                    end = begin + p->cols < count ? begin + p->cols : count;
      narrow_outputs(u, l, begin, end, col, columns,
                     sums + (i * NARROW_SQUARE + begin - first[i]) * NARROW_COLUMNS, y, add);
    }
  }
}

/* Some output rows of an image by the filters of a tile. */
INLINE void narrow_band_of_squares(const Unit *u, int64_t rows, int64_t col, int64_t columns,
                                   int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const int64_t lines = p->pitch ? 1 : rows,
                count = p->pitch ? (rows - 1) * p->pitch + p->ow : p->ow;
  const bool joined = p->pitch == p->ow && p->yh == p->ow * p->yw && p->ah == p->ow * p->aw;
  NarrowLines l = {p->ow, p->pitch};
  if (joined || !p->pitch)
    l = (NarrowLines){count, count};
  ROLLED for (int64_t r = 0; r < lines; r++) {
    const NarrowX *x = u->x + r * p->sh * u->row;
    if (columns > DOT_PANEL)
      narrow_line_of_squares(2, u, l, x, count, col, columns, sums, y, add);
    else
      narrow_line_of_squares(1, u, l, x, count, col, columns, sums, y, add);
    y += p->yh * size;
    add += p->ah;
  }
}

#else

INLINE void narrow_configure(const GlowNarrowParams *p) {}
INLINE void narrow_release(const GlowNarrowParams *p) {}
INLINE void narrow_band_of_squares(const Unit *u, int64_t rows, int64_t col, int64_t columns,
                                   int32_t *sums, char *y, const uint8_t *add) {}

#endif
#endif
