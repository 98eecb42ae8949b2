/* What rules for operators with a sliding window share: where the taps of each window lie. */
#ifndef GLOW_LOWER_WINDOW_H
#define GLOW_LOWER_WINDOW_H

#include "lower/lower.h"
#include "ops/listed.h"

/* A window that slides over a map of known extents: numbers for each spatial axis, and products. */
typedef struct GlowSlide {
  uint32_t spatial; /* the number of spatial axes */
  /* Extents of the map, of the windows' grid, and of one window. */
  int64_t in[GLOW_MAX_RANK], out[GLOW_MAX_RANK], kernel[GLOW_MAX_RANK];
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  int64_t before[GLOW_MAX_RANK]; /* padding before the first place */
  int64_t places, windows, taps; /* products of `in`, of `out`, of `kernel` */
} GlowSlide;

/* A slide with an operator's members; an empty list means 1 for each axis, or 0 for pads. The
 * caller then fills in `in`, `out` and `kernel`, and glow_slide_finish the products. */
GlowSlide glow_slide_begin(uint32_t spatial, GlowArray strides, GlowArray pads,
                           GlowArray dilations);
void glow_slide_finish(GlowSlide *s);
/* The number of the place that tap number `tap` of window number `window` covers; -1 if the tap
 * lies in the padding. Numbers are row-major; with column_major, the first axis of the place's
 * number runs fastest. */
int64_t glow_slide_place(const GlowSlide *s, int64_t window, int64_t tap, bool column_major);

#endif
