/* Keeps the memory of a function within a budget: values that a late part reads of an early part
 * are computed again when they are needed, instead of being kept.
 *
 * What counts is the arena that the function's program has in the end, with all that passes fuse,
 * pack and lay out: it is planned on copies (transforms/planned.h). For a goal of bytes that are
 * alive at one time, a way with the least work is searched (transforms/ways.h); the goal is lowered
 * by what its arena has too much, or raised by what that leaves, until little changes. Before all
 * that, updates are put behind the derivatives that they read (transforms/early.h).
 *
 * The copies of nodes have the names of the originals with numbers behind them. They read what is
 * kept through Barriers, which wait for a value of the second part: so no later pass merges copies
 * with their originals, or starts them earlier.
 *
 * If no way keeps the budget, loops are cut into segments, which keep what a segment starts with
 * and run again (transforms/segments.h): the loop that keeps most first, until a way does.
 *
 *   memory=SIZE   the most bytes that the arena may have. Without the option, half of what it has;
 *                 then a function that cannot keep to that stays as it is
 *   then=PASSES   what will run behind this pass, until memory is planned: irgen and -O2, or, if an
 *                 operator with a lowering rule is left, -O2, irgen and -O2
 *
 * Exact: a copy computes what its original does. */
#include <inttypes.h>

#include "analysis/cost.h"
#include "support/sizes.h"
#include "transforms/early.h"
#include "transforms/planned.h"
#include "transforms/segments.h"
#include "transforms/transforms.h"
#include "transforms/ways.h"

enum {
  GOALS = 8,     /* as many are tried, */
  CLOSE = 500,   /* unless they differ by less than this part of what is alive; */
  LOWERINGS = 8, /* and as many lower budgets, to name the least */
};

#define OPEN_LOOP                                                                                  \
  "this Loop keeps what its iterations have: how often it runs is not known, so it is not cut"

/* What is done to a function, and what comes of that. */
typedef struct Plan {
  uint32_t loops;     /* cut into segments */
  const GlowWay *way; /* NULL: nothing else */
  int64_t peak, work, arena;
} Plan;

typedef struct Search {
  GlowPassRun *run;
  int64_t budget;
  GLOW_VEC(Plan) plans; /* all whose arena is known */
  Plan best;            /* the one with the least work within the budget; arena -1: none is */
} Search;

/* ---- One plan -------------------------------------------------------------------------------- */

/* The arena of a copy of f in which values are computed again. */
static int64_t arena_of(const Search *s, const GlowFunction *f, const GlowWay *way) {
  GlowStr why;
  GlowModule *m = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(m, f->name);
  if (way)
    glow_way_take(s->run->arena, copy, way);
  int64_t bytes = glow_planned_bytes(s->run, copy, glow_pass_option(s->run, "then"), &why);
  GLOW_CHECK(s->run->ctx, bytes >= 0, "a function with a program has none any more");
  glow_module_destroy(m);
  return bytes;
}

/* A plan with its arena; of those with the same bytes and work, the first. */
static Plan plan_of(Search *s, const GlowFunction *f, uint32_t loops, const GlowWay *way) {
  Plan p = {.loops = loops, .way = way};
  p.peak = way ? way->peak : 0;
  p.work = way ? way->work : glow_way_work(f);
  for (uint32_t i = 0; i < s->plans.count; i++) {
    const Plan *q = &s->plans.data[i];
    if (q->loops == loops && q->peak == p.peak && q->work == p.work)
      return *q;
  }
  p.arena = arena_of(s, f, way);
  glow_vec_push(s->run->arena, &s->plans, p);
  return p;
}

/* Keeps the plan if it is the best so far. Returns its arena. */
static int64_t consider(Search *s, const GlowFunction *f, uint32_t loops, const GlowWay *way) {
  Plan p = plan_of(s, f, loops, way);
  bool better = s->best.arena < 0 || p.work < s->best.work ||
                (p.work == s->best.work && p.arena < s->best.arena);
  if (p.arena <= s->budget && better)
    s->best = p;
  return p.arena;
}

/* ---- Goals ----------------------------------------------------------------------------------- */

/* Tries ways for goals between 0 and what f, whose arena is too large, has alive. */
static void try_goals(Search *s, GlowFunction *f, uint32_t loops, int64_t arena) {
  int64_t peak = glow_turn_find(s->run->arena, f).peak, least = glow_way_work(f);
  int64_t low = 0, high = peak; /* a goal that is kept, and one that is not */
  int64_t goal = peak - (arena - s->budget);
  for (int i = 0; i < GOALS && high - low > peak / CLOSE; i++) {
    if (goal <= low || goal >= high)
      goal = low + (high - low) / 2;
    GlowWays ways = glow_ways_find(s->run->arena, f, goal);
    const GlowWay *way = ways.best ? ways.best : ways.least;
    if (!way)
      return;
    int64_t over = consider(s, f, loops, way) - s->budget;
    if (over <= 0)
      low = goal;
    else if (ways.best)
      high = way->peak < goal ? way->peak : goal;
    if ((over > 0 && !ways.best) || (over <= 0 && way->work <= least))
      return;
    goal = way->peak - over;
  }
}

/* The best plan in which `loops` loops are cut already. A program of a way with more alive may have
 * the smaller arena: so all ways count, if no goal is kept. */
static void try_function(Search *s, GlowFunction *f, uint32_t loops) {
  int64_t arena = consider(s, f, loops, NULL);
  if (arena > s->budget)
    try_goals(s, f, loops, arena);
  if (s->best.arena >= 0)
    return;
  GlowWays ways = glow_ways_find(s->run->arena, f, 0);
  for (uint32_t i = 0; i < ways.tried.count; i++)
    consider(s, f, loops, ways.tried.data[i]);
}

/* Whether there is a plan for the budget; then the best one with the fewest loops cut. */
static bool plan(Search *s, int64_t budget) {
  const GlowFunction *f = s->run->function;
  GlowModule *m = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(m, f->name);
  uint32_t loops = 0;
  s->budget = budget;
  s->best.arena = -1;
  glow_save_early(s->run->arena, copy);
  do
    try_function(s, copy, loops++);
  while (s->best.arena < 0 && glow_segment_loop(s->run->arena, copy));
  glow_module_destroy(m);
  return s->best.arena >= 0;
}

/* The least budget below `high` that is kept; `high` if there is none. A plan that was found on the
 * way to one budget need not be found for the next: so a budget counts only once it was tried. */
static int64_t least_budget(Search *s, int64_t high) {
  for (int i = 0; i < LOWERINGS; i++) {
    int64_t least = high - 1;
    for (uint32_t k = 0; k < s->plans.count; k++)
      least = s->plans.data[k].arena < least ? s->plans.data[k].arena : least;
    if (!plan(s, least)) {
      if (least == high - 1 || !plan(s, high - 1))
        break;
      least = high - 1;
    }
    high = least;
  }
  return high;
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* What keeps the function from its budget is an error if that was given, else a remark. */
static bool refuse(GlowPassRun *run, const char *why) {
  const GlowFunction *f = run->function;
  bool is_given = glow_pass_option(run, "memory") != NULL;
  if (is_given)
    glow_error(run->ctx, f->src, "recompute: %s", why);
  else
    glow_pass_remark(run, f->src, "%s", why);
  const GlowNode *loop = glow_segment_open(f);
  if (loop && is_given)
    glow_note(run->ctx, glow_node_loc(loop), "%s", OPEN_LOOP);
  else if (loop)
    glow_pass_remark(run, glow_node_loc(loop), "%s", OPEN_LOOP);
  return !is_given;
}

static void apply(GlowPassRun *run, const Plan *p, int64_t before) {
  GlowFunction *f = run->function;
  int64_t work = glow_block_work(f->body);
  glow_pass_changed(run, f->body->first, NULL);
  glow_save_early(run->arena, f);
  for (uint32_t i = 0; i < p->loops; i++)
    glow_segment_loop(run->arena, f);
  if (p->way)
    glow_way_take(run->arena, f, p->way);
  glow_pass_remark(run, f->src,
                   "@%s: an arena of %" PRId64 " bytes instead of %" PRId64 ", %" PRId64
                   " multiply-accumulates again (%" PRId64 " before)",
                   f->name, p->arena, before, glow_block_work(f->body) - work, work);
}

/* Keeps the function, whose arena has `arena` bytes, within the budget. */
static bool fit(GlowPassRun *run, int64_t arena, int64_t budget) {
  GlowStr name = run->function->name;
  Search s = {.run = run};
  if (plan(&s, budget)) {
    apply(run, &s.best, arena);
    return true;
  }
  if (!glow_pass_option(run, "memory"))
    return refuse(run, glow_arena_printf(run->arena,
                                         "@%s needs more than half of its %" PRId64
                                         " bytes, and stays as it is",
                                         name, arena));
  return refuse(run, glow_arena_printf(run->arena,
                                       "@%s needs more than %" PRId64
                                       " bytes; the least budget that it keeps is %" PRId64,
                                       name, budget, least_budget(&s, arena)));
}

bool glow_pass_recompute(GlowPassRun *run) {
  const char *text = glow_pass_option(run, "memory");
  int64_t budget = 0;
  GlowStr why;
  if (text && !glow_parse_size(text, &budget)) {
    glow_error(run->ctx, GLOW_NOWHERE, "recompute: memory=%s is no size, such as 64M", text);
    return false;
  }
  int64_t arena = glow_planned_bytes(run, run->function, glow_pass_option(run, "then"), &why);
  if (arena < 0)
    return refuse(
        run, glow_arena_printf(run->arena, "@%s has no program: %s", run->function->name, why));
  if (text && arena <= budget)
    glow_pass_remark(run, run->function->src,
                     "@%s has an arena of %" PRId64 " bytes, within the budget, and stays as it is",
                     run->function->name, arena);
  if (arena == 0 || (text && arena <= budget))
    return true;
  return fit(run, arena, text ? budget : arena / 2);
}
