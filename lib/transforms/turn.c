/* See turn.h. */
#include "transforms/turn.h"

#include "analysis/buffers.h"
#include "analysis/cost.h"
#include "ops/infer.h"

int64_t glow_turn_bytes(const GlowValue *v) {
  int64_t bytes = glow_buffer_bytes(v->type);
  return bytes < 0 ? 0 : bytes;
}

/* A value is small if it takes less than this part of the peak. */
enum { SMALL = 4096 };
/* To write a byte of a result that takes no multiply-accumulates is as much work as so many of
 * them: measured in training steps of ResNet-50. */
enum { MACS_FOR_A_BYTE = 2 };

static bool ends(const GlowNode *n) {
  return GLOW_HAS(glow_node_desc(n), TERMINATOR) || n->op == GLOW_OP_SAVE;
}

/* The Barrier whose operand X this use is; NULL if it is none. */
static const GlowNode *barrier_at(const GlowUse *u) {
  const GlowNode *n = u->user;
  return n->op == GLOW_OP_BARRIER && u == &n->operands[GLOW_BARRIER_IN_X] ? n : NULL;
}

static bool is_of_loop(const GlowNode *n, const GlowType *t) {
  return GLOW_HAS(glow_node_desc(n), ELEMENTWISE) && n->nresults == 1 &&
         glow_type_is_same_shape(n->results[0].type, t) && n->results[0].type->layout == t->layout;
}

/* Nothing but what such loops take along stands between v and its reader. */
bool glow_turn_is_on_the_way(const GlowValue *v) {
  const GlowNode *n = v->def.node, *reader = v->uses ? v->uses->user : NULL;
  if (!reader || v->uses->next || !is_of_loop(n, v->type) || !is_of_loop(reader, v->type))
    return false;
  for (n = n->next; n && n != reader; n = n->next)
    if (!is_of_loop(n, v->type) && n->op != GLOW_OP_SAVE && n->op != GLOW_OP_SPLAT)
      return false;
  return n != NULL;
}

/* Whether v is computed into an output, is what a Barrier lets through, one number that a node
 * makes of nothing, or an element on its way through a loop. */
bool glow_turn_is_free(const GlowValue *v) {
  if (v->def.node->op == GLOW_OP_BARRIER || glow_turn_is_on_the_way(v))
    return true;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (ends(u->user) && u->user->block->owner == GLOW_BLOCK_FUNCTION)
      return true;
  return v->def.node->noperands == 0 && v->type->rank == 0;
}

bool glow_turn_reads_late(const GlowTurn *t, const GlowUse *u) {
  return u->user->order >= t->at && !(ends(u->user) && u->user->block == t->function->body);
}

bool glow_turn_is_kept(const GlowTurn *t, const GlowValue *v) {
  if (glow_turn_is_free(v))
    return false;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (glow_turn_reads_late(t, u))
      return true;
  return false;
}

uint32_t glow_turn_last_use(const GlowValue *v, uint32_t limit) {
  uint32_t last = v->def.node->order;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *barrier = barrier_at(u);
    uint32_t at = barrier ? glow_turn_last_use(&barrier->results[0], limit) : u->user->order;
    if (at < limit && at > last)
      last = at;
  }
  return last;
}

/* The most bytes alive at one time in the regions of n, of the `count` nodes of a function that are
 * numbered. `delta` is for what begins to live at a position, and ends before it. */
static int64_t bytes_inside(const GlowNode *n, uint32_t count, int64_t *delta) {
  int64_t alive = 0, most = 0;
  uint32_t i = n->order + 1;
  for (GlowNode *k = n->regions[0]->first; k && k != n->next; k = glow_next_in_walk(k)) {
    for (uint32_t r = 0; r < k->nresults; r++) {
      const GlowValue *v = &k->results[r];
      delta[k->order] += glow_turn_is_free(v) ? 0 : glow_turn_bytes(v);
      delta[glow_value_last_use(v, count) + 1] -= glow_turn_is_free(v) ? 0 : glow_turn_bytes(v);
    }
    for (; i <= k->order; i++)
      alive += delta[i];
    most = alive > most ? alive : most;
  }
  return most;
}

static void number(GlowArena *arena, GlowTurn *t) {
  uint32_t count = glow_function_number(t->function);
  int64_t *delta = GLOW_NEW_ARRAY(arena, int64_t, (size_t)count + 2);
  for (GlowNode *n = t->function->body->first; n; n = n->next)
    glow_vec_push(arena, &t->nodes, n);
  t->inner = GLOW_NEW_ARRAY(arena, int64_t, t->nodes.count + 1);
  for (uint32_t i = 0; i < t->nodes.count; i++)
    if (t->nodes.data[i]->nregions)
      t->inner[i] = bytes_inside(t->nodes.data[i], count, delta);
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    t->nodes.data[i]->order = i;
    for (GlowNode *k = glow_next_in_walk(t->nodes.data[i]); k && k->block != t->function->body;
         k = glow_next_in_walk(k))
      k->order = i;
  }
}

int64_t glow_turn_result_bytes(const GlowNode *n) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < n->nresults; k++)
    bytes += glow_turn_is_free(&n->results[k]) ? 0 : glow_turn_bytes(&n->results[k]);
  return bytes;
}

int64_t *glow_turn_alive(GlowArena *arena, const GlowTurn *t, uint32_t from) {
  int64_t *alive = GLOW_NEW_ARRAY(arena, int64_t, t->nodes.count + 1);
  for (uint32_t i = from; i < t->nodes.count; i++)
    for (uint32_t k = 0; k < t->nodes.data[i]->nresults; k++) {
      const GlowValue *v = &t->nodes.data[i]->results[k];
      if (glow_turn_is_free(v))
        continue;
      alive[i] += glow_turn_bytes(v);
      alive[glow_turn_last_use(v, UINT32_MAX) + 1] -= glow_turn_bytes(v);
    }
  for (uint32_t i = 0; i < t->nodes.count; i++)
    alive[i + 1] += alive[i];
  for (uint32_t i = from; i < t->nodes.count; i++)
    alive[i] += t->inner[i];
  return alive;
}

/* Finds the node that most bytes are alive in front of. */
static void find_turn(GlowArena *arena, GlowTurn *t) {
  const int64_t *alive = glow_turn_alive(arena, t, 0);
  int64_t most = 0;
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    int64_t before = alive[i] - t->inner[i] - glow_turn_result_bytes(t->nodes.data[i]);
    if (before > most) {
      most = before;
      t->at = i;
    }
    t->peak = alive[i] > t->peak ? alive[i] : t->peak;
  }
}

GlowTurn glow_turn_find(GlowArena *arena, GlowFunction *f) {
  GlowTurn t = {.function = f};
  number(arena, &t);
  find_turn(arena, &t);
  return t;
}

int64_t glow_turn_cost(const GlowNode *n) {
  int64_t cost = glow_macs_hooks[n->op] ? glow_macs_hooks[n->op](n) : 0;
  for (uint32_t i = 0; i < n->nresults && glow_macs_hooks[n->op] == NULL; i++)
    cost += MACS_FOR_A_BYTE * glow_turn_bytes(&n->results[i]);
  return cost < 0 ? 0 : cost;
}

bool glow_turn_is_small(const GlowTurn *t, const GlowValue *v) {
  return v->def.node->op != GLOW_OP_BARRIER && glow_turn_bytes(v) < t->peak / SMALL;
}

GlowValue *glow_turn_value_before(const GlowTurn *t, const GlowNode *reader) {
  for (uint32_t i = reader->order; i < t->nodes.count; i++) {
    const GlowNode *n = t->nodes.data[i];
    for (uint32_t k = 0; k < n->noperands; k++) {
      GlowValue *v = n->operands[k].value;
      if (v && v->kind == GLOW_VALUE_RESULT && v->def.node->order >= t->at &&
          v->def.node->order < reader->order)
        return v;
    }
  }
  return NULL;
}

GlowNode *glow_turn_hold(GlowBuilder *b, const GlowValue *v, GlowValue *copy, GlowValue *after) {
  GlowValue *ins[] = {copy, after};
  GlowNode *barrier = glow_build(b, GLOW_OP_BARRIER, ins, after ? 2 : 1, NULL, v->name);
  GLOW_CHECK(b->module->ctx, barrier, "a Barrier cannot be built");
  barrier->order = 0;
  return barrier;
}

static bool is_variable(const GlowValue *v) {
  return v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_VARIABLE;
}

GlowNode *glow_turn_copy(GlowBuilder *b, const GlowNode *n, GlowValue *after, GlowMap *map) {
  bool alone = n->noperands > 0;
  for (uint32_t i = 0; i < n->noperands; i++)
    alone &= is_variable(n->operands[i].value);
  for (uint32_t i = 0; alone && i < n->noperands; i++) {
    GlowValue *x = n->operands[i].value;
    glow_map_set(map, x, &glow_turn_hold(b, x, x, after)->results[0]);
  }
  GlowNode *copy = glow_node_clone(b, n, map);
  glow_node_renumber(copy);
  copy->order = 0;
  for (uint32_t i = 0; alone && i < n->noperands; i++)
    glow_map_set(map, n->operands[i].value, NULL);
  return copy;
}
