/* What nodes do besides computing results, and whether two compute the same. */
#include "analysis/effects.h"

/* ---- Effects --------------------------------------------------------------------------------- */

bool glow_call_has_effects(const GlowNode *n) {
  GlowStr callee = ((const GlowCallMembers *)n->members)->callee;
  const GlowFunction *f = glow_module_function(n->block->module, callee);
  for (GlowNode *inner = f ? f->body->first : NULL; inner; inner = glow_next_in_walk(inner))
    if (inner->op == GLOW_OP_CALL || GLOW_HAS(glow_node_desc(inner), WRITES))
      return true;
  return false;
}

static bool block_writes(const GlowBlock *b) {
  for (const GlowNode *n = b->first; n; n = n->next)
    if (GLOW_HAS(glow_node_desc(n), WRITES) ||
        (n->op == GLOW_OP_CALL && glow_call_has_effects(n)) || glow_regions_write(n))
      return true;
  return false;
}

bool glow_regions_write(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i] && block_writes(n->regions[i]))
      return true;
  return false;
}

static bool names_storage(const GlowGradientRef *refs, uint32_t count, GlowStr name) {
  for (uint32_t i = 0; i < count; i++)
    if (refs[i].is_storage && refs[i].name == name)
      return true;
  return false;
}

bool glow_gradient_names(const GlowModule *m, GlowStr name) {
  for (const GlowFunction *f = m->first_function; f; f = f->next)
    if (names_storage(f->from, f->nfrom, name) || names_storage(f->wrt, f->nwrt, name) ||
        names_storage(f->keeping, f->nkeeping, name))
      return true;
  return false;
}

/* ---- Equality -------------------------------------------------------------------------------- */

bool glow_scalar_same(GlowScalar a, GlowScalar b) {
  return a.is_int == b.is_int && (a.is_int ? a.i == b.i : memcmp(&a.f, &b.f, sizeof a.f) == 0);
}

/* Whether a and b are one value, or are defined at the same place of the two regions (or blocks)
 * that are compared: `map` has, for each value defined in the first, its partner in the second. */
static bool same_value(const GlowMap *map, const GlowValue *a, const GlowValue *b) {
  if (a == b)
    return true;
  return a && b && map && glow_map_get(map, a) == b;
}

static bool same_block(GlowMap *map, GlowBlock *a, GlowBlock *b);

static bool same_node(GlowMap *map, const GlowNode *a, const GlowNode *b) {
  if (a->op != b->op || a->noperands != b->noperands || a->nregions != b->nregions ||
      !same_value(map, a->pred.value, b->pred.value) ||
      (a->members && !glow_members_equal(glow_node_desc(a), a->members, b->members)))
    return false;
  for (uint32_t i = 0; i < a->noperands; i++)
    if (!same_value(map, a->operands[i].value, b->operands[i].value))
      return false;
  for (uint32_t i = 0; i < a->nregions; i++)
    if (!a->regions[i] != !b->regions[i] ||
        (a->regions[i] && !same_block(map, a->regions[i], b->regions[i])))
      return false;
  return true;
}

static bool same_block(GlowMap *map, GlowBlock *a, GlowBlock *b) {
  if (a->nparams != b->nparams)
    return false;
  for (uint32_t i = 0; i < a->nparams; i++) {
    if (a->params[i]->type != b->params[i]->type)
      return false;
    glow_map_set(map, a->params[i], b->params[i]);
  }
  GlowNode *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next) {
    if (x->nresults != y->nresults || !same_node(map, x, y))
      return false;
    for (uint32_t i = 0; i < x->nresults; i++) {
      if (x->results[i].type != y->results[i].type)
        return false;
      glow_map_set(map, &x->results[i], &y->results[i]);
    }
  }
  return !x && !y;
}

bool glow_node_computes_same(const GlowNode *a, const GlowNode *b) {
  if (!a->nregions)
    return same_node(NULL, a, b);
  GlowArena *arena = glow_arena_create(a->block->module->ctx);
  bool same = same_node(glow_map_create(arena), a, b);
  glow_arena_destroy(arena);
  return same;
}

bool glow_blocks_compute_same(GlowBlock *a, GlowBlock *b) {
  GlowArena *arena = glow_arena_create(a->module->ctx);
  bool same = same_block(glow_map_create(arena), a, b);
  glow_arena_destroy(arena);
  return same;
}
