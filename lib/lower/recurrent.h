/* The inside of the rule for recurrent cells: what the loop over time (recurrent.c) and one step of
 * each cell (recurrent_step.c) share. */
#ifndef GLOW_LOWER_RECURRENT_H
#define GLOW_LOWER_RECURRENT_H

#include "ir/infer/recurrent.h"
#include "lower/lower.h"

typedef struct GlowCellRule {
  GlowBuilder *b;
  const GlowNode *n;
  GlowRecurrent r;
  GlowKind kind;
  GlowDim steps, batch;
  int64_t hidden;
  GlowValue *x;       /* [steps, batch, inputs] */
  GlowValue *trip;    /* i64<>: steps */
  GlowValue *running; /* bool [steps, batch, 1]; NULL: all sequences have full length */
} GlowCellRule;

/* What one direction reads; absent ones are NULL. */
typedef struct GlowCellWeights {
  uint32_t direction;
  GlowValue *input;      /* P above, [steps, batch, gates * hidden] */
  GlowValue *running;    /* as GlowCellRule.running, reversed if this direction is */
  GlowValue *r;          /* [hidden, gates * hidden]; of GRU without the hidden gate */
  GlowValue *r_h, *rb_h; /* of GRU's hidden gate: [hidden, hidden]; [hidden] */
  GlowValue *peephole;   /* [3 * hidden]: input, output, forget */
} GlowCellWeights;

/* The states of a step, [batch, hidden]. */
typedef struct GlowCellState {
  GlowValue *h, *c;
} GlowCellState;

/* v cut along its last axis into `count` (at most 4) pieces of these multiples of `hidden`, at b.
 * False if v is NULL or a node is refused. */
bool glow_cell_cut(const GlowCellRule *r, GlowBuilder *b, GlowValue *v, const int64_t *multiples,
                   uint32_t count, GlowValue **pieces);
/* The states after a step from P[t] and the states before it; NULL in them if a node is refused. */
GlowCellState glow_cell_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                             GlowValue *p, GlowCellState s);

#endif
