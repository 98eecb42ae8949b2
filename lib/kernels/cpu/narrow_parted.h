/* Tiles of narrow integers in library code of machines with VNNI: a function for each number of
 * pixels and of registers, and others for what becomes of sums. So each has the machine's registers
 * for itself, and who calls them may keep all it knows in memory. */
#ifndef GLOW_KERNELS_CPU_NARROW_PARTED_H
#define GLOW_KERNELS_CPU_NARROW_PARTED_H

#include "narrow_results.h"

#if defined(GLOW_LIBRARY) && DOT_FOURS
#define NARROW_PARTED 1

/* Where a tile finds what it multiplies, in bytes. */
typedef struct NarrowWindow {
  int64_t rows, runs, run; /* rows of a window, runs of a row, groups of a run */
  int64_t step;            /* from a pixel to the next, of windows */
  int64_t down, right;     /* from the end of a row to the next, from that of a run to the next */
  int64_t panel;           /* from the filters of a register to those of the next */
} NarrowWindow;

enum { NARROW_NEAR = 5 }; /* pixels that one address leads to */

/* Pixels 0, 1, 2, 3 or 4 steps away. `three`: steps that the machine does not multiply. */
INLINE GlowVecI narrow_near(const NarrowX *at, int i, int64_t step, int64_t three) {
  return dot_row(at + (i == 3 ? three : i * step));
}

/* Sums of `count` pixels from x on by `vectors` registers of filters from w on, to `to`, where a
 * pixel is `pitch` numbers behind the one before. */
INLINE void narrow_part_sums(int count, int vectors, const NarrowWindow *t, const NarrowX *x,
                             const int8_t *w, const int32_t *start, int32_t *to, int64_t pitch) {
  const int64_t step = t->step, three = 3 * step, panel = t->panel, run = t->run;
  const int64_t down = t->down, right = t->right;
  const NarrowX *at[3];
  GlowVecI acc[NARROW_PIXELS][NARROW_VECTORS];
  UNROLL for (int i = 0; i < 3; i++) at[i] = x + i * NARROW_NEAR * step;
  UNROLL for (int j = 0; j < vectors; j++) {
    UNROLL for (int i = 0; i < count; i++) acc[i][j] = *(const GlowVecI *)(start + j * GLOW_VL);
  }
  ROLLED for (int64_t r = t->rows; r; r--) {
    ROLLED for (int64_t s = t->runs; s; s--) {
      ROLLED for (int64_t g = run; g; g--) {
        __asm__("" : "+r"(at[0]), "+r"(at[1]), "+r"(at[2])); /* or sums of them would be kept */
        DotB b[NARROW_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) b[j] = dot_columns(w + j * panel, false);
        UNROLL for (int i = 0; i < count; i++) {
          const GlowVecI v = narrow_near(at[i / NARROW_NEAR], i % NARROW_NEAR, step, three);
          UNROLL for (int j = 0; j < vectors; j++) acc[i][j] = dot_step(acc[i][j], v, b[j]);
        }
        w += DOT_BYTES;
        UNROLL for (int i = 0; i < 3; i++) at[i] += DOT_GROUP;
      }
      UNROLL for (int i = 0; i < 3; i++) at[i] += right;
    }
    UNROLL for (int i = 0; i < 3; i++) at[i] += down;
  }
  UNROLL for (int i = 0; i < count; i++) {
    UNROLL for (int j = 0; j < vectors; j++) * (GlowVecI *)(to + j * GLOW_VL) = acc[i][j];
    to += pitch;
  }
}

typedef void NarrowSumsFn(const NarrowWindow *t, const NarrowX *x, const int8_t *w,
                          const int32_t *start, int32_t *to, int64_t pitch);

/* narrow_part_sums of each number of pixels and of registers. */
#define SUMS(n, vectors)                                                                           \
  NARROW_APART void narrow_sums_##n##_##vectors(const NarrowWindow *t, const NarrowX *x,           \
                                                const int8_t *w, const int32_t *start,             \
                                                int32_t *to, int64_t pitch) {                      \
    narrow_part_sums(n, vectors, t, x, w, start, to, pitch);                                       \
  }
#if GLOW_TILE_PIXELS == 14
#define EACH_SUMS(F, v)                                                                            \
  F(1, v)                                                                                          \
  F(2, v) F(3, v) F(4, v) F(5, v) F(6, v) F(7, v) F(8, v) F(9, v) F(10, v) F(11, v) F(12, v)       \
      F(13, v) F(14, v)
#elif GLOW_TILE_PIXELS == 6
#define EACH_SUMS(F, v) F(1, v) F(2, v) F(3, v) F(4, v) F(5, v) F(6, v)
#endif
EACH_SUMS(SUMS, 1)
EACH_SUMS(SUMS, 2)
#undef SUMS
#define LISTED(n, vectors) narrow_sums_##n##_##vectors,
INLINE NarrowSumsFn *narrow_sums_of(int64_t count, int vectors) {
  static NarrowSumsFn *const functions[NARROW_VECTORS][NARROW_PIXELS] = {{EACH_SUMS(LISTED, 1)},
                                                                         {EACH_SUMS(LISTED, 2)}};
  return functions[vectors - 1][count - 1];
}
#undef LISTED
#undef EACH_SUMS

/* What becomes of the sums of a tile, as in narrow_finish. */
NARROW_APART void narrow_part_finish(const Unit *u, int64_t count, int64_t col, int64_t columns,
                                     const int32_t *sums, char *y, const uint8_t *add) {
#if NARROW_DIRECT
  if (narrow_is_direct(u, columns)) {
    ROLLED for (int64_t i = 0; i < count; i += 2) {
      const int32_t *of[2] = {sums + i * NARROW_COLUMNS,
                              sums + (i + 1 < count ? i + 1 : i) * NARROW_COLUMNS};
      GlowVecI acc[2][NARROW_VECTORS];
      UNROLL for (int k = 0; k < 2; k++) {
        UNROLL for (int j = 0; j < NARROW_VECTORS; j++) acc[k][j] =
            *(const GlowVecI *)(of[k] + j * GLOW_VL);
      }
      if (i + 1 < count)
        narrow_direct(2, u, col, acc, y + i * u->p->yw);
      else
        narrow_direct(1, u, col, acc, y + i * u->p->yw);
    }
    return;
  }
#endif
  narrow_finish(u, count, col, columns, sums, y, add);
}

/* Some output rows of an image by the filters of a unit. */
NARROW_APART void narrow_parted(const Unit *u, int64_t rows, int64_t columns, int32_t *sums,
                                char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const int64_t right = p->dw * u->pixel, step = p->sw * u->pixel, wide = p->tiles - p->narrow;
  const int64_t panel = NARROW_WIDTH < DOT_PANEL ? NARROW_WIDTH * DOT_GROUP : u->panel;
  NarrowWindow t = {.rows = p->kh, .runs = p->runs, .run = p->run, .step = step, .panel = panel};
  t.right = right - p->run * DOT_GROUP, t.down = p->dh * u->row - p->runs * right;
  ROLLED for (int64_t col = 0; col < columns; col += NARROW_COLUMNS) {
    const int vectors = columns - col <= NARROW_WIDTH ? 1 : 2;
    const int8_t *w = u->w + col / DOT_PANEL * u->panel;
    const bool kept = p->result == GLOW_NARROW_RESULT_SUMS && columns - col >= vectors * GLOW_VL;
    const int64_t pitch = kept ? p->yw : NARROW_COLUMNS;
    ROLLED for (int64_t r = 0; r < rows; r++) {
      const NarrowX *x = u->x + r * p->sh * u->row;
      char *to = y + (r * p->yh + col) * size;
      const uint8_t *added = add + r * p->ah + col;
      ROLLED for (int64_t i = 0; i < p->tiles; i++) {
        const int64_t count = p->cols - (i >= wide);
        int32_t *out = kept ? (int32_t *)(void *)to : sums;
        narrow_sums_of(count, vectors)(&t, x, w, u->start + col, out, pitch);
        if (!kept)
          narrow_part_finish(u, count, col, columns - col, sums, to, added);
        x += count * step;
        to += count * p->yw * size;
        added += count * p->aw;
      }
    }
  }
}

#else
#define NARROW_PARTED 0
#endif

#endif
