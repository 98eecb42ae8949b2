/* Nodes that compute in another kind, with casts around them: shared by passes that move the nodes
 * of a function from some kinds to one other kind. A value of the old kinds has at most one
 * stand-in of the new kind. So casts between two such nodes cancel, and casts remain at the borders
 * only. */
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
/* Builds n again in the kind `to` and removes n. Users get the results cast back to the old kinds.
 * With `rounds`, the stand-in of such a result is that cast, cast to `to` again, so that it has
 * been rounded to the old kind; without, it is the result as it was computed. False after a
 * diagnostic. */
bool glow_recast_node(GlowRecast *r, GlowNode *n, bool rounds);
/* Removes casts that nothing uses. A removed cast to an old kind leaves its name to its operand. */
void glow_recast_finish(GlowRecast *r);

#endif
