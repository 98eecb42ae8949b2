/* Nodes that compute in another kind, with casts around them: what passes share that move a
 * function from some kinds to one. A value of the old kinds has at most one stand-in, so that casts
 * meet and what is left of them stands at the borders. */
#ifndef GLOW_TRANSFORMS_RECAST_H
#define GLOW_TRANSFORMS_RECAST_H

#include "transforms/transforms.h"

typedef struct GlowRecast {
  GlowPassRun *run;
  GlowKindSet from;
  GlowKind to;
  GlowMap *stand_ins; /* values of the old kinds to the values of `to` that stand for them */
  GLOW_VEC(GlowNode *) nodes; /* of the function, in order; glow_recast_begin collects them */
  GLOW_VEC(GlowNode *) back;  /* casts to the old kinds */
  GLOW_VEC(GlowNode *) again; /* casts to `to` of what was cast back */
} GlowRecast;

/* Over run->function; memory is run's. */
GlowRecast glow_recast_begin(GlowPassRun *run, GlowKindSet from, GlowKind to);
/* Whether v, which may be NULL, is a plain tensor of the old kinds. */
bool glow_recast_takes(const GlowRecast *r, const GlowValue *v);
/* Whether n is pure, has operands of the old kinds, and could have all of them of the new one. */
bool glow_recast_fits(const GlowRecast *r, const GlowNode *n);
/* Lets n compute in `to` and removes it. Users get its results cast back. With `rounds` that cast
 * counts: what stands for a result is the cast of it, else what was computed. False after a
 * diagnostic. */
bool glow_recast_node(GlowRecast *r, GlowNode *n, bool rounds);
/* Drops casts that nobody needs; those cast back leave their names to what was computed. */
void glow_recast_finish(GlowRecast *r);

#endif
