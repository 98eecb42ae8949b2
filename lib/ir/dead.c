/* See dead.h. */
#include "ir/dead.h"

static bool is_dead(const GlowNode *n) {
  if (!n->block || !GLOW_HAS(glow_node_desc(n), PURE) || glow_node_is_instr(n))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      return false;
  return true;
}

void glow_remove_dead(GlowNode *n) {
  if (!is_dead(n))
    return;
  GlowArena *arena = glow_arena_create(n->block->module->ctx);
  GLOW_VEC(GlowNode *) work = {0};
  GlowMap *queued = glow_map_create(arena);
  glow_vec_push(arena, &work, n);
  while (work.count) {
    GlowNode *dead = work.data[--work.count];
    uint32_t count = dead->noperands;
    GlowNode **defs = GLOW_NEW_ARRAY(arena, GlowNode *, count);
    for (uint32_t i = 0; i < count; i++) {
      const GlowValue *v = dead->operands[i].value;
      defs[i] = v && v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
    }
    glow_node_remove(dead);
    for (uint32_t i = 0; i < count; i++)
      if (defs[i] && is_dead(defs[i]) && !glow_map_get(queued, defs[i])) {
        glow_map_set(queued, defs[i], defs[i]);
        glow_vec_push(arena, &work, defs[i]);
      }
  }
  glow_arena_destroy(arena);
}

GlowNode *glow_only_user(const GlowValue *v) {
  return v->uses && !v->uses->next && v->uses != &v->uses->user->pred ? v->uses->user : NULL;
}

void glow_remove_dead_since(GlowBlock *b, uint32_t id) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        glow_remove_dead_since(n->regions[i], id);
    if (n->id >= id && is_dead(n))
      glow_node_remove(n);
  }
}

/* Whether n only computes: nothing in its regions writes or ends the run. */
static bool only_computes(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) && !n->nregions)
    return GLOW_HAS(d, TERMINATOR) && n->block->owner == GLOW_BLOCK_REGION;
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (!only_computes(k))
        return false;
  return true;
}

static bool is_used(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      return true;
  return GLOW_HAS(glow_node_desc(n), TERMINATOR);
}

void glow_remove_unneeded(GlowBlock *b) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    if (!is_used(n) && only_computes(n)) {
      glow_node_remove(n);
      continue;
    }
    for (uint32_t r = 0; r < n->nregions; r++)
      if (n->regions[r] && !n->regions[r]->scalar)
        glow_remove_unneeded(n->regions[r]);
  }
}
