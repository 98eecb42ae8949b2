/* See observed.h. */
#include "quantize/observed.h"

#include "analysis/access.h"
#include "support/checksum.h"
#include "support/text.h"

static bool is_float(const GlowType *t) {
  return glow_type_is_tensor(t) && t->kind == GLOW_KIND_FLOAT && !t->quantized;
}

GlowValueList glow_observable_values(GlowFunction *f, GlowArena *arena) {
  GlowValueList list = {0};
  GlowConstness *constness = glow_constness_create(arena);
  const GlowAccess *access = glow_function_accesses(f, arena).of;
  GlowOuterValues outer = glow_function_outer_values(f, arena);
  for (uint32_t i = 0; i < outer.count; i++) {
    GlowValue *v = outer.data[i];
    if (is_float(v->type) && access[v->id].wanted && !glow_constness_of(constness, v))
      glow_vec_push(arena, &list, v);
  }
  for (const GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (is_float(n->results[i].type) && n->results[i].uses &&
          !glow_constness_of(constness, &n->results[i]))
        glow_vec_push(arena, &list, &n->results[i]);
  return list;
}

GlowStr glow_observed_name(GlowContext *ctx, const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE ? glow_str_printf(ctx, "@%s", v->name) : v->name;
}

const char *glow_observed_source(const GlowValue *v) {
  if (v->kind == GLOW_VALUE_RESULT)
    return glow_node_desc(v->def.node)->node;
  if (v->kind == GLOW_VALUE_PARAM)
    return "parameter";
  return v->def.storage->cls == GLOW_VARIABLE ? "variable" : "placeholder";
}

/* The variable that result 0 of n is saved in; NULL: it is saved nowhere. */
static const GlowStorage *variable_of(const GlowNode *n) {
  for (const GlowUse *u = n->results[0].uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_VALUE])
      return glow_node_in(u->user, GLOW_SAVE_IN_STORAGE)->def.storage;
  return NULL;
}

/* The variable with the ends of v's channels: that of merge(reduce(v), variable). */
static GlowStr ends_of(const GlowValue *v, GlowOp reduce, GlowOp merge) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    for (const GlowUse *r = u->user->op == reduce ? u->user->results[0].uses : NULL; r;
         r = r->next) {
      const GlowStorage *s = r->user->op == merge ? variable_of(r->user) : NULL;
      if (s && glow_node_in(r->user, 1) == &s->value)
        return s->value.name;
    }
  return NULL;
}

/* The ObserveSums of v whose result is saved; NULL: there is none. */
static const GlowNode *sums_of(const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user->op == GLOW_OP_OBSERVE_SUMS && variable_of(u->user))
      return u->user;
  return NULL;
}

GlowObservedList glow_observed_values(GlowFunction *f) {
  GlowContext *ctx = f->module->ctx;
  GlowObservedList list = {0};
  for (const GlowNode *n = f->body->first; n; n = n->next) {
    const GlowStorage *s = n->op == GLOW_OP_OBSERVE_RANGE ? variable_of(n) : NULL;
    if (!s)
      continue;
    const GlowValue *v = glow_node_in(n, GLOW_OBSERVE_RANGE_IN_X);
    GlowObserved o = {.name = glow_observed_name(ctx, v),
                      .source = glow_observed_source(v),
                      .type = glow_type_str(ctx, v->type),
                      .variable = s->value.name,
                      .low = ends_of(v, GLOW_OP_REDUCE_MIN, GLOW_OP_MIN),
                      .high = ends_of(v, GLOW_OP_REDUCE_MAX, GLOW_OP_MAX)};
    const GlowNode *sums = sums_of(v);
    if (sums) {
      o.sums = variable_of(sums)->value.name;
      o.axis = ((const GlowObserveSumsMembers *)sums->members)->axis;
    }
    glow_vec_push(ctx->arena, &list, o);
  }
  return list;
}

/* ---- The text -------------------------------------------------------------------------------- */

static void put_block(GlowText *out, const GlowBlock *b) {
  for (const GlowNode *n = b->first; n; n = n->next) {
    glow_node_print(out, n);
    glow_text_putc(out, '\n');
    for (uint32_t i = 0; i < n->nregions; i++) {
      if (!n->regions[i])
        continue;
      glow_text_printf(out, "^%s\n", n->regions[i]->label);
      put_block(out, n->regions[i]);
    }
  }
}

uint64_t glow_function_text_hash(GlowFunction *f) {
  GlowContext *ctx = f->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  const GlowAccess *access = glow_function_accesses(f, arena).of;
  GlowOuterValues outer = glow_function_outer_values(f, arena);
  for (uint32_t i = 0; i < outer.count; i++) {
    const GlowValue *v = outer.data[i];
    GlowAccess a = access[v->id];
    if (v->kind != GLOW_VALUE_STORAGE || !(a.read || a.written))
      continue;
    glow_print_name(&text, '@', v->name);
    glow_text_putc(&text, ':');
    glow_type_print(&text, v->type);
    glow_text_putc(&text, '\n');
  }
  glow_function_print_head(&text, f);
  put_block(&text, f->body);
  uint64_t hash = glow_checksum(0, text.data, text.size);
  glow_defer_pop(ctx, &release, true);
  glow_arena_destroy(arena);
  return hash;
}
