/* See turn.h. */
#include "transforms/turn.h"

#include "analysis/buffers.h"

int64_t glow_turn_bytes(const GlowValue *v) {
  int64_t bytes = glow_buffer_bytes(v->type);
  return bytes < 0 ? 0 : bytes;
}

static bool ends(const GlowNode *n) {
  return GLOW_HAS(glow_node_desc(n), TERMINATOR) || n->op == GLOW_OP_SAVE;
}

/* The Barrier whose operand X this use is; NULL if it is none. */
static const GlowNode *barrier_at(const GlowUse *u) {
  const GlowNode *n = u->user;
  return n->op == GLOW_OP_BARRIER && u == &n->operands[GLOW_BARRIER_IN_X] ? n : NULL;
}

/* Whether v is computed into an output, is what a Barrier lets through, or is one number that a
 * node makes of nothing. */
bool glow_turn_is_free(const GlowValue *v) {
  if (v->def.node->op == GLOW_OP_BARRIER)
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

static void number(GlowArena *arena, GlowTurn *t) {
  for (GlowNode *n = t->function->body->first; n; n = n->next)
    glow_vec_push(arena, &t->nodes, n);
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    t->nodes.data[i]->order = i;
    for (GlowNode *k = glow_next_in_walk(t->nodes.data[i]); k && k->block != t->function->body;
         k = glow_next_in_walk(k))
      k->order = i;
  }
}

/* Finds the node that most bytes are alive in front of, and the most that are while a node runs:
 * its operands and its results. */
static void find_turn(GlowArena *arena, GlowTurn *t) {
  int64_t *begins = GLOW_NEW_ARRAY(arena, int64_t, t->nodes.count + 2), alive = 0, most = 0;
  int64_t *ends_at = GLOW_NEW_ARRAY(arena, int64_t, t->nodes.count + 2);
  for (uint32_t i = 0; i < t->nodes.count; i++)
    for (uint32_t k = 0; k < t->nodes.data[i]->nresults; k++) {
      const GlowValue *v = &t->nodes.data[i]->results[k];
      if (glow_turn_is_free(v))
        continue;
      begins[i] += glow_turn_bytes(v);
      ends_at[glow_turn_last_use(v, UINT32_MAX)] += glow_turn_bytes(v);
    }
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    if (alive > most) {
      most = alive;
      t->at = i;
    }
    alive += begins[i];
    t->peak = alive > t->peak ? alive : t->peak;
    alive -= ends_at[i];
  }
}

GlowTurn glow_turn_find(GlowArena *arena, GlowFunction *f) {
  GlowTurn t = {.function = f};
  number(arena, &t);
  find_turn(arena, &t);
  return t;
}
