/* Structural equality of two modules of one context: same names, types, members, order and bits of
 * constants. Values are paired in the order of their definitions. */
#include <string.h>

#include "ir/ir_internal.h"

typedef struct Pairing {
  GlowMap *map; /* value of a -> value of b */
} Pairing;

static bool same_name(GlowStr a, GlowStr b) { return a == b; }

static bool same_value(const Pairing *p, const GlowValue *a, const GlowValue *b) {
  if (!a || !b)
    return a == b;
  if (a->kind != b->kind || !same_name(a->name, b->name))
    return false;
  return a->kind == GLOW_VALUE_STORAGE || glow_map_get(p->map, a) == b;
}

static bool pair_values(Pairing *p, GlowValue *a, GlowValue *b) {
  if (a->type != b->type || !same_name(a->name, b->name))
    return false;
  glow_map_set(p->map, a, b);
  return true;
}

static bool same_origin(const GlowOrigin *a, const GlowOrigin *b) {
  if (!a || !b)
    return a == b;
  return a->file == b->file && a->name == b->name && a->line == b->line && a->col == b->col;
}

static bool same_block(Pairing *p, const GlowBlock *a, const GlowBlock *b);

static bool same_regions(Pairing *p, const GlowNode *a, const GlowNode *b) {
  uint32_t n = a->nregions > b->nregions ? a->nregions : b->nregions;
  for (uint32_t i = 0; i < n; i++) {
    const GlowBlock *x = i < a->nregions ? a->regions[i] : NULL;
    const GlowBlock *y = i < b->nregions ? b->regions[i] : NULL;
    if (!x != !y || (x && !same_block(p, x, y)))
      return false;
  }
  return true;
}

static bool same_node(Pairing *p, const GlowNode *a, const GlowNode *b) {
  if (a->op != b->op || a->noperands != b->noperands || a->nouts != b->nouts ||
      a->nextra != b->nextra || a->nresults != b->nresults || a->shards != b->shards ||
      !same_origin(a->origin, b->origin) || !same_value(p, a->pred.value, b->pred.value) ||
      !glow_members_equal(glow_node_desc(a), a->members, b->members))
    return false;
  for (uint32_t i = 0; i < a->noperands; i++)
    if (a->operands[i].qual != b->operands[i].qual ||
        !same_value(p, a->operands[i].value, b->operands[i].value))
      return false;
  if (!same_regions(p, a, b))
    return false;
  for (uint32_t i = 0; i < a->nresults; i++)
    if (!pair_values(p, &a->results[i], &b->results[i]))
      return false;
  return true;
}

static bool same_block(Pairing *p, const GlowBlock *a, const GlowBlock *b) {
  if (a->level != b->level || a->scalar != b->scalar || a->label != b->label ||
      a->nparams != b->nparams)
    return false;
  for (uint32_t i = 0; i < a->nparams; i++)
    if (!pair_values(p, a->params[i], b->params[i]))
      return false;
  const GlowNode *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next)
    if (!same_node(p, x, y))
      return false;
  return !x && !y;
}

static bool same_storage(Pairing *p, const GlowStorage *a, const GlowStorage *b) {
  if (a->cls != b->cls || a->value.type != b->value.type || a->value.name != b->value.name ||
      !same_origin(a->origin, b->origin) || !glow_init_equal(a, b))
    return false;
  return !a->init.eval || same_block(p, a->init.eval, b->init.eval);
}

static bool same_refs(const GlowGradientRef *a, uint32_t na, const GlowGradientRef *b,
                      uint32_t nb) {
  if (na != nb)
    return false;
  for (uint32_t i = 0; i < na; i++)
    if (a[i].name != b[i].name || a[i].is_storage != b[i].is_storage || a[i].index != b[i].index)
      return false;
  return true;
}

static bool same_results(const GlowFunction *a, const GlowFunction *b) {
  GlowArena *scratch = glow_arena_create(a->module->ctx);
  const GlowStr *x = glow_function_result_names(a, scratch);
  const GlowStr *y = glow_function_result_names(b, scratch);
  bool same = true;
  for (uint32_t i = 0; i < a->nresults; i++)
    same &= a->results[i] == b->results[i] && x[i] == y[i];
  glow_arena_destroy(scratch);
  return same;
}

static bool same_function(Pairing *p, const GlowFunction *a, const GlowFunction *b) {
  if (a->kind != b->kind || a->name != b->name || a->has_results != b->has_results ||
      a->nresults != b->nresults || a->device != b->device || a->arena != b->arena ||
      a->align != b->align || a->inline_always != b->inline_always || a->primal != b->primal ||
      a->seedable != b->seedable || a->forward != b->forward)
    return false;
  return same_results(a, b) && same_refs(a->from, a->nfrom, b->from, b->nfrom) &&
         same_refs(a->wrt, a->nwrt, b->wrt, b->nwrt) &&
         same_refs(a->keeping, a->nkeeping, b->keeping, b->nkeeping) &&
         same_block(p, a->body, b->body);
}

/* The next declared symbol that has no definition. */
static const GlowExtent *next_extent(const GlowModule *m, uint32_t *i) {
  while (*i < m->extents.count && m->extents.data[*i]->form)
    ++*i;
  return *i < m->extents.count ? m->extents.data[(*i)++] : NULL;
}

/* Definitions do not count: types have them, declared or not. */
static bool same_extents(const GlowModule *a, const GlowModule *b) {
  uint32_t i = 0, k = 0;
  const GlowExtent *e = next_extent(a, &i);
  while (e && e == next_extent(b, &k))
    e = next_extent(a, &i);
  return !e && !next_extent(b, &k);
}

static bool same_module(Pairing *p, const GlowModule *a, const GlowModule *b) {
  if (a->name != b->name || a->version != b->version || a->target != b->target ||
      a->producer != b->producer || a->elided != b->elided || !same_extents(a, b))
    return false;
  const GlowStorage *s = a->first_storage, *t = b->first_storage;
  for (; s && t; s = s->next, t = t->next)
    if (!same_storage(p, s, t))
      return false;
  const GlowFunction *f = a->first_function, *g = b->first_function;
  for (; f && g; f = f->next, g = g->next)
    if (!same_function(p, f, g))
      return false;
  return !s && !t && !f && !g;
}

bool glow_module_equal(const GlowModule *a, const GlowModule *b) {
  GlowArena *scratch = glow_arena_create(a->ctx);
  Pairing p = {glow_map_create(scratch)};
  bool same = same_module(&p, a, b);
  glow_arena_destroy(scratch);
  return same;
}
