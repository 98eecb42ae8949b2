/* Depthwise convolution whose input or output is stored in 16 bits: the tiles of depthwise.c over
 * strips of rows in scratch, which are floats there. */
#include "stored.h"

/* Widens the rows that output rows [row, end) read; returns where row 0 would be. */
INLINE const float *load_strip(const GlowDepthwiseStoredParams *s, float *to, const uint16_t *x,
                               int64_t row, int64_t end) {
  const int64_t top = row * s->g.sh - s->g.pt;
  const int64_t bottom = (end - 1) * s->g.sh - s->g.pt + (s->g.kh - 1) * s->g.dh;
  const int64_t first = top > 0 ? top : 0, last = bottom < s->g.ih ? bottom : s->g.ih - 1;
  ROLLED for (int64_t r = first; r <= last; r++)
      widen_pixels(to + (r - first) * s->conv.g.xh, x + r * s->g.xh, s->g.xw, s->g.iw, s->x);
  return to - first * s->conv.g.xh;
}

void glow_depthwise_stored(const GlowDepthwiseStoredParams *params, GlowDepthwiseTileFn *full,
                           GlowDepthwiseTileFn *small, GlowEpilogueFn *callback, void *const *ptrs,
                           int64_t begin, int64_t end, char *scratch) {
  const GlowDepthwiseStoredParams s = *params;
  const int64_t slim = s.g.ow - s.conv.narrow * (s.conv.cols - 1); /* see depthwise.c */
  float *const results = (float *)(scratch + s.y_at);
  int64_t next;
  ROLLED for (int64_t r = begin; r < end; r = next) {
    const int64_t map = r / s.g.oh, image = map / s.conv.blocks, block = map % s.conv.blocks;
    const int64_t row = r - map * s.g.oh, rest = end - r < s.g.oh - row ? end - r : s.g.oh - row;
    const int64_t last = row + (rest < s.strip ? rest : s.strip);
    const GlowDepthwiseStoredPtrs p = GLOW_DEPTHWISE_STORED_PTRS(ptrs);
    const float *x = p.x;
    float *y = p.y;
    if (s.x)
      x = load_strip(&s, (float *)scratch, (const uint16_t *)p.x + image * s.g.xn + block * s.g.xc,
                     row, last);
    if (s.y)
      y = results - row * s.conv.g.yh;
    full(GLOW_IN_LIBRARY(&params->conv, callback) y, x, p.w, p.bias, p.zeros, p.env, image, block,
         row, last, 0, slim);
    if (s.conv.narrow)
      small(GLOW_IN_LIBRARY(&params->conv, callback) y, x, p.w, p.bias, p.zeros, p.env, image,
            block, row, last, slim, s.g.ow);
    if (s.y) {
      uint16_t *to = (uint16_t *)p.y + image * s.g.yn + block * s.g.yc;
      ROLLED for (int64_t h = row; h < last; h++)
          narrow_pixels(to + h * s.g.yh, s.g.yw, y + h * s.conv.g.yh, s.g.ow, s.y);
    }
    next = r + last - row;
  }
}
