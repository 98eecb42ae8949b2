/* The first part of a function (transforms/turn.h) as a chain of stages, which save what the second
 * part reads of them, or run again, as a plan says (memplan/chain.h). A stage ends where a single
 * large value goes on.
 *
 * Stages run again from the value before them, in front of the first node that reads what they
 * compute. Small values stay, such as the statistics of a normalization, and copies read them. */
#ifndef GLOW_TRANSFORMS_STAGES_H
#define GLOW_TRANSFORMS_STAGES_H

#include "memplan/chain.h"
#include "transforms/turn.h"

/* Two questions on which neither answer is always better. With a copy, the value behind stages that
 * run again need not stay, if what follows is saved; and a stage counts the value behind it as
 * saved, whether the second part reads it or not. */
typedef struct GlowStageStyle {
  bool keeps_behind;  /* the second part reads the value behind stages that run again, no copy */
  bool cuts_anywhere; /* stages may end where a value goes on that the second part does not read */
} GlowStageStyle;

typedef struct GlowStages {
  GlowArena *arena;
  GlowStageStyle style;
  GlowTurn turn;
  int64_t *alive;               /* by node: bytes that are alive while it runs */
  int64_t *late;                /* by node: those of the second part's values */
  bool *needed;                 /* by node: large values that the second part reads need it */
  GLOW_VEC(uint32_t) begins;    /* by stage: its first node; that of the turn behind the last */
  GLOW_VEC(GlowValue *) behind; /* by stage: the value that goes on; NULL for the last */
  GLOW_VEC(GlowChainStage) stages;
  const GlowChain *plan;
} GlowStages;

/* The stages of f. There are none if its turn is at 0. */
GlowStages glow_stages_find(GlowArena *arena, GlowFunction *f, GlowStageStyle style);
/* Carries out a plan for these stages, or for those of a copy of the function. */
void glow_stages_apply(GlowStages *r, const GlowChain *plan);

#endif
