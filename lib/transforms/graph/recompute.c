/* Keeps a function within a budget of memory: values that a late part reads of an early part are
 * computed again when they are needed, instead of being kept.
 *
 * The place of the text where most bytes are alive divides the function, behind -grad into a
 * forward and a backward part. The first part is a chain of stages, some of which keep what the
 * second part needs, while others run again (transforms/stages.h); or it is values of which some
 * are not kept, each by itself (transforms/dropped.h). Many such ways are tried on copies of the
 * module. Before all that, updates are put behind the derivatives that they read
 * (transforms/early.h).
 *
 * The copies have the names of the originals with numbers behind them. They read what is kept
 * through Barriers, which wait for a value of the second part: so no later pass merges copies with
 * their originals, or starts them earlier.
 *
 * If no way keeps the budget, loops are cut into segments, which keep what a segment starts with
 * and run again (transforms/segments.h): the loop that keeps most first, until a way does.
 *
 *   memory=SIZE   the most bytes of values that may be alive at one time; values that are returned
 *                 or saved do not count. Without the option, half of what is alive now
 *
 * Exact: a copy computes what its original does. */
#include <inttypes.h>
#include <string.h>

#include "analysis/cost.h"
#include "support/sizes.h"
#include "transforms/dropped.h"
#include "transforms/early.h"
#include "transforms/segments.h"
#include "transforms/stages.h"
#include "transforms/transforms.h"

enum {
  GRID = 8,      /* plans that are tried at first, */
  TRIES = 8,     /* and those between the best of them and the next */
  FEW = 6,       /* of so many values, all choices are tried */
  REMOVALS = 32, /* of more, so many are tried to be kept after all */
};

/* What is kept, and what comes of that. */
typedef struct Way {
  GlowStageStyle style;
  int64_t memory;      /* of a plan for stages of this style; 0: */
  const bool *dropped; /* which of the values that could be kept are not */
  bool apart;          /* and whether they are computed again apart from each other */
  int64_t peak, work;  /* of the function: bytes alive at one time, and cost */
} Way;

/* False, with nothing done, if there is no plan in so little memory. */
static bool carry_out(GlowArena *arena, GlowFunction *f, const Way *way) {
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

static void release_arena(void *arena) { glow_arena_destroy(arena); }

/* Sets what comes of the way, in a copy of the module. */
static bool measure(const GlowFunction *f, Way *way) {
  GlowArena *arena = glow_arena_create(f->module->ctx); /* tables of plans are large */
  GlowDefer release;
  glow_defer_push(f->module->ctx, &release, release_arena, arena);
  GlowModule *module = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(module, f->name);
  bool done = carry_out(arena, copy, way);
  way->peak = glow_turn_find(arena, copy).peak;
  way->work = 0;
  for (const GlowNode *n = copy->body->first; n; n = n->next)
    way->work += n->op == GLOW_OP_BARRIER ? 0 : glow_turn_cost(n);
  glow_module_destroy(module);
  glow_defer_pop(f->module->ctx, &release, true);
  return done;
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* The ways that were tried. */
typedef struct Search {
  GlowArena *arena;
  GlowFunction *function;
  int64_t budget, least;
  Way *best; /* the one with the least work whose function stays within the budget; NULL: none */
} Search;

/* Whether a way keeps the budget. */
static bool fits(Search *s, Way way) {
  if (!measure(s->function, &way))
    return false;
  s->least = way.peak < s->least ? way.peak : s->least;
  if (way.peak > s->budget)
    return false;
  if (!s->best || way.work < s->best->work) {
    s->best = GLOW_NEW(s->arena, Way);
    *s->best = way;
  }
  return true;
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
    if (fits(s, (Way){.style = r->style, .memory = low + i * step}))
      good = i;
  if (good < 0)
    return;
  low += good * step + 1;
  high = low + step;
  for (int i = 0; i < TRIES && low < high; i++) {
    int64_t middle = low + (high - low) / 2;
    if (fits(s, (Way){.style = r->style, .memory = middle}))
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
    fits(s, (Way){.dropped = choose(s, &k, NULL, i), .apart = apart});
  if (k.values.count <= FEW)
    return;
  const uint32_t *order = order_of(s, &k);
  for (uint32_t i = 1; i <= 2 * GRID && high > k.values.count; i++) {
    uint32_t count = (i * k.values.count + 2 * GRID - 1) / (2 * GRID);
    if (count >= low && fits(s, (Way){.dropped = choose(s, &k, order, count), .apart = apart}))
      high = count;
    else
      low = count + 1;
  }
  if (high > k.values.count)
    return;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (fits(s, (Way){.dropped = choose(s, &k, order, middle), .apart = apart}))
      high = middle;
    else
      low = middle + 1;
  }
  bool *dropped = choose(s, &k, order, high);
  for (uint32_t i = high; i-- > 0 && high - i <= REMOVALS;) {
    bool *fewer = GLOW_NEW_ARRAY(s->arena, bool, k.values.count);
    memcpy(fewer, dropped, k.values.count);
    fewer[order[i]] = false;
    if (fits(s, (Way){.dropped = fewer, .apart = apart}))
      dropped = fewer;
  }
}

/* The way with the least work, of those tried, whose function stays within the budget. NULL if none
 * does. Lowers *least to the fewest bytes alive that were seen. */
static const Way *find_way(GlowArena *arena, GlowFunction *f, int64_t budget, int64_t *least) {
  Search s = {.arena = arena, .function = f, .budget = budget, .least = *least};
  for (int i = 0; i < 4; i++) {
    GlowStages r =
        glow_stages_find(arena, f, (GlowStageStyle){.keeps_behind = i % 2, .cuts_anywhere = i / 2});
    if (r.turn.at && (i < 2 || r.stages.count < GLOW_CHAIN_MOST_STAGES / 2))
      try_plans(&s, &r);
  }
  try_values(&s, false);
  try_values(&s, true);
  *least = s.least;
  return s.best;
}

/* That a budget is too small is an error if it was given, else a remark. */
static void refuse(GlowPassRun *run, int64_t budget, int64_t least) {
  const GlowFunction *f = run->function;
  GlowStr what =
      glow_str_printf(run->ctx,
                      "@%s needs more than %" PRId64
                      " bytes; with the least that can be kept, %" PRId64 " are alive at one time",
                      f->name, budget, least);
  if (glow_pass_option(run, "memory"))
    glow_error(run->ctx, f->src, "recompute: %s", what);
  else
    glow_pass_remark(run, f->src, "%s", what);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* How many loops have to be cut into segments until a plan keeps the budget, as a copy of the
 * module tells; 0 if there is no such number. Lowers *least to what is alive then. */
static uint32_t loops_to_cut(GlowPassRun *run, int64_t budget, int64_t *least) {
  GlowModule *copy = glow_module_clone(run->function->module);
  GlowFunction *f = glow_module_function(copy, run->function->name);
  uint32_t count = 0, found = 0;
  while (!found && glow_segment_loop(run->arena, f)) {
    int64_t now = glow_turn_find(run->arena, f).peak;
    count++;
    if (now <= budget || find_way(run->arena, f, budget, &now))
      found = count;
    *least = now < *least ? now : *least;
  }
  glow_module_destroy(copy);
  return found;
}

static bool fit(GlowPassRun *run, const GlowTurn *turn, int64_t budget) {
  GlowFunction *f = run->function;
  int64_t least = turn->peak, work = glow_block_work(f->body);
  const Way *way = find_way(run->arena, f, budget, &least);
  uint32_t loops = way ? 0 : loops_to_cut(run, budget, &least);
  if (!way && !loops) {
    refuse(run, budget, least);
    return !glow_pass_option(run, "memory");
  }
  glow_pass_changed(run, turn->nodes.data[turn->at], NULL);
  for (uint32_t i = 0; i < loops; i++)
    glow_segment_loop(run->arena, f);
  if (loops && glow_turn_find(run->arena, f).peak > budget)
    way = find_way(run->arena, f, budget, &least);
  if (way)
    carry_out(run->arena, f, way);
  glow_pass_remark(run, f->src,
                   "@%s: %" PRId64 " bytes alive at one time instead of %" PRId64 ", %" PRId64
                   " multiply-accumulates again (%" PRId64 " before)",
                   f->name, glow_turn_find(run->arena, f).peak, turn->peak,
                   glow_block_work(f->body) - work, work);
  return true;
}

bool glow_pass_recompute(GlowPassRun *run) {
  const char *text = glow_pass_option(run, "memory");
  int64_t budget = 0;
  if (text && !glow_parse_size(text, &budget)) {
    glow_error(run->ctx, GLOW_NOWHERE, "recompute: memory=%s is no size, such as 64M", text);
    return false;
  }
  GlowTurn turn = glow_turn_find(run->arena, run->function);
  int64_t before = turn.peak;
  if (!text)
    budget = before / 2;
  if (before <= budget || turn.at == 0)
    return true;
  glow_save_early(run->arena, run->function);
  turn = glow_turn_find(run->arena, run->function);
  turn.peak = before > turn.peak ? before : turn.peak;
  return turn.at == 0 || fit(run, &turn, budget); /* saved early, all may be one part */
}
