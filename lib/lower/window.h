/* What rules for operators with a sliding window share: where the taps of each window lie. */
#ifndef GLOW_LOWER_WINDOW_H
#define GLOW_LOWER_WINDOW_H

#include "lower/lower.h"

/* Extents along the spatial axes of a static map, and their products. */
typedef struct GlowSlide {
  uint32_t spatial;
  int64_t in[GLOW_MAX_RANK], out[GLOW_MAX_RANK], kernel[GLOW_MAX_RANK];
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK], before[GLOW_MAX_RANK];
  int64_t places, windows, taps;
} GlowSlide;

/* The window whose members those are, empty lists meaning 1 (pads: 0); `in`, `out` and `kernel` are
 * filled in after it, and the products by glow_slide_finish. */
GlowSlide glow_slide_begin(uint32_t spatial, GlowArray strides, GlowArray pads,
                           GlowArray dilations);
void glow_slide_finish(GlowSlide *s);
/* The place that a tap of a window covers, both row-major; -1 if it lies in the padding. Of a
 * column-major place the first axis runs fastest. */
int64_t glow_slide_place(const GlowSlide *s, int64_t window, int64_t tap, bool column_major);
/* Entry i of a member list, or `initial` if the list is empty. */
static inline int64_t glow_slide_entry(GlowArray a, uint32_t i, int64_t initial) {
  return i < a.count ? (int64_t)glow_array_at(a, uint32_t, i) : initial;
}

#endif
