/* The inside of the rule for recurrent cells: what the loop over time (recurrent.c) and one step of
 * each cell (recurrent_step.c) share. */
#ifndef GLOW_LOWER_RECURRENT_H
#define GLOW_LOWER_RECURRENT_H

#include "ir/infer/recurrent.h"
#include "lower/lower.h"

/* A recurrent node, and what both directions share. */
typedef struct GlowCellRule {
  GlowBuilder *b; /* where the loops go */
  const GlowNode *n;
  GlowRecurrent r; /* what the node's members say */
  GlowKind kind;
  GlowDim steps, batch;
  int64_t hidden;
  GlowValue *x;       /* [steps, batch, inputs] */
  GlowValue *trip;    /* i64<>: steps */
  GlowValue *running; /* bool [steps, batch, 1]; NULL: all sequences have full length */
} GlowCellRule;

/* What one direction reads; NULL if the node has no such operand. */
typedef struct GlowCellWeights {
  uint32_t direction;
  GlowValue *input;      /* P of recurrent.c, [steps, batch, gates * hidden] */
  GlowValue *running;    /* as GlowCellRule.running, reversed if this direction is */
  GlowValue *r;          /* [hidden, gates * hidden]; of GRU without the hidden gate */
  GlowValue *r_h, *rb_h; /* of GRU's hidden gate: [hidden, hidden]; [hidden] */
  GlowValue *peephole;   /* [3 * hidden]: input, output, forget */
} GlowCellWeights;

/* The states of a step, [batch, hidden]. */
typedef struct GlowCellState {
  GlowValue *h, *c;
} GlowCellState;

/* Cuts v along its last axis into `count` pieces (at most 4), by a node at b; piece i has an extent
 * of multiples[i] * hidden. False if v is NULL or a node is refused. */
bool glow_cell_cut(const GlowCellRule *r, GlowBuilder *b, GlowValue *v, const int64_t *multiples,
                   uint32_t count, GlowValue **pieces);
/* The states after a step, built at b from p, which is P[t], and from the states s before the step.
 * They are NULL if a node is refused. */
GlowCellState glow_cell_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                             GlowValue *p, GlowCellState s);

#endif
