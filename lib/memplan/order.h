/* The order of steps that keeps the fewest bytes alive. Knows no IR: steps make and take values,
 * which live from the step that makes them to the last that takes them. */
#ifndef GLOW_MEMPLAN_ORDER_H
#define GLOW_MEMPLAN_ORDER_H

#include "support/arena.h"

typedef struct GlowOrderValue {
  int64_t bytes; /* >= 0; the sum over all values is below 2^62 */
  bool stays;    /* needed after the last step */
} GlowOrderValue;

typedef struct GlowOrderStep {
  GLOW_VEC(uint32_t) makes;  /* values; each value is made by one step at most */
  GLOW_VEC(uint32_t) takes;  /* values, each once; one that no step makes is there from the start */
  GLOW_VEC(uint32_t) after;  /* steps that come before, besides those that make `takes` */
  GLOW_VEC(uint32_t) reuses; /* of `takes`: if this step is the last to need one of these, ... */
  int64_t reused;            /* ... this many bytes of `makes` need no room of their own */
  int64_t inner;             /* bytes that the step needs while it runs, besides all values */
} GlowOrderStep;

typedef struct GlowOrderProblem {
  GlowOrderValue *values;
  GlowOrderStep *steps; /* each after all that it depends on: the given order */
  uint32_t nvalues, nsteps;
} GlowOrderProblem;

typedef struct GlowOrderResult {
  int64_t given, best; /* peaks: of the given order, of the one that was found */
  bool exact;          /* no order has a lower peak */
} GlowOrderResult;

/* The most bytes alive at one time if steps run in this order. */
int64_t glow_order_peak(GlowArena *scratch, const GlowOrderProblem *p, const uint32_t *order);

/* Writes the order with the lowest peak that was found into order[nsteps]: the given one where no
 * better one was. Depends on the problem alone. */
GlowOrderResult glow_order_find(GlowArena *scratch, const GlowOrderProblem *p, uint32_t *order);

#endif
