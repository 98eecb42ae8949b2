/* Ways in which a function computes again, in front of late readers, values that it would keep for
 * them: so fewer bytes are alive at one time, and there is more work.
 *
 * The turn of the function (transforms/turn.h) divides it, behind -grad into a forward and a
 * backward part. The first part is a chain of stages, some of which keep what the second part
 * needs, while others run again (transforms/stages.h); or it is values of which some are not kept,
 * each by itself (transforms/dropped.h). Of a function of few nodes all ways there are count
 * (transforms/rerun.h). */
#ifndef GLOW_TRANSFORMS_WAYS_H
#define GLOW_TRANSFORMS_WAYS_H

#include "transforms/stages.h"

/* What is kept, and what comes of that. */
typedef struct GlowWay {
  int64_t alive;        /* the way with the least work within so many bytes, of all; 0: */
  GlowStageStyle style; /* a plan for stages of this style, */
  int64_t memory;       /* in so many bytes; 0: */
  const bool *dropped;  /* which of the values that could be kept are not */
  bool apart;           /* and whether they are computed again apart from each other */
  int64_t peak, work;   /* of the function: bytes alive at one time, and cost */
} GlowWay;

/* The ways that were tried, on copies of f's module. */
typedef struct GlowWays {
  GLOW_VEC(const GlowWay *) tried; /* no two with the same bytes and work */
  const GlowWay *best;  /* the least work of those within a budget of bytes alive; NULL: none is */
  const GlowWay *least; /* the fewest bytes alive; NULL: there is none */
} GlowWays;
GlowWays glow_ways_find(GlowArena *arena, GlowFunction *f, int64_t budget);
/* Changes f, of which the way was found, or a copy of it. False, with nothing done, if there is no
 * plan in way->memory. */
bool glow_way_take(GlowArena *arena, GlowFunction *f, const GlowWay *way);
/* The cost of all nodes of f, as ways count it. */
int64_t glow_way_work(const GlowFunction *f);

#endif
