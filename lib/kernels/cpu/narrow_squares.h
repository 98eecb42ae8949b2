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

/* Sums of one or two tiles of outputs, whose windows are at x, by one or two panels, stored at `to`
 * in rows of so many bytes. Each step fetches `ahead` cache lines from `next` on. */
INLINE void narrow_square(int tiles, int panels, const Unit *u, const NarrowX *const *x,
                          const int8_t *w, const int8_t *next, int64_t ahead, const int32_t *start,
                          int32_t *const *to, size_t row) {
  const GlowNarrowParams *p = u->p;
  const size_t step = (size_t)(p->sw * u->pixel);
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
        ROLLED for (int64_t i = 0; i < ahead; i++, next += DOT_BYTES)
            __builtin_prefetch(next, 0, 2);
        w += p->step * DOT_BYTES;
        at += p->step * DOT_GROUP;
      }
    }
  }
  __builtin_ia32_tilestored64(0, to[0], row);
  if (panels > 1)
    __builtin_ia32_tilestored64(1, to[0] + DOT_PANEL, row);
  if (tiles > 1)
    __builtin_ia32_tilestored64(2, to[1], row);
  if (tiles > 1 && panels > 1)
    __builtin_ia32_tilestored64(3, to[1] + DOT_PANEL, row);
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

/* One or two tiles of a line of outputs: outputs [begin, end), and for each tile the first one that
 * it has and where the window of that is. */
typedef struct NarrowBlock {
  int64_t begin, end, first[2];
  const NarrowX *from[2];
  bool both;
} NarrowBlock;

/* The block at output `at` of `count`, of which the first is at x. */
INLINE NarrowBlock narrow_block(const Unit *u, const NarrowX *x, int64_t at, int64_t count) {
  const GlowNarrowParams *p = u->p;
  NarrowBlock b = {.begin = at, .end = at + 2 * p->cols, .both = count - at > p->cols};
  if (b.end > count)
    b.end = count;
  UNROLL for (int i = 0; i < 2; i++) {
    const int64_t begin = at + i * p->cols, last = count - p->cols;
    b.first[i] = begin < last ? begin : last < 0 && p->copied ? 0 : last;
    b.from[i] = x + b.first[i] * p->sw * u->pixel;
  }
  return b;
}

/* A block by one or two panels of `columns` filters from `col` on. Whole tiles of sums that nobody
 * finishes are stored where they belong, if all outputs of a line do. */
INLINE void narrow_block_results(int panels, const Unit *u, NarrowLines l, const NarrowBlock *b,
                                 const int8_t *next, int64_t ahead, int64_t col, int64_t columns,
                                 int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int8_t *w = u->w + col / DOT_PANEL * u->panel;
  int32_t *to[2] = {sums, sums + NARROW_SQUARE * NARROW_COLUMNS};
  size_t row = NARROW_COLUMNS * sizeof(int32_t);
  const bool placed = p->result == GLOW_NARROW_RESULT_SUMS && l.seen == l.pitch &&
                      l.seen >= p->cols && narrow_is_whole(p, columns, panels * DOT_PANEL);
  if (placed) {
    row = (size_t)p->yw * sizeof(int32_t);
    UNROLL for (int i = 0; i < 2; i++) to[i] = (int32_t *)(void *)y + b->first[i] * p->yw;
  }
  if (b->both)
    narrow_square(2, panels, u, b->from, w, next, ahead, u->start + col, to, row);
  else
    narrow_square(1, panels, u, b->from, w, next, ahead, u->start + col, to, row);
  if (placed)
    return;
  ROLLED for (int64_t i = 0; i < 1 + b->both; i++) {
    const int64_t begin = b->begin + i * p->cols;
    const int64_t end = begin + p->cols < b->end ? begin + p->cols : b->end;
    narrow_outputs(u, l, begin, end, col, columns,
                   sums + (i * NARROW_SQUARE + begin - b->first[i]) * NARROW_COLUMNS, y, add);
  }
}

/* Some output rows of an image by the filters of a unit: a block by all filters, so that it stays
 * in the first level of cache. */
INLINE void narrow_band_of_squares(const Unit *u, int64_t rows, int64_t columns, int32_t *sums,
                                   char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const int64_t lines = p->pitch ? 1 : rows;
  const int64_t count = p->pitch ? (rows - 1) * p->pitch + p->ow : p->ow;
  const bool joined = p->pitch == p->ow && p->yh == p->ow * p->yw && p->ah == p->ow * p->aw;
  const NarrowLines l =
      joined || !p->pitch ? (NarrowLines){count, count} : (NarrowLines){p->ow, p->pitch};
  const int64_t fetched = p->kh * p->runs * p->run / p->step * p->ahead * DOT_BYTES;
  const int8_t *next = u->w + p->columns / DOT_PANEL * u->panel;
  const int8_t *last = next + (next - u->w);
  ROLLED for (int64_t r = 0; r < lines; r++, y += p->yh * size, add += p->ah) {
    const NarrowX *x = u->x + r * p->sh * u->row;
    ROLLED for (int64_t at = 0; at < count; at += 2 * p->cols) {
      const NarrowBlock b = narrow_block(u, x, at, count);
      ROLLED for (int64_t col = 0; col < columns; col += NARROW_COLUMNS, next += fetched) {
        const int64_t ahead = next < last ? p->ahead : 0;
        if (narrow_is_whole(p, columns - col, DOT_PANEL + 1))
          narrow_block_results(2, u, l, &b, next, ahead, col, columns - col, sums, y + col * size,
                               add + col);
        else
          narrow_block_results(1, u, l, &b, next, ahead, col, columns - col, sums, y + col * size,
                               add + col);
      }
    }
  }
}

#else

INLINE void narrow_configure(const GlowNarrowParams *p) {}
INLINE void narrow_release(const GlowNarrowParams *p) {}
INLINE void narrow_band_of_squares(const Unit *u, int64_t rows, int64_t columns, int32_t *sums,
                                   char *y, const uint8_t *add) {}

#endif
#endif
