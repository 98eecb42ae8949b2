/* What the files of the search for an order share. */
#ifndef GLOW_MEMPLAN_ORDER_INTERNAL_H
#define GLOW_MEMPLAN_ORDER_INTERNAL_H

#include "memplan/order.h"

#define GLOW_ORDER_NONE UINT32_MAX

/* After some steps have run. */
typedef struct GlowOrderState {
  const GlowOrderProblem *problem;
  uint32_t *left; /* of each value: steps that still take it, and 1 if it stays */
  int64_t live, peak;
} GlowOrderState;
GlowOrderState *glow_order_begin(GlowArena *scratch, const GlowOrderProblem *p);
void glow_order_run(GlowOrderState *s, uint32_t step);

/* The step that makes each value, or GLOW_ORDER_NONE. */
uint32_t *glow_order_makers(GlowArena *scratch, const GlowOrderProblem *p);

/* Writes the steps [from, to) into order[from, to): operands first that need the most memory beyond
 * what they leave. */
void glow_order_greedy(GlowArena *scratch, const GlowOrderProblem *p, uint32_t from, uint32_t to,
                       uint32_t *order);

/* Writes an order of the steps [from, to), which begin at `s`, into order[0, to - from) and its
 * peak into *best if it has a lower one. True if then no order is better; false if that would have
 * taken too long. */
bool glow_order_exact(GlowArena *scratch, const GlowOrderState *s, uint32_t from, uint32_t to,
                      int64_t *best, uint32_t *order);

#endif
