/* Samples between the elements of maps, as nodes that have derivatives. */
#ifndef GLOW_AUTODIFF_SAMPLE_H
#define GLOW_AUTODIFF_SAMPLE_H

#include "autodiff/parts.h"

typedef struct GlowSampling {
  int mode;         /* a ResizeMode */
  int padding;      /* a GridPadding */
  bool corners;     /* of reflection: at the centres of the outermost elements, not their edges */
  GlowValue *x;     /* [batch, channels, spatial...], of known extents */
  uint32_t spatial; /* at most GLOW_MAX_RANK - 4 */
  GlowValue *place[4]; /* for each spatial axis [batch, places], in elements */
} GlowSampling;

/* [batch, places, channels]. NULL if a node is refused. */
GlowValue *glow_build_samples(const GlowGrad *g, const GlowSampling *s);

/* op(x, y); y may be a number, a scalar of the kind of x. NULL if an operand is. */
static inline GlowValue *two(const GlowGrad *g, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(g->b, op, x, y);
}
static inline GlowValue *by(const GlowGrad *g, GlowOp op, GlowValue *x, double y) {
  return x ? two(g, op, x, glow_build_scalar(g->b, x->type->kind, y)) : NULL;
}

#endif
