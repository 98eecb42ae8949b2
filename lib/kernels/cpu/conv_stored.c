/* Convolution whose input or output is stored in 16 bits: the tiles of conv_tile.h over strips of
 * rows in scratch, which are floats there. */
#include "conv_tile.h"
#include "stored.h"

/* Rows are counted over all images, those of the input as if it had no padding. Pixels are those of
 * the output. */
typedef struct Strip {
  int64_t first_row, last_row; /* of the input; the last one is part of it */
  int64_t first, last;         /* pixels; the last one is not */
} Strip;

INLINE int64_t limited_row(int64_t row, int64_t low, int64_t high) {
  return row < low ? low : row > high ? high : row;
}

/* The strip of units [begin, end). Windows may lie in the padding above or below an image. */
INLINE Strip strip_of(const GlowConvStoredParams *s, int64_t begin, int64_t end) {
  const GlowConvParams *c = &s->conv;
  const int64_t pixels = c->scattered ? 1 : c->g.ow, most = c->rows * pixels;
  const int64_t last = end * c->tile_rows * pixels;
  Strip p = {.first = begin * c->tile_rows * pixels, .last = last < most ? last : most};
  const int64_t from = p.first / c->g.ow, to = (p.last - 1) / c->g.ow;
  const int64_t top = from % c->g.oh * c->g.sh - c->g.pt;
  const int64_t bottom = to % c->g.oh * c->g.sh - c->g.pt + (c->g.kh - 1) * c->g.dh;
  p.first_row = from / c->g.oh * c->g.ih + limited_row(top, 0, c->g.ih);
  p.last_row = to / c->g.oh * c->g.ih + limited_row(bottom, -1, c->g.ih - 1);
  return p;
}

/* Widens the rows that a strip reads. */
INLINE void load_strip(const GlowConvStoredParams *s, float *to, const uint16_t *x,
                       const Strip *p) {
  ROLLED for (int64_t b = 0; b < s->blocks; b++) {
    ROLLED for (int64_t r = p->first_row; r <= p->last_row; r++) {
      const int64_t at = r / s->g.ih * s->g.xn + b * s->g.xc + r % s->g.ih * s->g.xh;
      widen_pixels(to + b * s->conv.g.xc + (r - p->first_row) * s->conv.g.xh, x + at, s->g.xw,
                   s->g.iw, s->x);
    }
  }
}

/* Narrows the pixels of a strip, row by row. */
INLINE void store_strip(const GlowConvStoredParams *s, uint16_t *y, const float *from,
                        const Strip *p) {
  int64_t next;
  ROLLED for (int64_t i = p->first; i < p->last; i = next) {
    const int64_t row = i / s->g.ow, image = row / s->g.oh;
    uint16_t *to = y + image * s->g.yn + row % s->g.oh * s->g.yh + i % s->g.ow * s->g.yw;
    next = (row + 1) * s->g.ow < p->last ? (row + 1) * s->g.ow : p->last;
    ROLLED for (int64_t b = 0; b * GLOW_CONV_BLOCK < s->g.oc; b++)
        narrow_pixels(to + b * s->g.yc, s->g.yw,
                      from + b * s->conv.g.yc + (i - p->first) * GLOW_CONV_BLOCK, next - i, s->y);
  }
}

void glow_conv_stored(const GlowConvStoredParams *params, GlowConvTileFn *full,
                      GlowConvTileFn *small, GlowConvTileFn *full_odd, GlowConvTileFn *small_odd,
                      GlowEpilogueFn *callback, void *const *ptrs, int64_t begin, int64_t end,
                      char *scratch) {
  const GlowConvStoredParams s = *params;
  float *x = (float *)scratch, *y = (float *)(scratch + s.y_at);
  int64_t next;
  ROLLED for (int64_t u = begin; u < end; u = next) {
    next = u + s.strip < end ? u + s.strip : end;
    const GlowConvStoredPtrs at = GLOW_CONV_STORED_PTRS(ptrs);
    const Strip p = strip_of(&s, u, next);
    GlowConvPtrs t = {at.y, at.x, at.w, at.bias, at.zeros, at.env};
    if (s.x) {
      load_strip(&s, x, at.x, &p);
      t.x = x - p.first_row * s.conv.g.xh;
    }
    if (s.y)
      t.y = y - p.first * GLOW_CONV_BLOCK;
    all_tiles(&params->conv, full, small, full_odd, small_odd, callback, &t, u, next);
    if (s.y)
      store_strip(&s, at.y, y, &p);
  }
}
