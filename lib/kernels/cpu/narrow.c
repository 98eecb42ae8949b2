/* Convolutions and products of narrow integers; narrow_sums.h has the sums of a tile,
 * narrow_squares.h those of machines with AMX, narrow_parted.h tiles of library code,
 * narrow_results.h what becomes of sums.
 *
 * The pixels that a band of output rows reads are copied first where windows leave the input, where
 * channels do not lie next to each other in fours, or where the machine may want them wider. Taps
 * outside of the input read `pad` of its numbers there, so no tile asks.
 *
 * The sums of a tile go through memory in the first level of cache to what finishes them, a pixel
 * after the other: all filters of a pixel lie next to each other in the output. */
#include "kernels/kernels.h"

#include "narrow_parted.h"
#include "narrow_results.h"
#include "narrow_squares.h"
#include "narrow_sums.h"
#include "narrow_winograd.h"

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Sums of `count` pixels from x on by the filters of `vectors` registers from panel w on, of which
 * there are `columns` from `col` on; or results, where narrow_is_direct. */
INLINE void narrow_some(int count, int vectors, const Unit *u, const NarrowX *x, const int8_t *w,
                        int64_t col, int64_t columns, int32_t *sums, char *y) {
  GlowVecI acc[NARROW_PIXELS][NARROW_VECTORS];
  narrow_sums(count, vectors, u, x, w, u->start + col, acc);
#if NARROW_DIRECT
  if (narrow_is_direct(u, columns)) {
    narrow_direct(count, u, col, acc, y);
    return;
  }
#endif
  narrow_keep(count, vectors, u->start + col, acc, sums);
}

/* One tile of each number of pixels that a register tile holds: selected by a number that compiled
 * code knows. */
#define NARROW_TILE(n)                                                                             \
  case n:                                                                                          \
    if (n <= NARROW_PIXELS)                                                                        \
      narrow_some(n <= NARROW_PIXELS ? n : 1, vectors, t, x, w, col, columns, sums, y);            \
    break;
INLINE void narrow_tile(int64_t count, int vectors, const Unit *t, const NarrowX *x,
                        const int8_t *w, int64_t col, int64_t columns, int32_t *sums, char *y,
                        const uint8_t *add) {
  switch (count) {
    NARROW_TILE(1)
    NARROW_TILE(2)
    NARROW_TILE(3)
    NARROW_TILE(4)
    NARROW_TILE(5)
    NARROW_TILE(6)
    NARROW_TILE(7)
    NARROW_TILE(8)
    NARROW_TILE(9)
    NARROW_TILE(10)
    NARROW_TILE(11)
    NARROW_TILE(12)
    NARROW_TILE(13)
    NARROW_TILE(14)
  default:
    return;
  }
  if (!narrow_is_direct(t, columns))
    narrow_finish(t, count, col, columns, sums, y, add);
}

/* ---- Bands ----------------------------------------------------------------------------------- */

/* Copies `count` pixels of at most four channels, whose neighbours lie next to each other. */
INLINE void narrow_planes(const GlowNarrowParams *p, NarrowX *to, const uint8_t *x, int64_t count) {
  const uint8_t *plane[DOT_GROUP], flip = p->x_signed ? 0x80 : 0;
  uint32_t has[DOT_GROUP];
  UNROLL for (int c = 0; c < DOT_GROUP; c++) {
    plane[c] = x + (c < p->ic ? c * p->xc : 0);
    has[c] = c < p->ic ? UINT32_C(0xff) << 8 * c : 0;
  }
  for (int64_t i = 0; i < count; i++) {
    uint32_t four = 0;
    UNROLL for (int c = 0; c < DOT_GROUP; c++) four |=
        ((uint32_t)(plane[c][i] ^ flip) << 8 * c) & has[c];
    __builtin_memcpy(to + i * DOT_GROUP, &four, sizeof four);
  }
}

/* Copies `count` pixels; `room` elements each. */
INLINE void narrow_copy(const GlowNarrowParams *p, NarrowX *to, const uint8_t *x, int64_t count) {
  const int64_t room = p->tap * DOT_GROUP;
  if (p->xc == 1 && p->xw == room && p->ic == room) {
    narrow_widen(to, x, count * room, p->x_signed);
    return;
  }
  if (NARROW_BYTES && p->tap == 1 && p->xw == 1) {
    narrow_planes(p, to, x, count);
    return;
  }
  ROLLED for (int64_t i = 0; i < count; i++, x += p->xw, to += room) {
    if (p->xc == 1) {
      narrow_widen(to, x, p->ic, p->x_signed);
    } else {
      ROLLED for (int64_t c = 0; c < p->ic; c++)
          narrow_widen(to + c, x + c * p->xc, 1, p->x_signed);
    }
    ROLLED for (int64_t c = p->ic; c < room; c++) to[c] = 0;
  }
}

/* `count` elements, a multiple of DOT_GROUP. */
INLINE void narrow_fill(NarrowX *to, int64_t count, NarrowX pad) {
  typedef NarrowX Group
      __attribute__((vector_size(sizeof(NarrowX) * DOT_GROUP), aligned(sizeof(NarrowX))));
  const Group all = {pad, pad, pad, pad};
  ROLLED for (int64_t i = 0; i < count; i += DOT_GROUP) * (Group *)(to + i) = all;
}

/* The rows that output rows [row, row + rows) of an image read, with what stands beside them. */
INLINE void narrow_band(const GlowNarrowParams *p, int64_t outside, NarrowX *to,
                        const uint8_t *image, int64_t row, int64_t rows) {
  const int64_t room = p->tap * DOT_GROUP, first = row * p->sh - p->pt;
  const int64_t count = (rows - 1) * p->sh + (p->kh - 1) * p->dh + 1;
  const int64_t seen = p->line - p->pl, inside = p->iw < seen ? p->iw : seen;
  const uint8_t pad = (uint8_t)(outside ^ (NARROW_BYTES && p->x_signed ? 0x80 : 0));
  const NarrowX fill = NARROW_BYTES ? (NarrowX)pad : (NarrowX)outside;
  ROLLED for (int64_t r = first; r < first + count; r++, to += p->line * room) {
    if (r < 0 || r >= p->ih) {
      narrow_fill(to, p->line * room, fill);
      continue;
    }
    narrow_fill(to, p->pl * room, fill);
    narrow_copy(p, to + p->pl * room, image + r * p->xh, inside);
    narrow_fill(to + (p->pl + inside) * room, (seen - inside) * room, fill);
  }
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* Numbers of the filters from `first` on, which a unit needs in whole tiles: `value` behind the
 * last one, and everywhere if there is no list; a list of one number is that of all. */
NARROW_APART void narrow_numbers(float *to, const float *from, int64_t listed, int64_t first,
                                 int64_t count, int64_t room, float value) {
  for (int64_t i = 0; i < room; i++)
    to[i] = value;
  if (from)
    ROLLED for (int64_t i = 0; i < count; i++) to[i] = from[listed > 1 ? first + i : 0];
}

/* What sums of `columns` filters begin with, whose panels are at w; X is i8 and `turned` to u8,
 * that is, 128 is added to all of it. */
NARROW_APART void narrow_starts(int32_t *to, const int32_t *from, int64_t first, int64_t columns,
                                int64_t room, const int8_t *w, int64_t panel, bool turned) {
  for (int64_t i = 0; i < room; i++)
    to[i] = 0;
  if (from)
    ROLLED for (int64_t i = 0; i < columns; i++) to[i] = from[first + i];
  ROLLED for (int64_t i = 0; turned && i < columns; i += GLOW_VL) {
    const int8_t *of = w + i / DOT_PANEL * panel + i % DOT_PANEL * DOT_GROUP;
    GlowVecI sum = dot_splat(0);
    ROLLED for (int64_t at = 0; at < panel; at += DOT_BYTES) sum = narrow_weights(sum, of + at);
    *(GlowVecI *)(to + i) -= sum * dot_splat(128);
  }
}

/* The orders of the panels of `columns` filters, where sums need them, and where groups lie. For
 * fewer pixels than NARROW_MANY proofs take longer than what they save. */
INLINE void narrow_orders(Unit *u, float *scratch, int64_t columns) {
#if NARROW_PROVES
  const GlowNarrowParams *p = u->p;
  const int64_t groups = p->kh * p->runs * p->run;
  const bool proves = p->images * p->oh * p->ow >= NARROW_MANY;
  int64_t *steps = (int64_t *)(void *)scratch;
  uint32_t *wide = (uint32_t *)(void *)(steps + groups);
  u->steps = steps, u->orders = wide + groups;
  ROLLED for (int64_t r = 0; r < p->kh; r++) {
    ROLLED for (int64_t s = 0; s < p->runs; s++) {
      const int64_t from = r * p->dh * u->row + s * p->dw * u->pixel;
      ROLLED for (int64_t g = 0; g < p->run; g++) *steps++ = from + g * DOT_GROUP;
    }
  }
  ROLLED for (int64_t i = 0; i < columns; i += DOT_PANEL)
      narrow_order(groups, p->run, proves, u->orders + i / DOT_PANEL * (groups + 2),
                   u->w + i / DOT_PANEL * u->panel, wide);
  u->wides = false;
  ROLLED for (int64_t i = 0; i < columns; i += DOT_PANEL) u->wides |=
      narrow_order_of(p, u->orders, i / DOT_PANEL).wides > 0;
#endif
}

/* What sums need of `columns` filters first: transformed filters, or orders. */
INLINE void narrow_prepare(Unit *u, float *scratch, int64_t columns) {
#if NARROW_PROVES
  const GlowNarrowParams *p = u->p;
  ROLLED for (int64_t i = 0; p->tiled && i < columns; i += DOT_PANEL)
      narrow_winograd_filters(u->filters + i / DOT_PANEL * narrow_winograd_panel(p),
                              u->w + i / DOT_PANEL * u->panel, p->tap);
  if (p->tiled)
    return;
#endif
  narrow_orders(u, scratch, columns);
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* All tiles of a row by the filters of a tile, `vectors` registers of them. */
INLINE void narrow_row(int vectors, const Unit *u, const NarrowX *x, int64_t col, int64_t columns,
                       int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const int8_t *w = u->w + col / DOT_PANEL * u->panel + col % DOT_PANEL * DOT_GROUP;
  const int64_t wide = p->tiles - p->narrow;
  int64_t at = 0;
  Unit tile = *u;
  if (columns <= DOT_PANEL)
    tile.panel = 0; /* no panel need be behind this one; nobody reads what the tile gives there */
#define PART(n)                                                                                    \
  narrow_tile(n, vectors, &tile, x + at * p->sw * u->pixel, w, col, columns, sums,                 \
              y + at * p->yw * size, add + at * p->aw);                                            \
  at += n
  ROLLED for (int64_t i = 0; i < wide; i++) { PART(p->cols); }
  ROLLED for (int64_t i = 0; i < p->narrow; i++) { PART(p->cols - 1); }
#undef PART
}

/* Some output rows of an image by the filters of a unit, a panel or two after the other. */
INLINE void narrow_panels(const Unit *u, int64_t rows, int64_t columns, int32_t *sums, char *y,
                          const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = p->result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  Unit panel = *u;
  ROLLED for (int64_t col = 0; col < columns; col += NARROW_COLUMNS) {
#if NARROW_PROVES
    panel.order = narrow_order_of(p, u->orders, col / DOT_PANEL);
    narrow_wide_w(panel.order.groups + panel.order.wide, panel.order.wides,
                  u->w + col / DOT_PANEL * u->panel, u->wide_w);
#endif
    ROLLED for (int64_t r = 0; r < rows; r++) {
      const NarrowX *x = u->x + r * p->sh * u->row;
      char *to = y + (r * p->yh + col) * size;
      const uint8_t *added = add + r * p->ah + col;
      if (DOT_VNNI && columns - col <= NARROW_WIDTH)
        narrow_row(1, &panel, x, col, columns - col, sums, to, added);
      else
        narrow_row(NARROW_VECTORS, &panel, x, col, columns - col, sums, to, added);
    }
  }
}

/* Some output rows of an image by the filters of a unit. */
INLINE void narrow_rows(const Unit *u, int64_t rows, int64_t columns, int32_t *sums, char *y,
                        const uint8_t *add) {
  if (NARROW_SQUARES && u->p->step) {
    narrow_band_of_squares(u, rows, columns, sums, y, add);
    return;
  }
#if NARROW_PARTED
  narrow_parted(u, rows, columns, sums, y, add);
#else
#if NARROW_PROVES
  if (u->p->tiled) {
    narrow_winograd_rows(u, rows, columns, sums, y, add);
    return;
  }
#endif
  narrow_panels(u, rows, columns, sums, y, add);
#endif
}

/* Makes the wide form, or the transformed one, of the rows that output rows of band b read, where
 * sums need it; `wide_of` is the band that it is of already. The band that it is of then. */
INLINE int64_t narrow_wide_band(const Unit *u, int64_t rows, int64_t b, int64_t wide_of) {
#if NARROW_PROVES
  const GlowNarrowParams *p = u->p;
  if (b == wide_of || !(p->tiled || u->wides))
    return wide_of;
  if (p->tiled)
    narrow_winograd_band(u, rows);
  else
    narrow_wide_x(u->wide_x, u->band, ((rows - 1) * p->sh + (p->kh - 1) * p->dh + 1) * u->row);
  return b;
#endif
  return wide_of;
}

void glow_narrow(const GlowNarrowParams *params, void *const *ptrs, int64_t begin, int64_t end,
                 char *scratch) {
  const GlowNarrowParams p = *params;
  const GlowNarrowPtrs at = GLOW_NARROW_PTRS(ptrs);
  const int64_t size = p.result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  int32_t *sums = (int32_t *)(void *)scratch, *start = sums + NARROW_ROOM;
  float *scale = (float *)(void *)(start + p.columns), *bias = scale + p.columns;
  NarrowX *band = (NarrowX *)(void *)(scratch + p.band_at);
  const GlowNarrowNumbers numbers = *(const GlowNarrowNumbers *)at.numbers;
  Unit u = {.p = &p, .n = &numbers, .params = params, .numbers = at.numbers};
  u.panel = p.kh * p.kw * p.tap * DOT_BYTES;
  u.start = start, u.scale = scale, u.bias = bias;
  const bool copied = p.copied || !NARROW_BYTES;
  u.pixel = copied ? p.tap * DOT_GROUP : p.xw;
  u.row = copied ? p.line * u.pixel : p.xh;
  int64_t part_of = -1, band_of = -1, wide_of = -1;
  u.band = band;
  u.wide_x = (int16_t *)(void *)(scratch + p.wide_at);
  u.wide_w = (int16_t *)(void *)(scratch + p.panel_at);
  u.filters = (int16_t *)(void *)(scratch + p.filters_at);
  u.places = (int16_t *)(void *)(scratch + p.places_at);
  u.products = (int32_t *)(void *)(scratch + p.products_at);
  const bool by_part = NARROW_PROVES || (NARROW_SQUARES && p.step);
  narrow_configure(&p);
  ROLLED for (int64_t i = begin; i < end; i++) {
    const int64_t all = p.images * p.bands; /* units of a part, whose proofs serve all of them */
    const int64_t part = by_part ? i / all : i % p.parts;
    const int64_t b = by_part ? i % all : i / p.parts, image = b / p.bands;
    const int64_t row = b % p.bands * p.band, col = part * p.columns;
    const int64_t rows = p.oh - row < p.band ? p.oh - row : p.band;
    const int64_t columns = p.oc - col < p.columns ? p.oc - col : p.columns;
    const uint8_t *x = (const uint8_t *)at.x + image * p.xn;
    if (part != part_of) {
      part_of = part;
      u.w = (const int8_t *)at.w + col / DOT_PANEL * u.panel;
      narrow_starts(start, at.start, col, columns, p.columns, u.w, u.panel,
                    NARROW_BYTES && p.x_signed);
      narrow_numbers(scale, at.scale, p.scales, col, columns, p.columns,
                     narrow_float(numbers.scale));
      narrow_numbers(bias, at.bias, p.biases, col, columns, p.columns, narrow_float(numbers.shift));
      narrow_prepare(&u, bias + p.columns, columns);
      u.packs = narrow_packs(&u, columns);
      u.nan = !u.packs && (!narrow_finite(scale, columns) || !narrow_finite(bias, columns));
    }
    if (copied && b != band_of) {
      band_of = b;
      wide_of = -1;
      narrow_band(&p, numbers.pad, band, x, row, rows);
    }
    wide_of = narrow_wide_band(&u, rows, b, wide_of);
    u.x = copied ? band : (const NarrowX *)(const void *)(x + row * p.sh * p.xh);
    narrow_rows(&u, rows, columns, sums, (char *)at.y + (image * p.yn + row * p.yh + col) * size,
                (const uint8_t *)at.add + image * p.an + row * p.ah + col);
  }
  narrow_release(&p);
}
