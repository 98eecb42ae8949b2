/* Values and their uses. The uses of a value form an intrusive list, so replacing a value takes
 * time for its uses only. A result without a name (`_`) gets a number when it gets a use. */
#include "ir/ir_internal.h"

GlowBlock *glow_value_block(const GlowValue *v) {
  switch (v->kind) {
  case GLOW_VALUE_RESULT:
    return v->def.node ? v->def.node->block : NULL;
  case GLOW_VALUE_PARAM:
    return v->def.block;
  case GLOW_VALUE_STORAGE:
    break;
  }
  return NULL;
}

GlowNames *glow_value_names(const GlowValue *v) {
  if (v->kind == GLOW_VALUE_STORAGE)
    return v->def.storage->module->names;
  GlowBlock *b = glow_value_block(v);
  return b ? b->names : NULL;
}

/* The owner of v's name in its name space: the GlowStorage for storage, else v. */
static void *name_owner(GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE ? (void *)v->def.storage : (void *)v;
}

void glow_value_set_name(GlowValue *v, GlowStr wanted) {
  GlowNames *names = glow_value_names(v);
  if (!names) {
    v->name = wanted;
    return;
  }
  glow_names_remove(names, v->name, name_owner(v));
  v->name = glow_names_add_unique(names, wanted, name_owner(v));
}

GlowLoc glow_value_loc(const GlowValue *v) {
  switch (v->kind) {
  case GLOW_VALUE_RESULT:
    return v->def.node ? glow_node_loc(v->def.node) : GLOW_NOWHERE;
  case GLOW_VALUE_PARAM:
    if (v->def.block->owner == GLOW_BLOCK_REGION && v->def.block->of.node)
      return glow_node_loc(v->def.block->of.node);
    if (v->def.block->owner == GLOW_BLOCK_FUNCTION && v->def.block->of.function)
      return v->def.block->of.function->src;
    return GLOW_NOWHERE;
  case GLOW_VALUE_STORAGE:
    break;
  }
  const GlowStorage *s = v->def.storage;
  if (s->src.line || !s->origin)
    return s->src;
  return (GlowLoc){s->origin->file, s->origin->line, s->origin->col, s->origin->name};
}

void glow_use_set(GlowUse *use, GlowValue *value) {
  if (use->value == value)
    return;
  if (use->value) {
    *(use->prev ? &use->prev->next : &use->value->uses) = use->next;
    if (use->next)
      use->next->prev = use->prev;
  }
  use->prev = use->next = NULL;
  use->value = value;
  if (!value)
    return;
  use->next = value->uses;
  if (value->uses)
    value->uses->prev = use;
  value->uses = use;
  if (!value->name && glow_value_names(value))
    glow_value_set_name(value, NULL);
}

void glow_node_set_in(GlowNode *n, uint32_t i, GlowValue *value) {
  if (i >= n->noperands) {
    GlowUse *old = n->operands;
    n->operands = GLOW_NEW_ARRAY(n->block->module->ctx->arena, GlowUse, i + 1);
    for (uint32_t k = 0; k <= i; k++)
      n->operands[k].user = n;
    for (uint32_t k = 0; k < n->noperands; k++) {
      GlowValue *v = old[k].value;
      glow_use_set(&old[k], NULL);
      glow_use_set(&n->operands[k], v);
    }
    n->noperands = i + 1;
  }
  glow_use_set(&n->operands[i], value);
}

void glow_value_replace_uses(GlowValue *old_one, GlowValue *new_one) {
  if (old_one == new_one)
    return;
  while (old_one->uses)
    glow_use_set(old_one->uses, new_one);
}

uint32_t glow_value_use_count(const GlowValue *v) {
  uint32_t count = 0;
  for (const GlowUse *u = v->uses; u; u = u->next)
    count++;
  return count;
}

GlowNode *glow_value_def(const GlowValue *v, GlowOp op) {
  return v && v->kind == GLOW_VALUE_RESULT && v->def.node && v->def.node->op == op ? v->def.node
                                                                                   : NULL;
}
