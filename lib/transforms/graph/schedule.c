/* Orders nodes so that fewer bytes are alive at one time. lib/memplan searches for the order, block
 * by block, inner blocks first. Exact: what a node computes depends on its operands alone; a func
 * reads storage as it was at entry, and Save takes effect at exit.
 *
 * Bytes are counted for the buffers that irgen will make. A Reshape or Barrier is a view of its
 * operand. A value that is computed directly into an output or variable takes no room in the arena.
 * A result may take the place of an operand that is not needed any more. A node with regions needs
 * the bytes of its regions while it runs. Nodes that may do more than compute keep their order
 * among themselves. A block changes only if its peak becomes lower. */
#include "memplan/order.h"
#include "pass/pass.h"
#include "transforms/programs.h"
#include "transforms/transforms.h"

/* Sums stay far from overflow, in blocks inside of blocks too. */
#define MAX_BYTES (INT64_C(1) << 56)

typedef struct Schedule {
  GlowPassRun *run;
  GlowArena *arena;
  GlowBlock *block;
  GlowOrderProblem problem;
  GLOW_VEC(GlowOrderValue) values;
  GLOW_VEC(const GlowValue *) roots; /* the IR's value of each */
  GLOW_VEC(GlowNode *) nodes;
  GlowMap *value_of; /* a value, or a view of it, to its number + 1 */
  GlowMap *step_of;  /* a node to its number + 1 */
  int64_t bytes;     /* of all values */
  bool open;         /* some bytes are not known, or too many to add up */
} Schedule;

typedef struct Peaks {
  int64_t given, best;
} Peaks;
static Peaks schedule_block(GlowPassRun *run, GlowBlock *b);

/* ---- Values ---------------------------------------------------------------------------------- */

/* The operand whose buffer n's result is, or NULL. */
static GlowValue *viewed(const GlowNode *n) {
  if (n->op != GLOW_OP_RESHAPE && n->op != GLOW_OP_IDENTITY && n->op != GLOW_OP_BARRIER)
    return NULL;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *from = x->type, *to = n->results[0].type;
  bool dense = glow_type_same_elements(from, to) && !from->layout && !to->layout;
  return from == to || (n->op == GLOW_OP_RESHAPE && dense) ? x : NULL;
}

/* Whether irgen computes v into the storage that this use writes it to. */
static bool is_direct(const GlowUse *u) {
  const GlowNode *n = u->user;
  if (n->op == GLOW_OP_RETURN)
    return true;
  if (n->op != GLOW_OP_SAVE || u != &n->operands[GLOW_SAVE_IN_VALUE])
    return false;
  const GlowValue *storage = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  return storage->type == u->value->type && glow_value_use_count(storage) == 1;
}

static void add_value(Schedule *s, const GlowValue *v) {
  GlowOrderValue x = {.bytes = glow_buffer_bytes(v->type)};
  if (x.bytes < 0 || x.bytes > MAX_BYTES - s->bytes) {
    x.bytes = 0;
    s->open = true;
  }
  s->bytes += x.bytes;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (is_direct(u))
      x.bytes = 0;
  glow_vec_push(s->arena, &s->values, x);
  glow_vec_push(s->arena, &s->roots, v);
  glow_map_set(s->value_of, v, (void *)(uintptr_t)s->values.count);
}

/* The number of the value that v is or views; UINT32_MAX if another block or a storage has it. */
static uint32_t value_number(const Schedule *s, const GlowValue *v) {
  return v ? (uint32_t)(uintptr_t)glow_map_get(s->value_of, v) - 1 : UINT32_MAX;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool has_effects(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_CALL)
    return glow_call_has_effects(n);
  if (GLOW_HAS(d, CONTROL))
    return !n->nregions || glow_regions_write(n);
  return !GLOW_HAS(d, PURE);
}

typedef GLOW_VEC(uint32_t) Numbers;

static void push_once(GlowArena *arena, void *list, uint32_t x) {
  Numbers *v = list;
  for (uint32_t i = 0; i < v->count; i++)
    if (v->data[i] == x)
      return;
  glow_vec_push(arena, v, x);
}

/* Notes in `step` that its node uses v: the step takes the value, and comes after the step of the
 * view through which the node reads it. */
static void add_use(Schedule *s, GlowOrderStep *step, const GlowValue *v) {
  uint32_t number = value_number(s, v);
  if (number != UINT32_MAX)
    push_once(s->arena, &step->takes, number);
  if (v && v->kind == GLOW_VALUE_RESULT && v->def.node->block == s->block) {
    uint32_t at = (uint32_t)(uintptr_t)glow_map_get(s->step_of, v->def.node) - 1;
    push_once(s->arena, &step->after, at);
  }
}

typedef struct Inner {
  Schedule *schedule;
  GlowOrderStep *step;
} Inner;

static bool add_inner_uses(GlowNode *n, void *arg) {
  const Inner *i = arg;
  for (uint32_t k = 0; k < n->noperands; k++)
    add_use(i->schedule, i->step, n->operands[k].value);
  add_use(i->schedule, i->step, n->pred.value);
  return true;
}

/* Which operands' memory a result may take over. */
static void add_reuses(Schedule *s, const GlowNode *n, GlowOrderStep *step) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->ninplace; i++) {
    uint32_t out = d->inplace[i].out, in = d->inplace[i].in;
    uint32_t from = value_number(s, glow_node_in(n, in));
    uint32_t to = out < n->nresults ? value_number(s, &n->results[out]) : UINT32_MAX;
    if (from == UINT32_MAX || to == UINT32_MAX)
      continue;
    int64_t bytes = s->values.data[to].bytes;
    if (!bytes || bytes != s->values.data[from].bytes || (step->reused && bytes != step->reused))
      continue;
    step->reused = bytes;
    push_once(s->arena, &step->reuses, from);
  }
}

static void add_step(Schedule *s, GlowNode *n, GlowOrderStep *step, uint32_t *last_effect) {
  uint32_t index = s->nodes.count;
  glow_vec_push(s->arena, &s->nodes, n);
  glow_map_set(s->step_of, n, (void *)(uintptr_t)(index + 1));
  Inner inner = {s, step};
  add_inner_uses(n, &inner);
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i])
      glow_block_walk(n->regions[i], add_inner_uses, &inner);
  const GlowValue *base = viewed(n);
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (base) {
      glow_map_set(s->value_of, &n->results[i], glow_map_get(s->value_of, base));
      continue;
    }
    add_value(s, &n->results[i]);
    glow_vec_push(s->arena, &step->makes, s->values.count - 1);
  }
  add_reuses(s, n, step);
  if (!has_effects(n))
    return;
  if (*last_effect != UINT32_MAX)
    push_once(s->arena, &step->after, *last_effect);
  *last_effect = index;
}

/* Notes that the operands of n, the terminator or a Save, stay until the end of the block, unless
 * they take no room. */
static void find_staying(Schedule *s, const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    uint32_t v = value_number(s, n->operands[i].value);
    if (v != UINT32_MAX)
      s->values.data[v].stays = true;
  }
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Schedules n's regions. Returns the largest of their peaks. */
static Peaks schedule_regions(GlowPassRun *run, const GlowNode *n) {
  Peaks most = {0};
  for (uint32_t i = 0; i < n->nregions; i++) {
    Peaks p = n->regions[i] ? schedule_block(run, n->regions[i]) : (Peaks){0};
    most.given = p.given > most.given ? p.given : most.given;
    most.best = p.best > most.best ? p.best : most.best;
  }
  return most;
}

/* Fills the problem with the nodes of the block. Sets inner[step] to the peaks of its regions. */
static void describe(Schedule *s, Peaks *inner) {
  uint32_t last_effect = UINT32_MAX;
  for (GlowNode *n = s->block->first; n; n = n->next) {
    bool is_end = GLOW_HAS(glow_node_desc(n), TERMINATOR);
    if (!is_end) {
      inner[s->problem.nsteps] = schedule_regions(s->run, n);
      add_step(s, n, &s->problem.steps[s->problem.nsteps++], &last_effect);
    }
    if (is_end || n->op == GLOW_OP_SAVE)
      find_staying(s, n);
  }
  s->problem.values = s->values.data;
  s->problem.nvalues = s->values.count;
}

/* The peak of the block in text order, with regions in their old order (given) or in the new
 * one. */
static int64_t peak_of_text(Schedule *s, const Peaks *inner, bool given) {
  uint32_t *order = GLOW_NEW_ARRAY(s->arena, uint32_t, s->problem.nsteps);
  for (uint32_t i = 0; i < s->problem.nsteps; i++) {
    order[i] = i;
    s->problem.steps[i].inner = given ? inner[i].given : inner[i].best;
  }
  return glow_order_peak(s->arena, &s->problem, order);
}

static Peaks schedule_block(GlowPassRun *run, GlowBlock *b) {
  Schedule s = {.run = run,
                .arena = run->arena,
                .block = b,
                .value_of = glow_map_create(run->arena),
                .step_of = glow_map_create(run->arena)};
  uint32_t count = 0;
  for (const GlowNode *n = b->first; n; n = n->next)
    count++;
  s.problem.steps = GLOW_NEW_ARRAY(s.arena, GlowOrderStep, count);
  Peaks *inner = GLOW_NEW_ARRAY(s.arena, Peaks, count);
  describe(&s, inner);
  Peaks peaks = {.given = peak_of_text(&s, inner, true), .best = peak_of_text(&s, inner, false)};
  uint32_t *order = GLOW_NEW_ARRAY(s.arena, uint32_t, count);
  GlowOrderResult r = glow_order_find(s.arena, &s.problem, order);
  if (r.best < peaks.best) {
    glow_pass_changed(run, NULL, NULL);
    for (uint32_t i = s.problem.nsteps - 1; i-- > 0;)
      glow_node_move_before(s.nodes.data[order[i]], s.nodes.data[order[i + 1]]);
    peaks.best = r.best;
  }
  if (b->owner == GLOW_BLOCK_FUNCTION)
    glow_pass_remark(run, run->function->src, "@%s: peak %lld bytes before, %lld after%s%s",
                     run->function->name, (long long)peaks.given, (long long)peaks.best,
                     r.exact ? ", the lowest of all orders" : "",
                     s.open ? "; some values are not counted" : "");
  return peaks;
}

bool glow_pass_schedule(GlowPassRun *run) {
  schedule_block(run, run->function->body);
  return true;
}
