/* Nodes: raw creation, order in blocks, removal and replacement. */
#include <string.h>

#include "ir/ir_internal.h"

GlowNode *glow_node_new(GlowModule *m, GlowOp op, GlowNodeShape shape) {
  const GlowOpDesc *d = &glow_op_desc[op];
  GlowNode *n = GLOW_NEW(m->arena, GlowNode);
  n->op = op;
  n->id = m->next_id++;
  n->nouts = shape.nouts;
  n->nextra = shape.nextra;
  n->noperands = shape.nouts + shape.nins + shape.nextra;
  n->nresults = shape.nresults;
  n->nregions = shape.nregions;
  n->pred.user = n;
  if (n->noperands)
    n->operands = GLOW_NEW_ARRAY(m->arena, GlowUse, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++)
    n->operands[i].user = n;
  if (n->nregions)
    n->regions = GLOW_NEW_ARRAY(m->arena, GlowBlock *, n->nregions);
  if (d->member_size)
    n->members = glow_arena_copy(m->arena, d->member_defaults, d->member_size);
  if (n->nresults)
    n->results = GLOW_NEW_ARRAY(m->arena, GlowValue, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = &n->results[i];
    v->kind = GLOW_VALUE_RESULT;
    v->id = m->next_id++;
    v->index = i;
    v->type = glow_type_error(m->ctx);
    v->def.node = n;
  }
  return n;
}

void glow_node_insert(GlowNode *n, GlowBlock *b, GlowNode *before) {
  n->block = b;
  n->next = before;
  n->prev = before ? before->prev : b->last;
  *(n->prev ? &n->prev->next : &b->first) = n;
  *(before ? &before->prev : &b->last) = n;
}

static void unlink_node(GlowNode *n) {
  GlowBlock *b = n->block;
  *(n->prev ? &n->prev->next : &b->first) = n->next;
  *(n->next ? &n->next->prev : &b->last) = n->prev;
  n->prev = n->next = NULL;
  n->block = NULL;
}

void glow_node_attach_region(GlowNode *n, uint32_t index, GlowBlock *region) {
  n->regions[index] = region;
  region->owner = GLOW_BLOCK_REGION;
  region->of.node = n;
}

const char *glow_op_scalar_label(const GlowOpDesc *d) {
  return d->body ? "body" : d->epilogue >= 0 ? "epilogue" : NULL;
}

uint32_t glow_op_region_slots(const GlowOpDesc *d, bool scalar_body) {
  return d->nregions + (scalar_body ? 1u : 0u);
}

uint32_t glow_op_region_slot(const GlowOpDesc *d, const char *label, bool scalar_body) {
  if (scalar_body) {
    const char *wanted = glow_op_scalar_label(d);
    return wanted && !strcmp(wanted, label) ? d->nregions : UINT32_MAX;
  }
  for (uint32_t i = 0; i < d->nregions; i++)
    if (!strcmp(d->regions[i].name, label))
      return i;
  return UINT32_MAX;
}

uint32_t glow_trim_inputs(const GlowOpDesc *d, GlowValue *const *ins, uint32_t count) {
  while (count && count <= d->nin && !ins[count - 1] &&
         (d->in[count - 1].flags & GLOW_PORT_OPTIONAL))
    count--;
  return count;
}

/* Drops all uses that n makes, those inside its regions included, and the names that it defines. */
static void release(GlowNode *n) {
  for (uint32_t i = 0; i < n->nregions; i++) {
    GlowBlock *region = n->regions[i];
    if (!region)
      continue;
    while (region->last) {
      GlowNode *inner = region->last;
      release(inner);
      unlink_node(inner);
    }
    for (uint32_t k = 0; k < region->nparams; k++)
      glow_names_remove(region->names, region->params[k]->name, region->params[k]);
  }
  for (uint32_t i = 0; i < n->noperands; i++)
    glow_use_set(&n->operands[i], NULL);
  glow_use_set(&n->pred, NULL);
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->block)
      glow_names_remove(n->block->names, n->results[i].name, &n->results[i]);
}

void glow_node_remove(GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  for (uint32_t i = 0; i < n->nresults; i++)
    GLOW_CHECK(ctx, !n->results[i].uses, "a removed node is in use");
  release(n);
  unlink_node(n);
}

void glow_block_clear(GlowBlock *b) {
  while (b->last)
    glow_node_remove(b->last);
}

/* Whether nobody chose this name: it is a number, or NULL. */
static bool is_generated(GlowStr name) {
  if (!name)
    return true;
  for (const char *p = name; *p; p++)
    if (*p < '0' || *p > '9')
      return false;
  return true;
}

/* Moves the name of `from`, which will be removed, to `to`, unless `to` has a chosen name. */
static void move_name(GlowValue *from, GlowValue *to) {
  if (!from->name || is_generated(from->name) || to->kind != GLOW_VALUE_RESULT ||
      !is_generated(to->name) || glow_value_names(from) != glow_value_names(to))
    return;
  GlowStr name = from->name;
  glow_names_remove(glow_value_names(from), name, from);
  from->name = NULL;
  glow_value_set_name(to, name);
}

void glow_node_replace(GlowNode *n, GlowValue *const *values, uint32_t count) {
  GlowContext *ctx = n->block->module->ctx;
  GLOW_CHECK(ctx, count == n->nresults, "a replacement has another number of results");
  for (uint32_t i = 0; i < count; i++) {
    GlowValue *from = &n->results[i], *to = values[i];
    if (!to) {
      GLOW_CHECK(ctx, !from->uses, "a result in use is replaced by nothing");
      continue;
    }
    if (to->kind == GLOW_VALUE_RESULT && to->def.node != n) {
      GlowNode *def = to->def.node;
      if (!def->origin)
        def->origin = n->origin;
      if (!def->src.line)
        def->src = n->src;
      move_name(from, to);
    }
    glow_value_replace_uses(from, to);
  }
  glow_node_remove(n);
}

void glow_node_move_before(GlowNode *n, GlowNode *before) {
  if (n == before || n->next == before)
    return;
  GlowBlock *from = n->block;
  unlink_node(n);
  glow_node_insert(n, before->block, before);
  if (from->names == before->block->names)
    return;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = &n->results[i];
    if (!v->name)
      continue;
    glow_names_remove(from->names, v->name, v);
    v->name = glow_names_add_unique(before->block->names, v->name, v);
  }
}

GlowQuantForm glow_node_quant_form(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nquant_limits; i++) {
    const GlowQuantLimit *l = &d->quant_limits[i];
    const void *member = (const char *)n->members + d->members[l->index].offset;
    if (l->absent ? glow_node_in(n, l->index) != NULL : *(const int *)member != l->value)
      return GLOW_QUANT_NONE;
  }
  return (GlowQuantForm)d->quant;
}

bool glow_node_is(const GlowNode *n, GlowOp op) { return n && n->op == op; }

GlowLoc glow_node_loc(const GlowNode *n) {
  if (n->src.line || !n->origin)
    return n->src;
  return (GlowLoc){n->origin->file, n->origin->line, n->origin->col, n->origin->name};
}
