/* Keeps a function within a budget of memory: values that a late part reads of an early part are
 * computed again when they are needed, instead of being kept.
 *
 * The place of the text where most bytes are alive divides the function, behind -grad into a
 * forward and a backward part. Where a single value goes on, the first part is cut into stages. A
 * plan says which stages keep what the second part needs of them, and which run again, from the
 * value before them, in front of the first node that reads what they compute (lib/memplan/chain.h).
 * Small values stay, such as the statistics of a normalization, and copies read them. Before all
 * that, updates are put behind the derivatives that they read (transforms/early.h).
 *
 * The copies have the names of the originals with numbers behind them. They read the value before
 * the first of their stages, or the inputs of the function, through Barriers, which wait for a
 * value of the second part: so no later pass merges copies with their originals, or starts them
 * earlier.
 *
 * If no plan keeps the budget, loops are cut into segments, which keep what a segment starts with
 * and run again (transforms/segments.h): the loop that keeps most first, until a plan does.
 *
 *   memory=SIZE   the most bytes of values that may be alive at one time; values that are returned
 *                 or saved do not count. Without the option, half of what is alive now
 *
 * Exact: a copy computes what its original does. */
#include <inttypes.h>

#include "analysis/cost.h"
#include "support/sizes.h"
#include "transforms/early.h"
#include "transforms/segments.h"
#include "transforms/stages.h"
#include "transforms/transforms.h"

enum {
  GRID = 8, /* plans that are tried at first, */
  TRIES = 8 /* and those between the best of them and the next */
};

/* A plan, and what comes of it. */
typedef struct Way {
  GlowStageStyle style;
  const GlowChain *plan;
  int64_t peak, work; /* of the function: bytes alive at one time, and cost */
} Way;

static void carry_out(GlowArena *arena, GlowFunction *f, const Way *way) {
  GlowStages stages = glow_stages_find(arena, f, way->style);
  glow_stages_apply(&stages, way->plan);
}

/* Sets what comes of the way, in a copy of the module. */
static void measure(GlowArena *arena, const GlowFunction *f, Way *way) {
  GlowModule *module = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(module, f->name);
  carry_out(arena, copy, way);
  way->peak = glow_turn_find(arena, copy).peak;
  way->work = 0;
  for (const GlowNode *n = copy->body->first; n; n = n->next)
    way->work += n->op == GLOW_OP_BARRIER ? 0 : glow_turn_cost(n);
  glow_module_destroy(module);
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* The ways that were tried. */
typedef struct Search {
  GlowStages r;
  int64_t budget, least;
  Way *best; /* the one with the least work whose function stays within the budget; NULL: none */
} Search;

/* Whether the plan for `memory` bytes keeps the budget. */
static bool fits(Search *s, int64_t memory) {
  const GlowStages *r = &s->r;
  Way *way = GLOW_NEW(r->arena, Way);
  way->plan = glow_chain_solve(r->arena, r->stages.data, r->stages.count, memory > 0 ? memory : 1);
  way->style = r->style;
  if (glow_chain_recomputed(way->plan) < 0)
    return false;
  measure(r->arena, r->turn.function, way);
  s->least = way->peak < s->least ? way->peak : s->least;
  if (way->peak > s->budget)
    return false;
  if (!s->best || way->work < s->best->work)
    s->best = way;
  return true;
}

/* Where stages overlap, the memory of a plan is more or less than what is alive, and the plan with
 * the least memory need not be the one with the least alive: so plans between the least memory and
 * what is alive now are tried, first some that lie even, then those above the last that fits. */
static void try_plans(Search *s) {
  uint32_t count = s->r.stages.count;
  int64_t high = s->r.turn.peak;
  int64_t low = glow_chain_least(s->r.arena, s->r.stages.data, count);
  low += low * count / GLOW_CHAIN_SLOTS + 1; /* sizes are rounded up to slots */
  int64_t step = (high - low) / GRID, good = -1;
  for (int64_t i = 0; i < GRID && (step > 0 || i == 0); i++)
    if (fits(s, low + i * step))
      good = i;
  if (good < 0)
    return;
  low += good * step + 1;
  high = low + step;
  for (int i = 0; i < TRIES && low < high; i++) {
    int64_t middle = low + (high - low) / 2;
    if (fits(s, middle))
      low = middle + 1;
    else
      high = middle;
  }
}

/* The way with the least work, of those tried, whose function stays within the budget. NULL if none
 * does. Lowers *least to the fewest bytes alive that were seen. */
static const Way *find_way(GlowArena *arena, GlowFunction *f, int64_t budget, int64_t *least) {
  Search s = {.budget = budget, .least = *least};
  for (int i = 0; i < 4; i++) {
    s.r =
        glow_stages_find(arena, f, (GlowStageStyle){.keeps_behind = i % 2, .cuts_anywhere = i / 2});
    if (s.r.turn.at && (i < 2 || s.r.stages.count < GLOW_CHAIN_MOST_STAGES / 2))
      try_plans(&s);
  }
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
