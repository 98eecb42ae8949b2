/* Values of the first part of a function (transforms/turn.h) that are not kept for the second part,
 * one by one: each is computed again in front of the first node that reads it, of values that are
 * kept, with all that stands between. Where values go around others, so that there are no stages
 * (transforms/stages.h), this is what is left. */
#ifndef GLOW_TRANSFORMS_DROPPED_H
#define GLOW_TRANSFORMS_DROPPED_H

#include "transforms/turn.h"

typedef struct GlowKept {
  GlowArena *arena;
  GlowTurn turn;
  GLOW_VEC(GlowValue *) values; /* large ones that are kept and can be computed again */
  bool *dropped;                /* which of them are not to be kept; none at first */
  GlowMap *at;                  /* values -> their place in `dropped` */
  bool *needed;                 /* by node before the turn: for the computation that is under way */
} GlowKept;

GlowKept glow_kept_find(GlowArena *arena, GlowFunction *f);
/* What it costs to compute value i again, with `dropped` as it is. */
int64_t glow_kept_cost(const GlowKept *k, uint32_t i);
/* Computes the values that are not to be kept again. Those that are computed on the way to others
 * serve later readers, too, unless `apart`: then each runs again for the others, and once more for
 * its own readers. */
void glow_kept_drop(GlowKept *k, bool apart);

#endif
