/* Places of the taps of sliding windows. */
#include "lower/window.h"

GlowSlide glow_slide_begin(uint32_t spatial, GlowArray strides, GlowArray pads,
                           GlowArray dilations) {
  GlowSlide s = {.spatial = spatial};
  for (uint32_t i = 0; i < spatial; i++) {
    s.stride[i] = glow_listed(strides, i, 1);
    s.dilation[i] = glow_listed(dilations, i, 1);
    s.before[i] = glow_listed(pads, i, 0);
  }
  return s;
}

void glow_slide_finish(GlowSlide *s) {
  s->places = s->windows = s->taps = 1;
  for (uint32_t i = 0; i < s->spatial; i++) {
    s->places *= s->in[i];
    s->windows *= s->out[i];
    s->taps *= s->kernel[i];
  }
}

int64_t glow_slide_place(const GlowSlide *s, int64_t window, int64_t tap, bool column_major) {
  int64_t index[GLOW_MAX_RANK], place = 0;
  for (uint32_t i = s->spatial; i-- > 0; window /= s->out[i], tap /= s->kernel[i]) {
    index[i] = window % s->out[i] * s->stride[i] + tap % s->kernel[i] * s->dilation[i];
    index[i] -= s->before[i];
    if (index[i] < 0 || index[i] >= s->in[i])
      return -1;
  }
  for (uint32_t i = 0; i < s->spatial; i++) {
    uint32_t a = column_major ? s->spatial - 1 - i : i;
    place = place * s->in[a] + index[a];
  }
  return place;
}
