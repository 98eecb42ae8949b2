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
#include "memplan/chain.h"
#include "ops/infer.h"
#include "support/sizes.h"
#include "transforms/early.h"
#include "transforms/segments.h"
#include "transforms/transforms.h"
#include "transforms/turn.h"

enum {
  GRID = 8,    /* plans that are tried at first, */
  TRIES = 8,   /* and those between the best of them and the next */
  SMALL = 4096 /* a value is small if it takes less than this part of the peak */
};

/* Two questions on which neither answer is always better. With a copy, the value behind stages that
 * run again need not stay, if what follows is saved; and a stage counts the value behind it as
 * saved, whether the second part reads it or not. */
typedef struct Style {
  bool keeps_behind;  /* the second part reads the value behind stages that run again, no copy */
  bool cuts_anywhere; /* stages may end where a value goes on that the second part does not read */
} Style;

typedef struct Recompute {
  GlowArena *arena;
  Style style;
  GlowTurn turn;
  int64_t *alive;               /* by node: bytes that are alive while it runs */
  int64_t *late;                /* by node: those of the second part's values */
  bool *needed;                 /* by node: large values that the second part reads need it */
  GLOW_VEC(uint32_t) begins;    /* by stage: its first node; that of the turn behind the last */
  GLOW_VEC(GlowValue *) behind; /* by stage: the value that goes on; NULL for the last */
  GLOW_VEC(GlowChainStage) stages;
  const GlowChain *plan;
} Recompute;

/* A plan, and what comes of it. */
typedef struct Way {
  Style style;
  const GlowChain *plan;
  int64_t peak, work; /* of the function: bytes alive at one time, and cost */
} Way;

/* ---- Stages ---------------------------------------------------------------------------------- */

static int64_t cost_of(const GlowNode *n) {
  int64_t cost = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
  for (uint32_t i = 0; i < n->nresults && cost <= 0; i++)
    cost = glow_type_is_static(n->results[i].type) ? glow_type_elements(n->results[i].type) : 0;
  return cost < 0 ? 0 : cost;
}

/* Whether v stays alive even if the stage that computes it runs again, since it takes so little:
 * the statistics of a normalization, for example. */
static bool is_small(const Recompute *r, const GlowValue *v) {
  return v->def.node->op != GLOW_OP_BARRIER && glow_turn_bytes(v) < r->turn.peak / SMALL;
}

/* The uses of v that a copy may serve. */
static GlowUse *late_uses(const Recompute *r, const GlowValue *v) {
  return is_small(r, v) ? NULL : v->uses;
}

/* Marks the nodes of the first part that large values of the second part's are computed of. */
static void find_needed(Recompute *r) {
  r->needed = GLOW_NEW_ARRAY(r->arena, bool, r->turn.nodes.count);
  for (uint32_t i = r->turn.at; i-- > 0;)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      const GlowValue *v = &r->turn.nodes.data[i]->results[k];
      for (const GlowUse *u = late_uses(r, v); u; u = u->next)
        r->needed[i] |= glow_turn_reads_late(&r->turn, u) ||
                        (u->user->order < r->turn.at && r->needed[u->user->order]);
    }
}

/* The same, of values that are computed again where `behind` is still there. */
static GlowUse *read_again(const Recompute *r, const GlowValue *v, const GlowValue *behind) {
  return r->style.keeps_behind && v == behind ? NULL : late_uses(r, v);
}

/* The bytes of its own values that the second part has alive in front of the first node that reads
 * large results of the nodes from `begin` to `end`; and the most bytes that are alive from this to
 * the last of such nodes, besides what this stage and those before it have saved. */
static void measure_late(const Recompute *r, uint32_t begin, uint32_t end,
                         const GlowValue *boundary, GlowChainStage *s) {
  uint32_t first = r->turn.nodes.count, last = 0;
  for (uint32_t i = begin; i < end; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++)
      for (const GlowUse *u = read_again(r, &r->turn.nodes.data[i]->results[k], boundary); u;
           u = u->next)
        if (glow_turn_reads_late(&r->turn, u)) {
          first = u->user->order < first ? u->user->order : first;
          last = u->user->order > last ? u->user->order : last;
        }
  if (first <= last)
    s->front =
        r->late[first] - r->turn.inner[first] - glow_turn_result_bytes(r->turn.nodes.data[first]);
  int64_t saved = s->saved;
  for (uint32_t i = 0; i < r->stages.count; i++)
    saved += r->stages.data[i].saved;
  for (uint32_t i = first; i <= last; i++)
    s->late = r->alive[i] - saved > s->late ? r->alive[i] - saved : s->late;
}

/* The most bytes that are alive while the nodes from `begin` to `end` run, of values that they
 * compute. */
static int64_t bytes_of_run(const Recompute *r, uint32_t begin, uint32_t end) {
  int64_t alive = 0, most = 0;
  int64_t *ends_at = GLOW_NEW_ARRAY(r->arena, int64_t, end - begin + 1);
  for (uint32_t i = begin; i < end; i++) {
    alive += r->needed[i] ? glow_turn_result_bytes(r->turn.nodes.data[i]) : 0;
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      const GlowValue *v = &r->turn.nodes.data[i]->results[k];
      uint32_t last = glow_turn_is_free(v) ? end : glow_turn_last_use(v, UINT32_MAX);
      if (last < end && r->needed[i])
        ends_at[last - begin] += glow_turn_bytes(v);
    }
    most = alive + r->turn.inner[i] > most ? alive + r->turn.inner[i] : most;
    alive -= ends_at[i - begin];
  }
  return most;
}

/* What it costs to run the nodes from `begin` to `end` again without what only `boundary` needs. */
static int64_t cost_of_tail(const Recompute *r, uint32_t begin, uint32_t end,
                            const GlowValue *boundary) {
  bool *needed = GLOW_NEW_ARRAY(r->arena, bool, end - begin + 1);
  int64_t cost = 0;
  for (uint32_t i = end; i-- > begin;) {
    const GlowNode *n = r->turn.nodes.data[i];
    for (uint32_t k = 0; k < n->nresults; k++) {
      for (const GlowUse *u = read_again(r, &n->results[k], boundary); u; u = u->next)
        needed[i - begin] |= glow_turn_reads_late(&r->turn, u);
      for (const GlowUse *u = late_uses(r, &n->results[k]); u; u = u->next)
        needed[i - begin] |= u->user->order < end && needed[u->user->order - begin];
    }
    cost += needed[i - begin] ? cost_of(n) : 0;
  }
  return cost;
}

/* The stage of the nodes from `begin` to `end`, which `boundary` goes on from; NULL for the last.
 */
static GlowChainStage make_stage(const Recompute *r, uint32_t begin, uint32_t end,
                                 const GlowValue *boundary) {
  GlowChainStage s = {0};
  for (uint32_t i = begin; i < end; i++) {
    const GlowNode *n = r->turn.nodes.data[i];
    s.cost += r->needed[i] ? cost_of(n) : 0;
    s.fixed |= (!GLOW_HAS(glow_node_desc(n), PURE) && n->op != GLOW_OP_SAVE) || n->nregions;
    for (uint32_t k = 0; k < n->nresults; k++)
      if (&n->results[k] == boundary || glow_turn_is_kept(&r->turn, &n->results[k]))
        s.saved += glow_turn_bytes(&n->results[k]);
  }
  s.boundary = boundary ? glow_turn_bytes(boundary) : 0;
  s.tail = cost_of_tail(r, begin, end, boundary);
  s.run = bytes_of_run(r, begin, end);
  measure_late(r, begin, end, boundary, &s);
  if (!boundary)
    s.front = 0;
  return s;
}

/* Whether a single large value goes on in front of node p, for the first time, and is kept. */
static bool is_cut(const Recompute *r, const uint32_t *crossing, const GlowValue **over,
                   uint32_t p) {
  return crossing[p] == 1 && (crossing[p - 1] != 1 || over[p - 1] != over[p]) &&
         (r->style.cuts_anywhere || glow_turn_is_kept(&r->turn, over[p]));
}

/* Cuts the first part where one value goes on that is kept anyway. Small values, such as the
 * statistics of a normalization, may go on besides: they stay. */
static void find_stages(Recompute *r) {
  uint32_t *crossing = GLOW_NEW_ARRAY(r->arena, uint32_t, r->turn.at + 2), count = 0, cuts = 0;
  const GlowValue **over = GLOW_NEW_ARRAY(r->arena, const GlowValue *, r->turn.at + 2);
  for (uint32_t i = 0; i < r->turn.at; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      const GlowValue *v = &r->turn.nodes.data[i]->results[k];
      bool passes = is_small(r, v) || (glow_turn_is_free(v) && !glow_turn_is_on_the_way(v));
      uint32_t last = passes ? i : glow_turn_last_use(v, r->turn.at);
      for (uint32_t p = i + 1; p <= last; p++) {
        crossing[p]++;
        over[p] = v;
      }
    }
  for (uint32_t p = 1; p < r->turn.at; p++)
    cuts += is_cut(r, crossing, over, p);
  uint32_t every = cuts / GLOW_CHAIN_MOST_STAGES + 1, begin = 0;
  glow_vec_push(r->arena, &r->begins, begin);
  for (uint32_t p = 1; p < r->turn.at; p++) {
    if (!is_cut(r, crossing, over, p) || count++ % every)
      continue;
    GlowChainStage s = make_stage(r, begin, p, over[p]);
    glow_vec_push(r->arena, &r->stages, s);
    glow_vec_push(r->arena, &r->behind, (GlowValue *)over[p]);
    glow_vec_push(r->arena, &r->begins, p);
    begin = p;
  }
  GlowChainStage s = make_stage(r, begin, r->turn.at, NULL);
  glow_vec_push(r->arena, &r->stages, s);
  glow_vec_push(r->arena, &r->begins, r->turn.at);
}

static Recompute analyze(GlowArena *arena, GlowFunction *f, Style style) {
  Recompute r = {.arena = arena, .style = style, .turn = glow_turn_find(arena, f)};
  r.alive = glow_turn_alive(arena, &r.turn, 0);
  r.late = glow_turn_alive(arena, &r.turn, r.turn.at);
  if (r.turn.at) {
    find_needed(&r);
    find_stages(&r);
  }
  return r;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* The first node of the second part that reads large values of the stages, but that which is still
 * there; NULL if none does. */
static GlowNode *first_reader(const Recompute *r, GlowChainPart stages) {
  const GlowValue *behind = r->behind.data[stages.last];
  uint32_t first = UINT32_MAX;
  for (uint32_t i = r->begins.data[stages.first]; i < r->begins.data[stages.last + 1]; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      const GlowValue *v = &r->turn.nodes.data[i]->results[k];
      for (const GlowUse *u = read_again(r, v, behind); u; u = u->next)
        if (glow_turn_reads_late(&r->turn, u) && u->user->order < first)
          first = u->user->order;
    }
  return first == UINT32_MAX ? NULL : r->turn.nodes.data[first];
}

/* Lets the second part read `copy` in place of v. */
static void read_copy(const Recompute *r, GlowValue *v, GlowValue *copy) {
  for (GlowUse *u = late_uses(r, v), *next; u; u = next) {
    next = u->next;
    if (glow_turn_reads_late(&r->turn, u))
      glow_use_set(u, copy);
  }
}

/* The same for all that a stage saves. */
static void read_copies(const Recompute *r, uint32_t stage, const GlowMap *copies) {
  for (uint32_t i = r->begins.data[stage]; i < r->begins.data[stage + 1]; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      GlowValue *v = &r->turn.nodes.data[i]->results[k], *copy = glow_map_get(copies, v);
      if (copy)
        read_copy(r, v, copy);
    }
}

/* The first value of the second part, computed before `reader`, that this or a later node reads:
 * what a copy in front of `reader` has to wait for. NULL if there is none. */
static GlowValue *value_before(const Recompute *r, const GlowNode *reader) {
  for (uint32_t i = reader->order; i < r->turn.nodes.count; i++) {
    const GlowNode *n = r->turn.nodes.data[i];
    for (uint32_t k = 0; k < n->noperands; k++) {
      GlowValue *v = n->operands[k].value;
      if (v && v->kind == GLOW_VALUE_RESULT && v->def.node->order >= r->turn.at &&
          v->def.node->order < reader->order)
        return v;
    }
  }
  return NULL;
}

/* Whether copies from stage `first` on read v through a Barrier: a value before them or, from the
 * start on, an input. Weights stay as they are, so that what is made of them alone is shared. */
static bool is_held_back(const Recompute *r, uint32_t first, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_RESULT)
    return v->def.node->order < r->begins.data[first] && v->def.node->noperands > 0;
  bool weight = v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls != GLOW_PLACEHOLDER;
  return first == 0 && !weight;
}

/* Puts Barriers that wait for `after` in front of what a copy of n reads. `copies` has their
 * results from then on, `held` the values that have one. */
static void hold_back(const Recompute *r, GlowBuilder *b, uint32_t first, const GlowNode *n,
                      GlowValue *after, GlowMap *copies, GlowMap *held) {
  for (uint32_t k = 0; k < n->noperands; k++) {
    GlowValue *v = n->operands[k].value, *copy = v ? glow_map_get(copies, v) : NULL;
    if (!v || glow_map_get(held, v) || !is_held_back(r, first, v))
      continue;
    GlowValue *ins[] = {copy ? copy : v, after};
    GlowNode *barrier = glow_build(b, GLOW_OP_BARRIER, ins, after ? 2 : 1, NULL, v->name);
    GLOW_CHECK(r->turn.function->module->ctx, barrier, "a Barrier cannot be built");
    barrier->order = 0; /* of the first part */
    glow_map_set(held, v, barrier);
    glow_map_set(copies, v, &barrier->results[0]);
  }
}

/* Copies the stages to b, in front of `reader`; `copies` has the value before them. */
static void copy_stages(const Recompute *r, GlowBuilder *b, GlowChainPart stages,
                        const GlowNode *reader, GlowMap *copies) {
  GlowValue *after = value_before(r, reader);
  GlowMap *held = glow_map_create(r->arena);
  for (uint32_t i = r->begins.data[stages.first]; i < r->begins.data[stages.last + 1]; i++) {
    if (!r->needed[i])
      continue;
    hold_back(r, b, stages.first, r->turn.nodes.data[i], after, copies, held);
    GlowNode *copy = glow_node_clone(b, r->turn.nodes.data[i], copies);
    glow_node_renumber(copy);
    copy->order = 0; /* of the first part */
  }
}

/* Carries out the plan for a stretch of stages, whose values have these copies, or none. */
static void apply(const Recompute *r, GlowChainPart part, GlowMap *copies) {
  GlowChainPart left, right;
  if (glow_chain_step(r->plan, part, &left, &right)) {
    read_copies(r, part.first, copies);
    if (part.first < part.last)
      apply(r, right, copies);
    return;
  }
  apply(r, right, copies);
  GlowNode *reader = first_reader(r, left);
  GlowValue *behind = r->style.keeps_behind ? r->behind.data[left.last] : NULL;
  GlowValue *now = behind ? glow_map_get(copies, behind) : NULL;
  if (now)
    read_copy(r, behind, now);
  if (!reader)
    return;
  GlowBuilder b = glow_builder_before(reader);
  b.pred = NULL;
  GlowMap *again = glow_map_create(r->arena);
  for (uint32_t i = 0; i < r->begins.data[left.first]; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      GlowValue *v = &r->turn.nodes.data[i]->results[k], *copy = glow_map_get(copies, v);
      if (copy)
        glow_map_set(again, v, copy);
    }
  copy_stages(r, &b, left, reader, again);
  if (behind)
    glow_map_set(again, behind, now ? now : behind);
  apply(r, left, again);
}

static void carry_out(GlowArena *arena, GlowFunction *f, const Way *way) {
  Recompute r = analyze(arena, f, way->style);
  r.plan = way->plan;
  apply(&r, glow_chain_all(way->plan), glow_map_create(arena));
  glow_remove_unneeded(f->body);
}

/* Sets what comes of the way, in a copy of the module. */
static void measure(GlowArena *arena, const GlowFunction *f, Way *way) {
  GlowModule *module = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(module, f->name);
  carry_out(arena, copy, way);
  way->peak = glow_turn_find(arena, copy).peak;
  way->work = 0;
  for (const GlowNode *n = copy->body->first; n; n = n->next)
    way->work += n->op == GLOW_OP_BARRIER ? 0 : cost_of(n);
  glow_module_destroy(module);
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* The ways that were tried. */
typedef struct Search {
  Recompute r;
  int64_t budget, least;
  Way *best; /* the one with the least work whose function stays within the budget; NULL: none */
} Search;

/* Whether the plan for `memory` bytes keeps the budget. */
static bool fits(Search *s, int64_t memory) {
  const Recompute *r = &s->r;
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
    s.r = analyze(arena, f, (Style){.keeps_behind = i % 2, .cuts_anywhere = i / 2});
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
