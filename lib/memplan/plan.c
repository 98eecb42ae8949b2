/* The whole planner. The greedy plan comes first. If it is above the lower bound, exact search
 * looks for a plan within the bound; if there is none, or none is found, for plans within limits
 * between the bound and the best plan.
 *
 * The search has a budget of steps, never of time: a step is one look at a buffer or a section, so
 * the result does not depend on the machine. A byte that may still be saved is worth 2,000 steps;
 * the fewest take some milliseconds on a core of 2023, the most about a third of a second. How long
 * a search takes varies widely: with one order it finds a plan after few dead ends, with another
 * none for long. So all limits are tried in several orders with few dead ends first, then with
 * more.
 *
 * Of more buffers than can be searched the large ones are planned so, and the small ones are put
 * into the gaps. */
#include "memplan/search.h"

static const uint64_t most_steps = UINT64_C(120) * 1000 * 1000;
static const uint64_t least_steps = 2 * 1000 * 1000, steps_per_byte = 2000;
static const GlowSearchOrder orders[] = {GLOW_SEARCH_LOWEST_TIGHT, GLOW_SEARCH_LOWEST,
                                         GLOW_SEARCH_FEWEST};
enum { ORDERS = sizeof orders / sizeof *orders, FEW = 500, MORE = 8, COARSE = 64, LARGE = 4096 };

typedef struct Planner {
  GlowPlanBuffer *buffers;
  uint32_t count;
  GlowSearch *search;
  int64_t *offsets; /* of the best plan */
  int64_t unit;     /* limits are multiples of this: unit_of */
  int64_t low;      /* no plan is smaller, for certain */
  uint64_t seed;    /* of the last run that had one */
  GlowPlanReport *report;
} Planner;

/* Takes the plan that stands in the buffers as the best one. */
static void keep(Planner *p) {
  int64_t arena = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    const GlowPlanBuffer *b = &p->buffers[i];
    p->offsets[i] = b->offset;
    if (b->size && b->start < b->end && b->offset + b->size > arena)
      arena = b->offset + b->size;
  }
  p->report->best = arena;
}

/* The steps that the search may take: as many as what may still be saved is worth. */
static uint64_t budget(const Planner *p) {
  uint64_t gain = (uint64_t)(p->report->best - p->low);
  if (gain > most_steps / steps_per_byte)
    return most_steps;
  return gain * steps_per_byte > least_steps ? gain * steps_per_byte : least_steps;
}

static bool is_spent(const Planner *p) { return p->search->steps >= budget(p); }

/* Tries one limit with each order, first as it is, then with a random factor. */
static GlowFound try_limit(Planner *p, int64_t limit, uint64_t dead_ends) {
  GlowFound found = GLOW_FOUND_UNKNOWN;
  for (uint32_t i = 0; i < 2 * ORDERS && found == GLOW_FOUND_UNKNOWN && !is_spent(p); i++) {
    GlowStrategy strategy = {orders[i % ORDERS], i < ORDERS ? 0 : ++p->seed};
    GlowSearchEffort most = {budget(p) - p->search->steps, dead_ends};
    found = glow_search_run(p->search, strategy, limit, most);
  }
  if (found == GLOW_FOUND)
    keep(p);
  return found;
}

/* Tries the lowest limit that is not ruled out, then halves the range between the limits that
 * failed and the best plan. If a limit only ran out of dead ends, stops when little is left to
 * gain. */
static void narrow(Planner *p, uint64_t dead_ends) {
  GlowPlanReport *r = p->report;
  int64_t hard = p->low, limit = hard; /* no plan below `hard` was found */
  while (hard < r->best && !is_spent(p)) {
    if (hard > p->low && r->best - hard < r->best / COARSE)
      return;
    GlowFound found = try_limit(p, limit, dead_ends);
    if (found != GLOW_FOUND)
      hard = limit + p->unit;
    if (found == GLOW_FOUND_NONE)
      p->low = hard;
    limit = hard + (r->best - p->unit - hard) / 2 / p->unit * p->unit;
  }
}

/* A unit that divides the arena of every plan without gaps. Offsets of such a plan are sums of
 * rounded sizes; where rounding adds nothing, so is the arena, and the unit is the sizes' greatest
 * common divisor. Otherwise it is 1. */
static int64_t unit_of(const GlowPlanBuffer *buffers, uint32_t count, int64_t align) {
  int64_t unit = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t a = buffers[i].start < buffers[i].end ? buffers[i].size : 0;
    if (a % align)
      return 1;
    while (a) {
      int64_t rest = unit % a;
      unit = a;
      a = rest;
    }
  }
  return unit;
}

/* Plans the buffers that take at least a part of the bound, then the others between them. The plan
 * stays if it is smaller than the one that stands. */
static void plan_large(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count, int64_t align,
                       GlowPlanReport *report) {
  GlowPlanBuffer *all = glow_arena_copy(scratch, buffers, count * sizeof *buffers);
  GlowPlanBuffer *large = GLOW_NEW_ARRAY(scratch, GlowPlanBuffer, count);
  bool *stay = GLOW_NEW_ARRAY(scratch, bool, count);
  uint32_t many = 0;
  for (uint32_t i = 0; i < count; i++)
    if ((stay[i] = buffers[i].size >= report->bound / LARGE))
      large[many++] = buffers[i];
  GlowPlanReport of_large;
  if (many == count || glow_memplan(scratch, large, many, align, &of_large) < 0)
    return;
  for (uint32_t i = 0, next = 0; i < count; i++)
    if (stay[i])
      all[i].offset = large[next++].offset;
  int64_t arena = glow_memplan_fill(scratch, all, count, align, stay);
  report->steps = of_large.steps;
  if (arena < 0 || arena >= report->best)
    return;
  report->best = arena;
  report->exact = arena == report->bound;
  for (uint32_t i = 0; i < count; i++)
    buffers[i].offset = all[i].offset;
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
  if (report->exact)
    return report->best;
  if (!(p.search = glow_search_create(scratch, buffers, count, align))) {
    plan_large(scratch, buffers, count, align, report);
    return report->best;
  }
  p.offsets = GLOW_NEW_ARRAY(scratch, int64_t, count);
  p.unit = unit_of(buffers, count, align);
  p.low = report->bound;
  keep(&p);
  for (uint64_t dead_ends = FEW; p.low < report->best && !is_spent(&p); dead_ends *= MORE)
    narrow(&p, dead_ends);
  report->exact = p.low >= report->best;
  report->steps = p.search->steps;
  for (uint32_t i = 0; i < count; i++)
    buffers[i].offset = p.offsets[i];
  return report->best;
}
