/* What strategies share: the table of them, offering nodes and storage, and storage that stands for
 * a value. */
#include "reduce/delta.h"

#include <string.h>

#include "reduce/reduce.h"

const GlowStrategy glow_strategies[] = {
#define STRATEGY(name, function, after, doc) {name, glow_delta_##function, after, doc},
#include "reduce/strategies.def"
#undef STRATEGY
};
const uint32_t glow_nstrategies = sizeof glow_strategies / sizeof *glow_strategies;

void glow_reduce_strategies_print(GlowText *out) {
  for (uint32_t i = 0; i < glow_nstrategies; i++)
    glow_text_printf(out, "  %-20s %s\n", glow_strategies[i].name, glow_strategies[i].doc);
}

static bool is_known(GlowContext *ctx, GlowLoc loc, const char *name) {
  const char *names[sizeof glow_strategies / sizeof *glow_strategies];
  for (uint32_t i = 0; i < glow_nstrategies; i++) {
    names[i] = glow_strategies[i].name;
    if (strcmp(names[i], name) == 0)
      return true;
  }
  const char *near = glow_nearest(name, names, glow_nstrategies);
  if (near)
    glow_error(ctx, loc, "unknown strategy '%s'; did you mean '%s'?", name, near);
  else
    glow_error(ctx, loc, "unknown strategy '%s'", name);
  return false;
}

bool glow_reduce_strategies_known(GlowContext *ctx, GlowLoc loc, const char *list) {
  for (;; list++) {
    size_t n = strcspn(list, ",");
    if (!is_known(ctx, loc, glow_str_n(ctx, list, n)))
      return false;
    list += n;
    if (!*list)
      return true;
  }
}

/* ---- Offering -------------------------------------------------------------------------------- */

typedef GLOW_VEC(GlowNode *) NodeVec;

static void offer_block(GlowDelta *d, GlowBlock *b, bool (*fits)(const GlowNode *n),
                        NodeVec *taken) {
  for (GlowNode *n = b->first; n; n = glow_next_in_walk(n))
    if (!GLOW_HAS(glow_node_desc(n), TERMINATOR) && fits(n) && glow_delta_offer(d))
      glow_vec_push(d->arena, taken, n);
}

void glow_delta_each_node(GlowDelta *d, bool (*fits)(const GlowNode *n),
                          void (*change)(GlowDelta *d, GlowNode *n)) {
  NodeVec taken = {0};
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    offer_block(d, f->body, fits, &taken);
  for (GlowStorage *s = d->module->first_storage; s; s = s->next)
    if (s->init.eval)
      offer_block(d, s->init.eval, fits, &taken);
  for (uint32_t i = 0; i < taken.count; i++)
    if (taken.data[i]->block)
      change(d, taken.data[i]);
}

void glow_delta_each_storage(GlowDelta *d, bool (*fits)(const GlowStorage *s),
                             void (*change)(GlowDelta *d, GlowStorage *s)) {
  GLOW_VEC(GlowStorage *) taken = {0};
  for (GlowStorage *s = d->module->first_storage; s; s = s->next)
    if (fits(s) && glow_delta_offer(d))
      glow_vec_push(d->arena, &taken, s);
  for (uint32_t i = 0; i < taken.count; i++)
    change(d, taken.data[i]);
}

/* ---- Standing in ----------------------------------------------------------------------------- */

GlowInit glow_init_random(void) {
  return (GlowInit){.kind = GLOW_INIT_RANDOM,
                    .random = {.kind = GLOW_RANDOM_UNIFORM, .low = -1, .high = 1, .seed = 1}};
}

GlowInit glow_init_splat(int64_t value) {
  return (GlowInit){.kind = GLOW_INIT_SPLAT,
                    .splat = {.is_int = true, .i = value, .f = (double)value}};
}

/* A type for a constant, which needs all extents: an open extent becomes 1, or its bound. */
static const GlowType *closed(GlowContext *ctx, const GlowType *t) {
  GlowDim dims[GLOW_MAX_RANK];
  if (glow_type_is_static(t))
    return t;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = GLOW_EXACT(glow_dim_has_size(t->dims[i]) ? t->dims[i].size : 1);
  return glow_type_with_dims(ctx, t, t->rank, dims);
}

bool glow_stand_in_fits(const GlowType *t, GlowStandIn kind) {
  if (kind == GLOW_STAND_IN_INPUT)
    return true;
  if (!glow_type_is_tensor(t) || t->unranked || t->kind == GLOW_KIND_STRING)
    return false;
  return kind == GLOW_STAND_IN_ONE || glow_kind_info[t->kind].cls == GLOW_CLASS_FLOAT;
}

GlowValue *glow_stand_in(GlowDelta *d, const GlowBlock *b, const GlowType *t, GlowStandIn kind,
                         GlowStr name) {
  GlowInit init = kind == GLOW_STAND_IN_ONE      ? glow_init_splat(1)
                  : kind == GLOW_STAND_IN_RANDOM ? glow_init_random()
                                                 : (GlowInit){0};
  GlowStorageClass cls = kind == GLOW_STAND_IN_INPUT ? GLOW_PLACEHOLDER : GLOW_CONSTANT;
  if (cls == GLOW_CONSTANT && !glow_type_is_static(t)) {
    t = closed(d->ctx, t);
    d->retype = true;
  }
  GlowStorage *s = glow_storage_create(d->module, cls, name, t, init);
  while (b && b->owner == GLOW_BLOCK_REGION)
    b = glow_block_parent(b);
  if (b && b->owner == GLOW_BLOCK_EVAL)
    glow_storage_move(s, b->of.storage);
  return &s->value;
}

/* A scalar body captures nothing: there a literal stands in. */
static GlowValue *literal(GlowNode *n, const GlowType *t) {
  GlowSplatMembers members = {.value = {.is_int = true, .i = 1, .f = 1}};
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &t};
  GlowNode *splat = glow_node_create(&b, &spec);
  return splat ? &splat->results[0] : NULL;
}

void glow_stand_in_for(GlowDelta *d, GlowNode *n, GlowStandIn kind) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = &n->results[i], *other;
    if (!v->uses)
      continue;
    if (n->block->scalar)
      other = literal(n, v->type);
    else
      other = glow_stand_in(d, n->block, v->type, kind, v->name);
    if (!other)
      return;
    glow_value_replace_uses(v, other);
  }
  glow_node_remove(n);
}

/* ---- Questions ------------------------------------------------------------------------------- */

GlowValue *glow_delta_main_operand(const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *v = glow_node_in(n, i);
    if (v && (v->kind != GLOW_VALUE_STORAGE || v->def.storage->cls != GLOW_CONSTANT))
      return v;
  }
  return NULL;
}

bool glow_delta_is_referred(const GlowFunction *f) {
  for (GlowFunction *g = f->module->first_function; g; g = g->next) {
    if (g->kind == GLOW_GRADIENT && g->primal == f->name)
      return true;
    for (GlowNode *n = g->body->first; n; n = glow_next_in_walk(n))
      if (n->op == GLOW_OP_CALL && ((const GlowCallMembers *)n->members)->callee == f->name)
        return true;
  }
  return false;
}
