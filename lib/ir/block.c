/* Blocks: ordered lists of nodes, their parameters, and walks over them. */
#include <string.h>

#include "ir/ir_internal.h"
#include "support/deadline.h"

GlowBlock *glow_block_create(GlowModule *m, GlowLevel level, GlowNames *names, GlowStr label) {
  GlowBlock *b = GLOW_NEW(m->arena, GlowBlock);
  b->module = m;
  b->level = level;
  b->label = label;
  b->names = names ? names : glow_names_create(m->arena);
  return b;
}

GlowValue *glow_block_add_param(GlowBlock *b, GlowStr name, const GlowType *type) {
  GlowArena *arena = b->module->arena;
  GlowValue *v = GLOW_NEW(arena, GlowValue);
  *v = (GlowValue){.kind = GLOW_VALUE_PARAM, .id = b->module->next_id++, .index = b->nparams};
  v->type = type;
  v->def.block = b;
  v->name = glow_names_add_unique(b->names, name, v);
  if ((b->nparams & (b->nparams - 1)) == 0) { /* capacities are powers of two: may be full */
    uint32_t capacity = b->nparams ? 2 * b->nparams : 1;
    GlowValue **grown = GLOW_NEW_ARRAY(arena, GlowValue *, capacity);
    if (b->nparams)
      memcpy(grown, b->params, b->nparams * sizeof *grown);
    b->params = grown;
  }
  b->params[b->nparams++] = v;
  return v;
}

void glow_block_remove_param(GlowBlock *b, uint32_t i) {
  GlowValue *v = b->params[i];
  GLOW_CHECK(b->module->ctx, !v->uses, "a removed parameter is in use");
  glow_names_remove(b->names, v->name, v);
  for (--b->nparams; i < b->nparams; i++) {
    b->params[i] = b->params[i + 1];
    b->params[i]->index = i;
  }
}

GlowNode *glow_block_terminator(const GlowBlock *b) {
  return b->last && GLOW_HAS(glow_node_desc(b->last), TERMINATOR) ? b->last : NULL;
}

GlowBlock *glow_block_parent(const GlowBlock *b) {
  return b->owner == GLOW_BLOCK_REGION && b->of.node ? b->of.node->block : NULL;
}

GlowFunction *glow_block_function(const GlowBlock *b) {
  for (const GlowBlock *up; (up = glow_block_parent(b)); b = up)
    ;
  return b->owner == GLOW_BLOCK_FUNCTION ? b->of.function : NULL;
}

bool glow_block_walk(GlowBlock *b, bool (*fn)(GlowNode *node, void *arg), void *arg) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    glow_deadline_check(n->block->module->ctx, glow_node_loc(n));
    if (!fn(n, arg))
      return false;
    if (n->block != b)
      continue; /* fn removed or moved it */
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !glow_block_walk(n->regions[i], fn, arg))
        return false;
    next = n->next; /* read here: fn may have changed the nodes that follow */
  }
  return true;
}

static GlowNode *first_in_regions(const GlowNode *n, uint32_t from) {
  for (uint32_t i = from; i < n->nregions; i++)
    if (n->regions[i] && n->regions[i]->first)
      return n->regions[i]->first;
  return NULL;
}

static uint32_t region_index(const GlowNode *n, const GlowBlock *b) {
  uint32_t i = 0;
  while (i < n->nregions && n->regions[i] != b)
    i++;
  return i;
}

GlowNode *glow_next_in_walk(GlowNode *n) {
  GlowNode *inner = first_in_regions(n, 0);
  if (inner)
    return inner;
  while (!n->next) {
    GlowBlock *b = n->block;
    if (b->owner != GLOW_BLOCK_REGION)
      return NULL;
    n = b->of.node;
    inner = first_in_regions(n, region_index(n, b) + 1);
    if (inner)
      return inner;
  }
  return n->next;
}

GlowBlock *glow_node_region(const GlowNode *n, const char *label) {
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i] && n->regions[i]->label && !strcmp(n->regions[i]->label, label))
      return n->regions[i];
  return NULL;
}

GlowBlock *glow_node_epilogue(const GlowNode *n) {
  GlowBlock *last = n->nregions ? n->regions[n->nregions - 1] : NULL;
  return last && last->scalar ? last : NULL;
}
