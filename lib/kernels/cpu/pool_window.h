/* Windows of pools. */
#ifndef GLOW_KERNELS_CPU_POOL_WINDOW_H
#define GLOW_KERNELS_CPU_POOL_WINDOW_H

#include "kernels/kernels.h"

#define AXES UNROLL for (int a = 0; a < GLOW_POOL_DIMS; a++)

/* The taps of a window that lie inside of X: [first, first + count) along each axis. `elements` is
 * their number, `divisor` what a mean is divided by, `at` the offset in X of the first of them. */
typedef struct Window {
  int64_t first[GLOW_POOL_DIMS], count[GLOW_POOL_DIMS], divisor, elements, at;
} Window;

INLINE int64_t div_up(int64_t a, int64_t b) { return b == 1 ? a : (a + b - 1) / b; }

/* Taps [*first, *first + *count) along axis a for place `place` of Y lie inside of X; `limit` taps
 * lie before the end of the padding behind it. */
INLINE void clip_axis(const GlowPoolParams *p, int a, int64_t place, int64_t *first, int64_t *count,
                      int64_t *limit) {
  const int64_t d = p->dilation[a], o = place * p->stride[a] - p->before[a];
  const int64_t inside = p->in[a] > o ? div_up(p->in[a] - o, d) : 0;
  const int64_t end = inside < p->kernel[a] ? inside : p->kernel[a];
  const int64_t padded = p->in[a] + p->after[a] > o ? div_up(p->in[a] + p->after[a] - o, d) : 0;
  *first = o < 0 ? div_up(-o, d) : 0;
  *count = end > *first ? end - *first : 0;
  *limit = padded < p->kernel[a] ? padded : p->kernel[a];
}

INLINE void clip(const GlowPoolParams *p, const int64_t *place, Window *w) {
  w->divisor = w->elements = 1;
  w->at = 0;
  AXES {
    int64_t limit, o = place[a] * p->stride[a] - p->before[a];
    clip_axis(p, a, place[a], &w->first[a], &w->count[a], &limit);
    w->elements *= w->count[a];
    w->divisor *= p->include_pad ? limit : w->count[a];
    w->at += (o + w->first[a] * p->dilation[a]) * p->xs[a];
  }
}

#endif
