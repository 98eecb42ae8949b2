/* See stages.h. */
#include "transforms/stages.h"

#include "ir/dead.h"

/* ---- Stages ---------------------------------------------------------------------------------- */

/* The uses of v that a copy may serve. */
static GlowUse *late_uses(const GlowStages *r, const GlowValue *v) {
  return glow_turn_is_small(&r->turn, v) ? NULL : v->uses;
}

/* Marks the nodes of the first part that large values of the second part's are computed of. */
static void find_needed(GlowStages *r) {
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
static GlowUse *read_again(const GlowStages *r, const GlowValue *v, const GlowValue *behind) {
  return r->style.keeps_behind && v == behind ? NULL : late_uses(r, v);
}

/* The bytes of its own values that the second part has alive in front of the first node that reads
 * large results of the nodes from `begin` to `end`; and the most bytes that are alive from this to
 * the last of such nodes, besides what this stage and those before it have saved. */
static void measure_late(const GlowStages *r, uint32_t begin, uint32_t end,
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
static int64_t bytes_of_run(const GlowStages *r, uint32_t begin, uint32_t end) {
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
static int64_t cost_of_tail(const GlowStages *r, uint32_t begin, uint32_t end,
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
    cost += needed[i - begin] ? glow_turn_cost(n) : 0;
  }
  return cost;
}

/* The stage of the nodes from `begin` to `end`, which `boundary` goes on from; NULL for the last.
 */
static GlowChainStage make_stage(const GlowStages *r, uint32_t begin, uint32_t end,
                                 const GlowValue *boundary) {
  GlowChainStage s = {0};
  for (uint32_t i = begin; i < end; i++) {
    const GlowNode *n = r->turn.nodes.data[i];
    s.cost += r->needed[i] ? glow_turn_cost(n) : 0;
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
static bool is_cut(const GlowStages *r, const uint32_t *crossing, const GlowValue **over,
                   uint32_t p) {
  return crossing[p] == 1 && (crossing[p - 1] != 1 || over[p - 1] != over[p]) &&
         (r->style.cuts_anywhere || glow_turn_is_kept(&r->turn, over[p]));
}

/* Cuts the first part where one value goes on that is kept anyway. Small values, such as the
 * statistics of a normalization, may go on besides: they stay. */
static void find_stages(GlowStages *r) {
  uint32_t *crossing = GLOW_NEW_ARRAY(r->arena, uint32_t, r->turn.at + 2), count = 0, cuts = 0;
  const GlowValue **over = GLOW_NEW_ARRAY(r->arena, const GlowValue *, r->turn.at + 2);
  for (uint32_t i = 0; i < r->turn.at; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      const GlowValue *v = &r->turn.nodes.data[i]->results[k];
      bool passes =
          glow_turn_is_small(&r->turn, v) || (glow_turn_is_free(v) && !glow_turn_is_on_the_way(v));
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

GlowStages glow_stages_find(GlowArena *arena, GlowFunction *f, GlowStageStyle style) {
  GlowStages r = {.arena = arena, .style = style, .turn = glow_turn_find(arena, f)};
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
static GlowNode *first_reader(const GlowStages *r, GlowChainPart stages) {
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
static void read_copy(const GlowStages *r, GlowValue *v, GlowValue *copy) {
  for (GlowUse *u = late_uses(r, v), *next; u; u = next) {
    next = u->next;
    if (glow_turn_reads_late(&r->turn, u))
      glow_use_set(u, copy);
  }
}

/* The same for all that a stage saves. */
static void read_copies(const GlowStages *r, uint32_t stage, const GlowMap *copies) {
  for (uint32_t i = r->begins.data[stage]; i < r->begins.data[stage + 1]; i++)
    for (uint32_t k = 0; k < r->turn.nodes.data[i]->nresults; k++) {
      GlowValue *v = &r->turn.nodes.data[i]->results[k], *copy = glow_map_get(copies, v);
      if (copy)
        read_copy(r, v, copy);
    }
}

/* Whether copies from stage `first` on read v through a Barrier: a value before them or, from the
 * start on, an input. Weights need none. */
static bool is_held_back(const GlowStages *r, uint32_t first, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_RESULT)
    return v->def.node->order < r->begins.data[first] && v->def.node->noperands > 0;
  bool weight = v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls != GLOW_PLACEHOLDER;
  return first == 0 && !weight;
}

/* Puts Barriers that wait for `after` in front of what a copy of n reads. `copies` has their
 * results from then on, `held` the values that have one. */
static void hold_back(const GlowStages *r, GlowBuilder *b, uint32_t first, const GlowNode *n,
                      GlowValue *after, GlowMap *copies, GlowMap *held) {
  for (uint32_t k = 0; k < n->noperands; k++) {
    GlowValue *v = n->operands[k].value, *copy = v ? glow_map_get(copies, v) : NULL;
    if (!v || glow_map_get(held, v) || !is_held_back(r, first, v))
      continue;
    GlowNode *barrier = glow_turn_hold(b, v, copy ? copy : v, after);
    glow_map_set(held, v, barrier);
    glow_map_set(copies, v, &barrier->results[0]);
  }
}

/* Copies the stages to b, in front of `reader`; `copies` has the value before them. */
static void copy_stages(const GlowStages *r, GlowBuilder *b, GlowChainPart stages,
                        const GlowNode *reader, GlowMap *copies) {
  GlowValue *after = glow_turn_value_before(&r->turn, reader);
  GlowMap *held = glow_map_create(r->arena);
  for (uint32_t i = r->begins.data[stages.first]; i < r->begins.data[stages.last + 1]; i++) {
    if (!r->needed[i])
      continue;
    hold_back(r, b, stages.first, r->turn.nodes.data[i], after, copies, held);
    glow_turn_copy(b, r->turn.nodes.data[i], after, copies);
  }
}

/* Carries out the plan for a stretch of stages, whose values have these copies, or none. */
static void apply(const GlowStages *r, GlowChainPart part, GlowMap *copies) {
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

void glow_stages_apply(GlowStages *r, const GlowChain *plan) {
  r->plan = plan;
  apply(r, glow_chain_all(plan), glow_map_create(r->arena));
  glow_remove_unneeded(r->turn.function->body);
}
