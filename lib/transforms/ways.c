/* See ways.h. */
#include "transforms/ways.h"

#include <string.h>

#include "transforms/dropped.h"
#include "transforms/rerun.h"

enum {
  GRID = 8,      /* plans that are tried at first, */
  TRIES = 8,     /* and those between the best of them and the next */
  FEW = 6,       /* of so many values, all choices are tried */
  REMOVALS = 32, /* of more, so many are tried to be kept after all */
};

bool glow_way_take(GlowArena *arena, GlowFunction *f, const GlowWay *way) {
  if (way->alive)
    return glow_rerun(arena, f, way->alive);
  if (!way->memory) {
    GlowKept kept = glow_kept_find(arena, f);
    memcpy(kept.dropped, way->dropped, kept.values.count * sizeof *kept.dropped);
    glow_kept_drop(&kept, way->apart);
    return true;
  }
  GlowStages r = glow_stages_find(arena, f, way->style);
  const GlowChain *plan = glow_chain_solve(arena, r.stages.data, r.stages.count, way->memory);
  if (glow_chain_recomputed(plan) < 0)
    return false;
  glow_stages_apply(&r, plan);
  return true;
}

int64_t glow_way_work(const GlowFunction *f) {
  int64_t work = 0;
  for (const GlowNode *n = f->body->first; n; n = n->next)
    work += n->op == GLOW_OP_BARRIER ? 0 : glow_turn_cost(n);
  return work;
}

static void release_arena(void *arena) { glow_arena_destroy(arena); }

/* Sets what comes of the way, in a copy of the module. */
static bool measure(const GlowFunction *f, GlowWay *way) {
  GlowArena *arena = glow_arena_create(f->module->ctx); /* tables of plans are large */
  GlowDefer release;
  glow_defer_push(f->module->ctx, &release, release_arena, arena);
  GlowModule *module = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(module, f->name);
  bool done = glow_way_take(arena, copy, way);
  way->peak = glow_turn_find(arena, copy).peak;
  way->work = glow_way_work(copy);
  glow_module_destroy(module);
  glow_defer_pop(f->module->ctx, &release, true);
  return done;
}

/* ---- The search ------------------------------------------------------------------------------ */

typedef struct Search {
  GlowArena *arena;
  GlowFunction *function;
  int64_t budget;
  GlowWays ways; /* of those tried so far */
} Search;

/* The way, or one that was tried before and comes to the same. */
static const GlowWay *keep(Search *s, const GlowWay *way) {
  for (uint32_t i = 0; i < s->ways.tried.count; i++)
    if (s->ways.tried.data[i]->peak == way->peak && s->ways.tried.data[i]->work == way->work)
      return s->ways.tried.data[i];
  GlowWay *kept = GLOW_NEW(s->arena, GlowWay);
  *kept = *way;
  glow_vec_push(s->arena, &s->ways.tried, kept);
  return kept;
}

/* Whether a way keeps the budget. */
static bool fits(Search *s, GlowWay tried) {
  if (!measure(s->function, &tried))
    return false;
  const GlowWay *way = keep(s, &tried);
  if (!s->ways.least || way->peak < s->ways.least->peak)
    s->ways.least = way;
  if (way->peak <= s->budget && (!s->ways.best || way->work < s->ways.best->work))
    s->ways.best = way;
  return way->peak <= s->budget;
}

/* The fewest bytes alive in any order of a function of few nodes; -1 if it has more. */
static int64_t least_of_orders(GlowFunction *f) {
  GlowArena *arena = glow_arena_create(f->module->ctx); /* so are tables of states */
  GlowDefer release;
  glow_defer_push(f->module->ctx, &release, release_arena, arena);
  int64_t least = glow_rerun_least(arena, f);
  glow_defer_pop(f->module->ctx, &release, true);
  return least;
}

/* Of a function of few nodes, the best of all orders. True if that keeps the budget: then no other
 * way has less work. */
static bool try_orders(Search *s) {
  if (s->budget > 0 && fits(s, (GlowWay){.alive = s->budget}))
    return true;
  int64_t least = least_of_orders(s->function);
  if (least > 0)
    fits(s, (GlowWay){.alive = least});
  return false;
}

/* Where stages overlap, the memory of a plan is more or less than what is alive, and the plan with
 * the least memory need not be the one with the least alive: so plans between the least memory and
 * what is alive now are tried, first some that lie even, then those above the last that fits. */
static void try_plans(Search *s, const GlowStages *r) {
  uint32_t count = r->stages.count;
  int64_t high = r->turn.peak;
  int64_t low = glow_chain_least(s->arena, r->stages.data, count);
  low += low * count / GLOW_CHAIN_SLOTS + 1; /* sizes are rounded up to slots */
  int64_t step = (high - low) / GRID, good = -1;
  for (int64_t i = 0; i < GRID && (step > 0 || i == 0); i++)
    if (fits(s, (GlowWay){.style = r->style, .memory = low + i * step}))
      good = i;
  if (good < 0)
    return;
  low += good * step + 1;
  high = low + step;
  for (int i = 0; i < TRIES && low < high; i++) {
    int64_t middle = low + (high - low) / 2;
    if (fits(s, (GlowWay){.style = r->style, .memory = middle}))
      low = middle + 1;
    else
      high = middle;
  }
}

static double worth_of(GlowKept *k, uint32_t i) {
  return (double)glow_turn_bytes(k->values.data[i]) / (1 + (double)glow_kept_cost(k, i));
}

/* The order in which values are worth not to be kept: each time the one with the most bytes for the
 * work, if those before it are not kept. The work only grows, so that a value which is still the
 * best when it is looked at again is the best of all. */
static uint32_t *order_of(Search *s, GlowKept *k) {
  uint32_t *order = GLOW_NEW_ARRAY(s->arena, uint32_t, k->values.count);
  double *worth = GLOW_NEW_ARRAY(s->arena, double, k->values.count);
  for (uint32_t i = 0; i < k->values.count; i++)
    worth[i] = worth_of(k, i);
  for (uint32_t n = 0; n < k->values.count;) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < k->values.count; i++)
      best = worth[i] > worth[best] ? i : best;
    double now = worth_of(k, best);
    if (now < worth[best]) {
      worth[best] = now;
      continue;
    }
    order[n++] = best;
    k->dropped[best] = true;
    worth[best] = -1;
  }
  return order;
}

/* A choice of values: the first `count` of the order, or those that a number has as bits. */
static bool *choose(Search *s, const GlowKept *k, const uint32_t *order, uint32_t count) {
  bool *dropped = GLOW_NEW_ARRAY(s->arena, bool, k->values.count + 1);
  for (uint32_t i = 0; i < k->values.count; i++)
    if (order ? i < count : count >> i & 1)
      dropped[order ? order[i] : i] = true;
  return dropped;
}

/* Tries which values are not kept: all choices of a few; of more, the fewest in an order that keep
 * the budget, and then to keep some of them after all. */
static void try_values(Search *s, bool apart) {
  GlowKept k = glow_kept_find(s->arena, s->function);
  uint32_t low = 1, high = k.values.count + 1;
  if (k.turn.at == 0)
    return;
  for (uint32_t i = 1; k.values.count <= FEW && i < 1u << k.values.count; i++)
    fits(s, (GlowWay){.dropped = choose(s, &k, NULL, i), .apart = apart});
  if (k.values.count <= FEW)
    return;
  const uint32_t *order = order_of(s, &k);
  for (uint32_t i = 1; i <= 2 * GRID && high > k.values.count; i++) {
    uint32_t count = (i * k.values.count + 2 * GRID - 1) / (2 * GRID);
    if (count >= low && fits(s, (GlowWay){.dropped = choose(s, &k, order, count), .apart = apart}))
      high = count;
    else
      low = count + 1;
  }
  if (high > k.values.count)
    return;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (fits(s, (GlowWay){.dropped = choose(s, &k, order, middle), .apart = apart}))
      high = middle;
    else
      low = middle + 1;
  }
  bool *dropped = choose(s, &k, order, high);
  for (uint32_t i = high; i-- > 0 && high - i <= REMOVALS;) {
    bool *fewer = GLOW_NEW_ARRAY(s->arena, bool, k.values.count);
    memcpy(fewer, dropped, k.values.count);
    fewer[order[i]] = false;
    if (fits(s, (GlowWay){.dropped = fewer, .apart = apart}))
      dropped = fewer;
  }
}

GlowWays glow_ways_find(GlowArena *arena, GlowFunction *f, int64_t budget) {
  Search s = {.arena = arena, .function = f, .budget = budget};
  if (try_orders(&s))
    return s.ways;
  for (int i = 0; i < 4; i++) {
    GlowStages r =
        glow_stages_find(arena, f, (GlowStageStyle){.keeps_behind = i % 2, .cuts_anywhere = i / 2});
    if (r.turn.at && (i < 2 || r.stages.count < GLOW_CHAIN_MOST_STAGES / 2))
      try_plans(&s, &r);
  }
  try_values(&s, false);
  try_values(&s, true);
  return s.ways;
}
