/* Static memory planning: offsets for buffers whose lifetimes are known, so that buffers that live
 * at the same time do not overlap and the arena is small. */
#ifndef GLOW_MEMPLAN_MEMPLAN_H
#define GLOW_MEMPLAN_MEMPLAN_H

#include "support/arena.h"

/* A buffer lives at the times start, ..., end - 1. Sizes and offsets are bytes. */
typedef struct GlowPlanBuffer {
  int64_t size; /* >= 0 */
  uint32_t start, end;
  int64_t offset; /* the result */
} GlowPlanBuffer;

typedef struct GlowPlanReport {
  int64_t bound;        /* glow_memplan_lower_bound */
  int64_t greedy, best; /* arenas of the greedy plan and of the one that was found */
  uint64_t steps;       /* of the search */
  bool exact;           /* no plan is smaller */
} GlowPlanReport;

/* Fills in every offset, a multiple of align (a power of two), and returns the size of the arena,
 * or -1 if that is over INT64_MAX. Greedy, then a search of bounded length for what is smaller
 * (plan.c, search.c). The result depends on the arguments alone. */
int64_t glow_memplan(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count, int64_t align,
                     GlowPlanReport *report);

/* Fills in every offset, a multiple of align (a power of two), and returns the size of the arena,
 * or -1 if that is over INT64_MAX. Largest buffers first, each into the tightest gap among those
 * placed before (greedy.c). The result depends on the array alone. */
int64_t glow_memplan_greedy(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count,
                            int64_t align);

/* Fills in the offsets of buffers that are not in `stay`, among those that are; returns the size of
 * the arena, or -1 if that is over INT64_MAX. */
int64_t glow_memplan_fill(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count,
                          int64_t align, const bool *stay);

/* No plan can be smaller: the most bytes that are alive at one time, each buffer but one rounded up
 * to the alignment. -1 if that is over INT64_MAX. */
int64_t glow_memplan_lower_bound(GlowArena *scratch, const GlowPlanBuffer *buffers, uint32_t count,
                                 int64_t align);

#endif
