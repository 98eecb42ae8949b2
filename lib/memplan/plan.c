/* The whole planner: greedy by size, then, if that is above the lower bound, exact search for a
 * plan within the bound, and where none is found within limits between bound and plan.
 *
 * Search has a budget of steps, never of time: a step is one look at a buffer or a section, so the
 * result does not depend on the machine. All of them take about a second on a core of 2023. Search
 * has a heavy tail: some strategy finds a plan at once, or none does for long. So strategies take
 * turns, first for few steps, then for more. */
#include "memplan/search.h"

static const uint64_t total_steps = UINT64_C(600) * 1000 * 1000;
static const uint64_t slices[] = {4 * 1000 * 1000, 32 * 1000 * 1000};
enum { SLICES = sizeof slices / sizeof *slices };

static const GlowStrategy strategies[] = {
    {GLOW_SEARCH_LOWEST_TIGHT, 0}, {GLOW_SEARCH_LOWEST, 0}, {GLOW_SEARCH_FEWEST, 0},
    {GLOW_SEARCH_LOWEST_TIGHT, 1}, {GLOW_SEARCH_LOWEST, 2}, {GLOW_SEARCH_FEWEST, 3},
};
enum { PLAIN = 3, STRATEGIES = sizeof strategies / sizeof *strategies };

typedef struct Planner {
  GlowPlanBuffer *buffers;
  uint32_t count;
  GlowSearch *search;
  int64_t *offsets; /* of the best plan */
  GlowPlanReport *report;
} Planner;

/* The best plan is the one in the buffers. */
static void keep(Planner *p) {
  int64_t arena = 0;
  for (uint32_t i = 0; i < p->count; ++i) {
    const GlowPlanBuffer *b = &p->buffers[i];
    p->offsets[i] = b->offset;
    if (b->size && b->start < b->end && b->offset + b->size > arena)
      arena = b->offset + b->size;
  }
  p->report->best = arena;
}

/* One limit with the first `count` strategies. */
static GlowFound try_limit(Planner *p, int64_t limit, uint32_t count) {
  for (uint32_t i = 0; i < SLICES * count; ++i) {
    uint64_t slice = slices[i / count], left = total_steps - p->search->steps;
    if (p->search->steps >= total_steps)
      return GLOW_FOUND_UNKNOWN;
    GlowFound found =
        glow_search_run(p->search, strategies[i % count], limit, slice < left ? slice : left);
    if (found == GLOW_FOUND)
      keep(p);
    if (found != GLOW_FOUND_UNKNOWN)
      return found;
  }
  return GLOW_FOUND_UNKNOWN;
}

/* `low`: no plan is smaller, for certain; `hard`: none was found below this. */
static void search(Planner *p) {
  GlowPlanReport *r = p->report;
  int64_t low = r->bound, hard = low;
  GlowFound found = try_limit(p, low, STRATEGIES);
  while (found != GLOW_FOUND || r->best > low) {
    if (found == GLOW_FOUND_NONE)
      low = hard = p->search->limit + 1;
    else if (found == GLOW_FOUND_UNKNOWN)
      hard = p->search->limit + 1;
    if (low >= r->best || hard >= r->best || p->search->steps >= total_steps)
      break;
    found = try_limit(p, hard + (r->best - 1 - hard) / 2, PLAIN);
  }
  r->exact = low >= r->best;
}

int64_t glow_memplan(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count, int64_t align,
                     GlowPlanReport *report) {
  *report = (GlowPlanReport){0};
  report->bound = glow_memplan_lower_bound(scratch, buffers, count, align);
  report->greedy = report->best = glow_memplan_greedy(scratch, buffers, count, align);
  report->exact = report->best == report->bound;
  if (report->bound < 0 || report->greedy < 0)
    return -1;
  Planner p = {.buffers = buffers, .count = count, .report = report};
  if (report->exact || !(p.search = glow_search_create(scratch, buffers, count, align)))
    return report->best;
  p.offsets = GLOW_NEW_ARRAY(scratch, int64_t, count);
  keep(&p);
  search(&p);
  report->steps = p.search->steps;
  for (uint32_t i = 0; i < count; ++i)
    buffers[i].offset = p.offsets[i];
  return report->best;
}
