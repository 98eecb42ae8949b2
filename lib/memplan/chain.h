/* What a chain of stages keeps for its way back, and what is computed again.
 *
 * A forward pass runs stages 0, 1, ..., the backward pass takes them in reverse. Stage i reads the
 * value before it, and its backward part needs what the stage has saved. In a bounded memory some
 * stages save nothing the first time: the value before them stays, and they run again when the
 * backward pass comes to them, perhaps more than once. The plan with the least work is found by an
 * exact dynamic program over stretches of stages and slots of memory (the recurrence of rotor). */
#ifndef GLOW_MEMPLAN_CHAIN_H
#define GLOW_MEMPLAN_CHAIN_H

#include "support/arena.h"

typedef struct GlowChainStage {
  int64_t cost;     /* of running it */
  int64_t tail;     /* of running it again where the value behind it is still there */
  int64_t saved;    /* bytes that its backward part needs of it, the value behind it included */
  int64_t boundary; /* bytes of the value behind it */
  int64_t run;      /* bytes that are alive while it runs, the value before it left out */
  int64_t front;    /* bytes that the backward pass has alive in front of its part of this stage,
                       which are there when stages up to this one run again; 0 for the last stage */
  int64_t late;     /* bytes that the backward pass has alive besides, in its part of this stage */
  bool fixed;       /* cannot run again */
} GlowChainStage;

enum { GLOW_CHAIN_SLOTS = 500, GLOW_CHAIN_MOST_STAGES = 96 };

/* The least memory that a plan can do with; 0 for no stages. count is at most
 * GLOW_CHAIN_MOST_STAGES, here and below, and there at least 1. */
int64_t glow_chain_least(GlowArena *arena, const GlowChainStage *stages, uint32_t count);

/* The plans for all stretches in `memory` bytes, which are divided into slots; sizes are rounded up
 * to slots. Lives in the arena. */
typedef struct GlowChain GlowChain;
GlowChain *glow_chain_solve(GlowArena *arena, const GlowChainStage *stages, uint32_t count,
                            int64_t memory);
/* The cost of all stages that run again; -1 if no plan fits. */
int64_t glow_chain_recomputed(const GlowChain *c);

/* A stretch of stages and the slots that it may use; the first is all of them. */
typedef struct GlowChainPart {
  uint32_t first, last, slots;
} GlowChainPart;
GlowChainPart glow_chain_all(const GlowChain *c);
/* What the plan does with a stretch. True: stage `first` is saved, and *right is the rest (empty if
 * first == last). False: the stages before right->first save nothing but the value behind them;
 * *right follows, and when it is done these stages, *left, run again. */
bool glow_chain_step(const GlowChain *c, GlowChainPart part, GlowChainPart *left,
                     GlowChainPart *right);

#endif
