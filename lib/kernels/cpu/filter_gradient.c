/* FilterGradient over two spatial axes, plain or in blocks of channels.
 *
 * A tile is some terms, floats that the taps of a place read, by registers of output channels. They
 * stay in registers while one FMA chain per sum runs over the places of a band of rows; each step
 * loads the registers of DY and broadcasts one float per term. Neighbouring terms are neighbouring
 * floats, since a packed place holds its channels side by side and the taps of a row are places
 * side by side; see FilterGradientParams. So a step has constant displacements
 * for any window.
 *
 * Chains of an image go on in memory from band to band. The image's sums are then added to the
 * totals, which become the filter behind the last image. All units of a block share the bands, so
 * that X and DY are read from far caches few times. */
#include "kernels/cpu/pack.h"
#include "kernels/kernels.h"

#define COLUMNS (GLOW_TILE_VECTORS * GLOW_VL)
enum { FIRST = 1, LAST = 2, LINE = 16 /* floats of a cache line */ };

/* ---- Tiles ----------------------------------------------------------------------------------- */

typedef GlowVec Sums[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS];

/* One place: rows * nr FMAs. The fence keeps the loads of the next step out of this one. */
INLINE void step(int rows, int nr, Sums acc, const float *x, const float *dy, int64_t apart) {
  GlowVec f[GLOW_TILE_VECTORS];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  UNROLL for (int j = 0; j < nr; j++) f[j] = vec_load(dy + j * apart);
  UNROLL for (int i = 0; i < rows; i++) {
    const GlowVec v = vec_splat(x[i]);
    UNROLL for (int j = 0; j < nr; j++) acc[i][j] = vec_now(vec_fma(v, f[j], acc[i][j]));
  }
}

INLINE void tile(int rows, int nr, const GlowFilterGradientParams *params, float *total,
                 const float *x, const float *dy, float *sums, int64_t count, int64_t phase,
                 int64_t x_next, int64_t x_places, int64_t dy_next, int64_t dy_places) {
  const GlowFilterGradientParams s = *params;
  Sums acc;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++) acc[i][j] = (GlowVec){0};
  }
  if (s.band < s.oh && !(phase & FIRST)) {
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < nr; j++) acc[i][j] = vec_load(sums + i * COLUMNS + j * GLOW_VL);
    }
  }
  ROLLED for (int64_t r = 0; r < count; r++) {
    const float *a = x, *d = dy;
    ROLLED for (int64_t k = 0; k < x_places; k++)
        __builtin_prefetch(x + x_next + k * s.a_place, 0, 2);
    ROLLED for (int64_t k = 0; k < dy_places; k++) {
      UNROLL for (int j = 0; j < nr; j += LINE / GLOW_VL)
          __builtin_prefetch(dy + dy_next + k * s.d_place + j * s.d_vector, 0, 2);
    }
    ROLLED for (int64_t k = 0; k < s.ow; k++) {
      step(rows, nr, acc, a, d, s.d_vector);
      a += s.a_place;
      d += s.d_place;
    }
    x += s.a_row;
    dy += s.d_row;
  }
  if (s.band < s.oh && !(phase & LAST)) {
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < nr; j++) vec_store(sums + i * COLUMNS + j * GLOW_VL, acc[i][j]);
    }
    return;
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++) {
      float *at = total + i * COLUMNS + j * GLOW_VL;
      vec_store(at, vec_load(at) + acc[i][j]);
    }
  }
}

#define TILE(rows, vectors)                                                                        \
  void glow_filter_gradient_tile_##rows##x##vectors(                                               \
      const GlowFilterGradientParams *params, float *total, const float *x, const float *dy,       \
      float *sums, int64_t count, int64_t phase, int64_t x_next, int64_t x_places,                 \
      int64_t dy_next, int64_t dy_places) {                                                        \
    tile(rows, vectors, params, total, x, dy, sums, count, phase, x_next, x_places, dy_next,       \
         dy_places);                                                                               \
  }
EACH_FILTER_GRADIENT_TILE(TILE)

/* ---- Packing --------------------------------------------------------------------------------- */

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* A part of the output channels of a group by a part of its input channels. */
typedef struct Unit {
  int64_t group, part, output;
} Unit;
INLINE Unit unit_of(const GlowFilterGradientParams *s, int64_t u) {
  return (Unit){u / s->outputs / s->parts, u / s->outputs % s->parts, u % s->outputs};
}

/* Floats that a place of the packed input has. */
INLINE int64_t place_floats(const GlowFilterGradientParams *s) { return s->fold * s->channels; }

/* Channels [channel, channel + n) of row h of an image into each `floats`-th float of a packed row,
 * with zeros in place of padding and of the channels up to s->channels. */
INLINE void pack_row(const GlowFilterGradientParams *s, float *to, const float *x, int64_t channel,
                     int64_t n, int64_t h) {
  const int64_t floats = place_floats(s);
  const bool inside = (uint64_t)h < (uint64_t)s->ih;
  const int64_t left = inside ? min64(s->pl, s->places) : s->places;
  const int64_t pixels = min64(s->places - left, s->iw);
  ROLLED for (int64_t w = 0; w < s->places; w++) {
    if (w == left)
      w += pixels;
    if (w < s->places) {
      ROLLED for (int64_t c = 0; c < s->channels; c++) to[w * floats + c] = 0;
    }
  }
  if (!inside)
    return;
  to += left * floats;
  const float *from = x + channel / s->x_block * s->xc + h * s->xh;
  if (s->x_block > 1) { /* of one block; padding lanes, too, where there are several */
    pack(to, floats, from, s->xw, 1, pixels, s->channels);
    return;
  }
  pack(to, floats, from, s->xw, s->xc, pixels, n);
  ROLLED for (int64_t w = 0; n < s->channels && w < pixels; w++) {
    ROLLED for (int64_t c = n; c < s->channels; c++) to[w * floats + c] = 0;
  }
}

/* What `count` output rows from row h on read of a part of the channels; x: the image. */
INLINE void pack_x(const GlowFilterGradientParams *s, float *to, const float *x, const Unit *u,
                   int64_t h, int64_t count) {
  const int64_t first = u->part * s->channels, n = min64(s->channels, s->ic - first);
  const int64_t pitch = s->places * place_floats(s);
  const bool folded = s->fold == s->kh;
  const int64_t rows = folded ? count : (count - 1) * s->sh + (s->kh - 1) * s->dh + 1;
  ROLLED for (int64_t r = 0; r < rows; r++) {
    const int64_t top = (folded ? (h + r) * s->sh : h * s->sh + r) - s->pt;
    ROLLED for (int64_t f = 0; f < s->fold; f++) pack_row(
        s, to + r * pitch + f * s->channels, x, u->group * s->ic + first, n, top + f * s->dh);
  }
}

/* `count` rows of a plain DY from row h on, of the output channels of one unit, as [place][column];
 * dy: the image. */
INLINE void pack_dy(const GlowFilterGradientParams *s, float *to, const float *dy, const Unit *u,
                    int64_t h, int64_t count) {
  const int64_t first = u->output * COLUMNS, n = min64(COLUMNS, s->oc - first);
  const int64_t channel = u->group * s->oc + first;
  ROLLED for (int64_t r = 0; r < count; r++) {
    pack_padded(to + r * s->d_row, COLUMNS, dy + channel * s->yc + (h + r) * s->yh, s->yw, s->yc,
                s->ow, n);
  }
}

/* ---- The kernel ------------------------------------------------------------------------------ */

typedef struct Tiles {
  GlowFilterGradientTileFn *full, *small, *full_odd, *small_odd;
} Tiles;

/* Places of each row that a tile fetches of what the next band reads. The tiles that read the same
 * operand share its places, so that what is fetched comes evenly. */
typedef struct Ahead {
  int64_t next, places; /* floats to the first one; how many */
} Ahead;
INLINE Ahead ahead(const GlowFilterGradientParams *s, int64_t next, int64_t place, int64_t tile,
                   int64_t tiles) {
  const int64_t each = (s->ow + tiles - 1) / tiles, first = tile * each;
  const int64_t places = min64(each, s->ow - first);
  return (Ahead){next + first * place, next && places > 0 ? places : 0};
}

/* All tiles of a unit at `count` rows of places. */
INLINE void unit_tiles(const GlowFilterGradientParams *s, const Tiles *t, const Unit *u,
                       float *total, float *sums, const float *x, const float *dy, int64_t count,
                       int64_t phase, int64_t x_next, int64_t dy_next) {
  const bool odd = GLOW_TILE_VECTORS > 1 && s->oc - u->output * COLUMNS <= GLOW_VL;
  const int64_t tiles = (s->run + s->narrow) / s->rows, columns = s->dw == 1 ? 1 : s->kw;
  ROLLED for (int64_t i = 0; i < s->runs; i++) {
    const float *from = x + i / columns * s->down + i % columns * s->across;
    ROLLED for (int64_t k = 0; k < tiles; k++) {
      const bool small = k >= tiles - s->narrow;
      GlowFilterGradientTileFn *fn = odd     ? small ? t->small_odd : t->full_odd
                                     : small ? t->small
                                             : t->full;
      const int64_t rows = s->rows - small, t_y = (u->part * s->runs + i) * tiles + k;
      const Ahead a = ahead(s, x_next, s->a_place, u->output * tiles + k, s->outputs * tiles);
      const Ahead d = ahead(s, dy_next, s->d_place, t_y, s->parts * s->runs * tiles);
      fn(GLOW_IN_LIBRARY(s) total, from, dy, sums, count, phase, a.next, a.places, d.next,
         d.places);
      from += rows;
      total += rows * COLUMNS;
      sums += rows * COLUMNS;
    }
  }
}

/* The filter of a unit from its totals. */
INLINE void store(const GlowFilterGradientParams *s, float *dw, const float *total, const Unit *u) {
  const int64_t taps = s->kh * s->kw, floats = place_floats(s);
  const int64_t c0 = u->part * s->channels, o0 = u->output * COLUMNS;
  const int64_t channels = min64(s->channels, s->ic - c0), outputs = min64(COLUMNS, s->oc - o0);
  ROLLED for (int64_t kh = 0; kh < s->kh; kh++) {
    ROLLED for (int64_t kw = 0; kw < s->kw; kw++) {
      const int64_t across = kh % s->fold * s->channels + (s->dw == 1 ? kw * floats : 0);
      const int64_t run = s->dw == 1 ? kh / s->fold : kh / s->fold * s->kw + kw;
      const float *from = total + (run * s->run + across) * COLUMNS;
      float *to = dw + ((u->group * s->oc + o0) * s->ic + c0) * taps + kh * s->kw + kw;
      ROLLED for (int64_t o = 0; o < outputs; o++) {
        ROLLED for (int64_t c = 0; c < channels; c++) to[(o * s->ic + c) * taps] =
            from[c * COLUMNS + o];
      }
    }
  }
}

/* Where the sums and operands of one block of units are. */
typedef struct Block {
  const float *x, *dy; /* of an image */
  bool last;           /* image */
  float *total, *sums, *packed_x, *packed_dy;
  int64_t begin, end;
} Block;

/* Floats from `count` rows of an operand, from row h on, to those that are read next, if it is read
 * where it is. */
INLINE int64_t next_rows(const GlowFilterGradientParams *s, const Block *b, int64_t h,
                         int64_t count, bool direct, int64_t image, int64_t row) {
  if (!direct)
    return 0;
  return h + count < s->oh ? count * row : b->last ? 0 : image - h * row;
}

/* Adds `count` rows of places from row h on, of one image, to the sums of a block. */
INLINE void add_band(const GlowFilterGradientParams *s, const Tiles *t, const Block *b, int64_t h,
                     int64_t count) {
  const int64_t unit = s->runs * s->run * COLUMNS, group = s->outputs * s->parts;
  const int64_t phase = (h == 0 ? FIRST : 0) | (h + count == s->oh ? LAST : 0);
  const int64_t dy_unit = s->band * s->d_row;
  const int64_t x_next = next_rows(s, b, h, count, s->direct_x, s->xn, s->a_row);
  const int64_t dy_next = next_rows(s, b, h, count, s->direct_y, s->yn, s->yh);
  Unit last = {-1, -1, -1};
  ROLLED for (int64_t i = b->begin; i < b->end; i++) {
    const Unit u = unit_of(s, i);
    const bool moved = u.group != last.group;
    const float *x = b->packed_x, *dy = b->packed_dy + u.output * dy_unit;
    if (s->direct_x)
      x = b->x + ((u.group * s->ic + u.part * s->channels) / s->x_block) * s->xc + h * s->a_row;
    else if (moved || u.part != last.part)
      pack_x(s, b->packed_x, b->x, &u, h, count);
    if (s->direct_y)
      dy = b->dy + (u.group * s->oc + u.output * COLUMNS) / s->y_block * s->yc + h * s->yh +
           (u.group * s->oc + u.output * COLUMNS) % s->y_block;
    else if (i - b->begin < s->outputs || i % group < s->outputs)
      pack_dy(s, b->packed_dy + u.output * dy_unit, b->dy, &u, h, count);
    last = u;
    unit_tiles(s, t, &u, b->total + (i - b->begin) * unit, b->sums + (i - b->begin) * unit, x, dy,
               count, phase, x_next, dy_next);
  }
}

/* `full` and `small` are specialized tiles; `small` has one term less. The _odd ones serve units of
 * which only one register of output channels exists. */
void glow_filter_gradient(const GlowFilterGradientParams *params, GlowFilterGradientTileFn *full,
                          GlowFilterGradientTileFn *small, GlowFilterGradientTileFn *full_odd,
                          GlowFilterGradientTileFn *small_odd, void *const *ptrs, int64_t begin,
                          int64_t end, char *scratch) {
  const GlowFilterGradientParams s = *params;
  const Tiles tiles = {full, small, full_odd, small_odd};
  const GlowFilterGradientPtrs at = GLOW_FILTER_GRADIENT_PTRS(ptrs);
  const int64_t unit = s.runs * s.run * COLUMNS;
  Block b = {.total = (float *)scratch,
             .sums = (float *)(scratch + s.sums_at),
             .packed_dy = (float *)(scratch + s.dy_at),
             .packed_x = (float *)(scratch + s.x_at)};
  ROLLED for (b.begin = begin; b.begin < end; b.begin = b.end) {
    b.end = min64(b.begin + s.block, end);
    __builtin_memset(b.total, 0, (size_t)((b.end - b.begin) * unit) * sizeof(float));
    ROLLED for (int64_t n = 0; n < s.images; n++) {
      b.x = at.x + n * s.xn;
      b.dy = at.dy + n * s.yn;
      b.last = n + 1 == s.images;
      ROLLED for (int64_t h = 0; h < s.oh; h += s.band)
          add_band(&s, &tiles, &b, h, min64(s.band, s.oh - h));
    }
    ROLLED for (int64_t i = b.begin; i < b.end; i++) {
      const Unit u = unit_of(&s, i);
      store(&s, at.dw, b.total + (i - b.begin) * unit, &u);
    }
  }
}
