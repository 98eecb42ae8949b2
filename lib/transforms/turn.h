/* The turn of a function: the place of its text where most bytes are alive. Behind -grad it divides
 * the forward part from the backward part, which reads what is kept over it. */
#ifndef GLOW_TRANSFORMS_TURN_H
#define GLOW_TRANSFORMS_TURN_H

#include "ir/ir.h"

typedef struct GlowTurn {
  GlowFunction *function;
  GLOW_VEC(GlowNode *) nodes; /* of the body; `order` of a node, and of those in it, is its index */
  int64_t *inner;             /* by node: the most bytes alive at one time in its regions */
  uint32_t at;                /* the first node of the second part; 0: nothing is ever alive */
  int64_t peak;               /* the most bytes that are alive at one time */
} GlowTurn;

/* Numbers the nodes of f and finds its turn. Values that are saved or returned, that a Barrier lets
 * through, that one loop computes and reads, and single numbers count as nothing. Memory is the
 * arena's. */
GlowTurn glow_turn_find(GlowArena *arena, GlowFunction *f);
/* The room of a value; 0 if its extents are open. */
int64_t glow_turn_bytes(const GlowValue *v);
/* The bytes of a node's results, and by node those that are alive while it runs, its operands, its
 * results and what its regions compute among them, of values that node `from` or a later one
 * computes. */
int64_t glow_turn_result_bytes(const GlowNode *n);
int64_t *glow_turn_alive(GlowArena *arena, const GlowTurn *t, uint32_t from);
/* Whether v is an element of a loop that its only reader is in, too. */
bool glow_turn_is_on_the_way(const GlowValue *v);
/* Whether the result v counts as nothing. */
bool glow_turn_is_free(const GlowValue *v);
/* Whether the second part computes with the value that u uses. */
bool glow_turn_reads_late(const GlowTurn *t, const GlowUse *u);
/* Whether the result v is kept for the second part. */
bool glow_turn_is_kept(const GlowTurn *t, const GlowValue *v);
/* The last node before `limit` that uses the result v, behind Barriers, too; v's own, if there is
 * none. */
uint32_t glow_turn_last_use(const GlowValue *v, uint32_t limit);

/* What it costs to run a node again: its multiply-accumulates, or as many as take the time that its
 * results take. */
int64_t glow_turn_cost(const GlowNode *n);
/* Whether v is so small, beside all that is alive, that it stays: the statistics of a
 * normalization, for example. */
bool glow_turn_is_small(const GlowTurn *t, const GlowValue *v);
/* The first value of the second part, computed before `reader`, that this or a later node reads:
 * what a copy in front of `reader` has to wait for. NULL if there is none. */
GlowValue *glow_turn_value_before(const GlowTurn *t, const GlowNode *reader);
/* A Barrier at b, called like v, that lets v or a copy of it through behind `after`, which may be
 * NULL. It counts as a node of the first part. */
GlowNode *glow_turn_hold(GlowBuilder *b, const GlowValue *v, GlowValue *copy, GlowValue *after);
/* Runs n again at b: a copy that reads what `map` has for n's operands, and has entries there. What
 * reads nothing but variables would still be merged with the original, so it reads them behind
 * `after`, which may be NULL. Counts as a node of the first part. */
GlowNode *glow_turn_copy(GlowBuilder *b, const GlowNode *n, GlowValue *after, GlowMap *map);

#endif
