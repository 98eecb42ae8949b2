/* Computing in a narrower kind: every pure operator on float computes in the kind `to`, if it is
 * defined for that kind.
 *
 *   y = Op(x, w)   becomes   y = Cast(Op(Cast(x), Cast(w))) back to float
 *
 * A Cast and its inverse behind it are left out. So Casts remain where float comes in and goes out:
 * at placeholders, variables and results, at operators that lack the kind, and at nodes that `keep`
 * names by operator, by result or by the model's name for the node. Constants are cast in `eval`
 * initializers. Shapes, integers, doubles, and the accumulators of contractions stay.
 *
 * With to=double variables and placeholders become double, too, unless something else reads them: a
 * variable begins with the values that it had. So a whole training step can be judged in double.
 *
 * Requested: each result is rounded to `to`, with its range. */
#include "pass/pass.h"
#include "transforms/recast.h"

typedef struct Convert {
  GlowRecast recast;
  GlowMap *kept; /* interned names of `keep` that were found, to themselves */
  const GlowStr *keep;
  uint32_t nkeep;
} Convert;

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_kind(GlowPassRun *run, GlowKind *to) {
  const char *text = glow_pass_option(run, "to");
  *to = text ? glow_kind_from_name(text, strlen(text)) : GLOW_KIND_FLOAT16;
  if (*to == GLOW_KIND_FLOAT16 || *to == GLOW_KIND_BFLOAT16 || *to == GLOW_KIND_DOUBLE)
    return true;
  glow_error(run->ctx, GLOW_NOWHERE, "-%s: to=%s is none of float16, bfloat16 and double",
             run->pass->name, text);
  return false;
}

/* Splits keep=a,b,c. */
static void read_keep(Convert *c) {
  const char *at = glow_pass_option(c->recast.run, "keep");
  GLOW_VEC(GlowStr) names = {0};
  while (at && *at) {
    size_t length = strcspn(at, ",");
    if (length)
      glow_vec_push(c->recast.run->arena, &names,
                    glow_str_printf(c->recast.run->ctx, "%.*s", (int)length, at));
    at += length + (at[length] == ',');
  }
  c->keep = names.data;
  c->nkeep = names.count;
}

static bool keeps(Convert *c, const char *name) {
  for (uint32_t i = 0; name && i < c->nkeep; i++)
    if (strcmp(c->keep[i], name) == 0) {
      glow_map_set(c->kept, c->keep[i], (void *)(uintptr_t)c->keep[i]);
      return true;
    }
  return false;
}

/* ---- Which nodes ----------------------------------------------------------------------------- */

/* Whether n computes on float, and can do so in the new kind. A node without results of float
 * follows its operands. */
static bool is_convertible(Convert *c, const GlowNode *n) {
  bool wanted = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    wanted |= glow_node_in(n, i) && glow_map_get(c->recast.stand_ins, glow_node_in(n, i));
  for (uint32_t i = 0; i < n->nresults; i++) {
    wanted |= glow_recast_takes(&c->recast, &n->results[i]);
    if (keeps(c, n->results[i].name))
      return false;
  }
  return wanted && glow_recast_fits(&c->recast, n) && !keeps(c, glow_node_desc(n)->node) &&
         !(n->origin && keeps(c, n->origin->name));
}

static bool convert_function(GlowPassRun *run, GlowKind to) {
  Convert c = {.kept = glow_map_create(run->arena)};
  c.recast = glow_recast_begin(run, GLOW_KIND_BIT(GLOW_KIND_FLOAT), to);
  read_keep(&c);
  for (uint32_t i = 0; i < c.recast.nodes.count; i++) {
    GlowNode *n = c.recast.nodes.data[i];
    if (is_convertible(&c, n) && !glow_recast_node(&c.recast, n, false))
      return false;
  }
  glow_recast_finish(&c.recast);
  for (uint32_t i = 0; i < c.nkeep; i++)
    if (!glow_map_get(c.kept, c.keep[i]))
      glow_pass_remark(run, GLOW_NOWHERE, "keep=%s: no such operator or name in @%s", c.keep[i],
                       run->function->name);
  return true;
}

/* ---- Storage --------------------------------------------------------------------------------- */

/* Whether the use reads a storage as double, or saves into it. */
static bool is_double_use(const GlowUse *u) {
  const GlowNode *n = u->user;
  if (n->op == GLOW_OP_SAVE)
    return u == &n->operands[GLOW_SAVE_IN_STORAGE];
  return n->op == GLOW_OP_CAST && u == n->operands &&
         ((const GlowCastMembers *)n->members)->to == GLOW_KIND_DOUBLE;
}

static bool can_widen(const GlowStorage *s) {
  bool uses = s->value.uses != NULL;
  if (s->cls == GLOW_CONSTANT || !glow_type_is_tensor(s->value.type) || s->value.type->quantized ||
      s->value.type->kind != GLOW_KIND_FLOAT || glow_gradient_names(s->module, s->value.name))
    return false;
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    uses &= is_double_use(u);
  return uses;
}

/* A variable begins with a Cast of what it began with, which is a constant now. */
static bool widen_initializer(GlowPassRun *run, GlowStorage *s) {
  if (s->init.kind == GLOW_INIT_SPLAT) { /* its number has been rounded to float */
    s->init.tensor = NULL;
    return true;
  }
  GlowStr name = glow_str_printf(run->ctx, "%s.float", s->value.name);
  GlowStorage *old = glow_storage_create(run->module, GLOW_CONSTANT, name, s->value.type, s->init);
  if (old->init.kind == GLOW_INIT_EVAL)
    old->init.eval->of.storage = old;
  glow_storage_move(old, s);
  GlowBlock *b = glow_block_create(run->module, GLOW_LEVEL_GRAPH, NULL, NULL);
  b->owner = GLOW_BLOCK_EVAL;
  b->of.storage = s;
  GlowBuilder at = glow_builder_at_end(b);
  GlowCastMembers to = {.to = GLOW_KIND_DOUBLE};
  GlowValue *v = glow_build1(&at, GLOW_OP_CAST, &old->value, &to, NULL);
  s->init = (GlowInit){.kind = GLOW_INIT_EVAL, .eval = b};
  return v && glow_build_terminator(b, GLOW_OP_YIELD, &v, 1);
}

/* A Save of what was cast to float saves what was cast; Casts of the storage go. */
static bool widen_use(GlowStorage *s, GlowNode *n) {
  if (n->op == GLOW_OP_CAST) {
    glow_value_replace_uses(&n->results[0], &s->value);
    glow_node_remove(n);
    return true;
  }
  GlowValue *v = glow_node_in(n, GLOW_SAVE_IN_VALUE);
  if (v == &s->value || v->type->kind == GLOW_KIND_DOUBLE)
    return true;
  GlowNode *cast = glow_value_def(v, GLOW_OP_CAST);
  GlowValue *wide = cast ? glow_node_in(cast, 0) : NULL;
  GlowBuilder b = glow_builder_before(n);
  if (!wide || wide->type->kind != GLOW_KIND_DOUBLE)
    wide = glow_then_cast(&b, v, GLOW_KIND_DOUBLE);
  if (wide)
    glow_use_set(&n->operands[GLOW_SAVE_IN_VALUE], wide);
  GlowStr name = v->name;
  if (!cast || cast->results[0].uses)
    return wide != NULL;
  glow_node_remove(cast);
  if (wide)
    glow_value_set_name(wide, name);
  return wide != NULL;
}

static bool widen_storage(GlowPassRun *run, GlowStorage *s) {
  if (s->cls == GLOW_VARIABLE && !widen_initializer(run, s))
    return false;
  s->value.type = glow_type_with_kind(run->ctx, s->value.type, GLOW_KIND_DOUBLE);
  for (GlowUse *u = s->value.uses, *next; u; u = next) {
    next = u->next;
    if (!widen_use(s, u->user))
      return false;
  }
  glow_pass_changed(run, NULL, "@%s is double", s->value.name);
  return true;
}

bool glow_pass_convert_precision(GlowPassRun *run) {
  GlowKind to;
  GLOW_VEC(GlowStorage *) wide = {0};
  if (!read_kind(run, &to))
    return false;
  for (GlowFunction *f = run->module->first_function; f; f = f->next) {
    run->function = f;
    if (f->kind == GLOW_FUNC && !convert_function(run, to))
      return false;
  }
  run->function = NULL;
  for (GlowStorage *s = run->module->first_storage; to == GLOW_KIND_DOUBLE && s; s = s->next)
    if (can_widen(s))
      glow_vec_push(run->arena, &wide, s);
  for (uint32_t i = 0; i < wide.count; i++)
    if (!widen_storage(run, wide.data[i]))
      return false;
  return true;
}
