/* Costs: a sum over the nodes, and a sweep over the lifetimes of their results. */
#include "analysis/cost.h"

#include "ir/loop.h"
#include "ops/infer.h"

typedef struct Sweep {
  GlowCost cost;
  uint32_t count; /* of nodes */
  int64_t *delta; /* bytes that begin to live at a position, minus those that end before it */
} Sweep;

/* The position of the last node inside n. If n is the last of its block and has regions, the end of
 * the function stands for that position: it is not before it. */
static uint32_t end_of(const GlowNode *n, uint32_t count) {
  return n->next ? n->next->order - 1 : n->nregions ? count - 1 : n->order;
}

uint32_t glow_value_last_use(const GlowValue *v, uint32_t count) {
  const GlowBlock *home = glow_value_block(v);
  uint32_t last = v->def.node->order;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *user = u->user;
    while (user->block != home && user->block->owner == GLOW_BLOCK_REGION)
      user = user->block->of.node;
    uint32_t at = user == u->user ? user->order : end_of(user, count);
    if (at > last)
      last = at;
  }
  return last;
}

/* Whether n computes on constants alone: such nodes are evaluated before any run. The answer is
 * kept in n->scratch (n itself: yes), where users of n find it; definitions are visited before
 * uses. */
static bool is_constant(GlowNode *n) {
  bool constant = GLOW_HAS(glow_node_desc(n), PURE) && !n->nregions && n->noperands;
  for (uint32_t i = 0; i < n->noperands && constant; i++) {
    const GlowValue *v = n->operands[i].value;
    constant = !v || (v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT) ||
               (v->kind == GLOW_VALUE_RESULT && v->def.node->scratch == v->def.node);
  }
  n->scratch = constant ? n : NULL;
  return constant;
}

static bool visit(GlowNode *n, void *arg) {
  Sweep *s = arg;
  if (is_constant(n))
    return true;
  int64_t macs = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
  if (macs < 0 || __builtin_add_overflow(s->cost.macs, macs, &macs))
    s->cost.open = true;
  else
    s->cost.macs = macs;
  for (uint32_t i = 0; i < n->nresults && n->op != GLOW_OP_TENSORVIEW; i++) {
    const GlowValue *v = &n->results[i];
    if (!glow_type_is_tensor(v->type) || !glow_type_is_static(v->type)) {
      s->cost.open = true;
      continue;
    }
    int64_t bytes = glow_type_bytes(v->type);
    s->delta[n->order] += bytes;
    s->delta[glow_value_last_use(v, s->count) + 1] -= bytes;
  }
  return true;
}

int64_t glow_block_work(const GlowBlock *b) {
  int64_t work = 0;
  for (const GlowNode *n = b->first; n; n = n->next) {
    int64_t macs = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
    int64_t trips = n->op == GLOW_OP_LOOP ? glow_loop_trips(n) : 1;
    work += macs < 0 ? 0 : macs;
    for (uint32_t r = 0; r < n->nregions; r++)
      work += (trips < 0 ? 1 : trips) * (n->regions[r] ? glow_block_work(n->regions[r]) : 0);
  }
  return work;
}

int64_t glow_instr_cost(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  uint32_t count = GLOW_HAS(d, MOVEMENT) ? n->nouts : n->noperands;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && (!glow_type_is_tensor(v->type) || !glow_type_is_static(v->type)))
      return 0;
    bytes += v ? glow_type_bytes(v->type) : 0;
  }
  if (!glow_macs_hooks[n->op])
    return bytes;
  int64_t macs = glow_macs_hooks[n->op](n);
  return macs < 0 ? 0 : macs;
}

static void release_arena(void *arena) { glow_arena_destroy(arena); }

GlowCost glow_function_cost(GlowFunction *f) {
  uint32_t count = glow_function_number(f);
  GlowArena *scratch = glow_arena_create(f->module->ctx);
  GlowDefer release;
  glow_defer_push(f->module->ctx, &release, release_arena, scratch);
  Sweep s = {.count = count, .delta = GLOW_NEW_ARRAY(scratch, int64_t, (size_t)count + 2)};
  glow_block_walk(f->body, visit, &s);
  int64_t alive = 0;
  for (uint32_t i = 0; i <= count; i++) {
    alive += s.delta[i];
    if (alive > s.cost.peak_bytes)
      s.cost.peak_bytes = alive;
  }
  glow_defer_pop(f->module->ctx, &release, true);
  return s.cost;
}
