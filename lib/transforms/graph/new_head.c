/* A new head: what comes behind a value is replaced by a product with new weights.
 *
 *   -new-head='at=%features;classes=5;seed=1'
 *
 *   y = ...(features) -> out      becomes      y = FullyConnected(features, @head.weight,
 * @head.bias)
 *
 * The function must give out one floating-point tensor, whose type becomes [batch, classes].
 * Features of rank 3 and more are flattened behind the first axis. The weights are drawn as
 * -initialize=he draws them, the biases are 0. What nothing reads any more is removed.
 *
 * Requested: the function computes something else. */
#include <string.h>

#include "pass/pass.h"
#include "transforms/transforms.h"

static GlowValue *find_value(const GlowFunction *f, const char *name) {
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (strcmp(f->body->params[i]->name, name) == 0)
      return f->body->params[i];
  for (GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (n->results[i].name && strcmp(n->results[i].name, name) == 0)
        return &n->results[i];
  return NULL;
}

/* The use by which the function gives out its only result: of a Save into a placeholder, or of its
 * Return. NULL after a diagnostic. */
static GlowUse *output_of(GlowPassRun *run, GlowFunction *f) {
  GlowUse *found = NULL;
  uint32_t count = 0;
  for (GlowNode *n = f->body->first; n; n = n->next) {
    const GlowValue *to = n->op == GLOW_OP_SAVE ? glow_node_in(n, GLOW_SAVE_IN_STORAGE) : NULL;
    if (to && to->kind == GLOW_VALUE_STORAGE && to->def.storage->cls == GLOW_PLACEHOLDER)
      found = &n->operands[GLOW_SAVE_IN_VALUE], count++;
    for (uint32_t i = 0; n->op == GLOW_OP_RETURN && i < n->noperands; i++)
      found = &n->operands[i], count++;
  }
  if (count == 1 && glow_type_is_tensor(found->value->type) &&
      glow_kind_is_float(found->value->type->kind))
    return found;
  glow_error(run->ctx, f->src, "-new-head: @%s must give out one floating-point tensor", f->name);
  return NULL;
}

/* The features as a matrix [batch, count]; NULL after a diagnostic. */
static GlowValue *as_matrix(GlowPassRun *run, GlowBuilder *b, GlowValue *v) {
  const GlowType *t = v->type;
  if (!glow_type_is_tensor(t) || !glow_type_is_static(t) || !glow_kind_is_float(t->kind) ||
      t->rank < 2) {
    glow_error(run->ctx, glow_value_loc(v),
               "-new-head: '%s' is %s, expected floating point of rank "
               "2 or more",
               v->name, glow_type_str(run->ctx, t));
    return NULL;
  }
  GlowFlattenMembers members = {.axis = 1};
  return t->rank == 2 ? v : glow_build1(b, GLOW_OP_FLATTEN, v, &members, NULL);
}

static GlowStorage *add_weights(GlowPassRun *run, const char *name, GlowKind kind, uint32_t rank,
                                const int64_t *dims, GlowInit init) {
  const GlowType *type = glow_type_exact(run->ctx, kind, rank, dims);
  return glow_storage_create(run->module, GLOW_VARIABLE, glow_str(run->ctx, name), type, init);
}

/* The result of the new head, built at b; NULL after a diagnostic. */
static GlowValue *build_head(GlowPassRun *run, GlowBuilder *b, GlowValue *v, int64_t classes,
                             int64_t seed) {
  GlowValue *x = as_matrix(run, b, v);
  if (!x)
    return NULL;
  int64_t features = x->type->dims[1].size;
  GlowRandom random = {.kind = GLOW_RANDOM_NORMAL,
                       .scale = __builtin_sqrt(2 / (double)(features ? features : 1)),
                       .seed = (uint64_t)seed << 20};
  GlowStorage *w = add_weights(run, "head.weight", x->type->kind, 2, (int64_t[]){features, classes},
                               (GlowInit){.kind = GLOW_INIT_RANDOM, .random = random});
  GlowStorage *bias = add_weights(run, "head.bias", x->type->kind, 1, &classes,
                                  (GlowInit){.kind = GLOW_INIT_SPLAT});
  GlowValue *ins[] = {x, &w->value, &bias->value};
  GlowNode *n = glow_build(b, GLOW_OP_FULLY_CONNECTED, ins, 3, NULL, glow_str(run->ctx, "head"));
  return n ? &n->results[0] : NULL;
}

/* Gives out y by the use, whose types follow. */
static void give_out(GlowFunction *f, GlowUse *out, GlowValue *y) {
  GlowNode *n = out->user;
  glow_use_set(out, y);
  if (n->op == GLOW_OP_SAVE)
    glow_node_in(n, GLOW_SAVE_IN_STORAGE)->type = y->type;
  else
    f->results[0] = y->type;
}

static void remove_dead(GlowFunction *f) {
  for (GlowNode *n = f->body->last, *prev; n; n = prev) {
    prev = n->prev;
    bool used = !GLOW_HAS(glow_node_desc(n), PURE);
    for (uint32_t i = 0; i < n->nresults; i++)
      used |= n->results[i].uses != NULL;
    if (!used)
      glow_node_remove(n);
  }
}

bool glow_pass_new_head(GlowPassRun *run) {
  bool ok = true;
  const char *at = glow_pass_option(run, "at");
  int64_t classes = glow_pass_option_int(run, "classes", 0, &ok);
  int64_t seed = glow_pass_option_int(run, "seed", 0, &ok);
  if (!ok)
    return false;
  if (!at || *at != '%' || classes < 1 || classes > GLOW_MAX_ELEMENTS) {
    glow_error(run->ctx, GLOW_NOWHERE,
               "-new-head needs a value and a number of classes: "
               "-new-head='at=%%features;classes=5'");
    return false;
  }
  GlowFunction *f = glow_module_entry(run->module, glow_pass_option(run, "entry"));
  if (!f || f->kind != GLOW_FUNC)
    return false;
  GlowValue *v = find_value(f, at + 1);
  GlowUse *out = v ? output_of(run, f) : NULL;
  if (!v)
    glow_error(run->ctx, f->src, "-new-head: @%s has no value '%s'", f->name, at);
  if (!out)
    return false;
  glow_pass_changed(run, NULL, "a new head reads %s", at);
  GlowBuilder b = v->kind == GLOW_VALUE_RESULT && v->def.node->next
                      ? glow_builder_before(v->def.node->next)
                      : glow_builder_at_end(f->body);
  if (v->kind == GLOW_VALUE_PARAM)
    b.before = f->body->first;
  GlowValue *y = build_head(run, &b, v, classes, seed);
  if (!y)
    return false;
  give_out(f, out, y);
  remove_dead(f);
  return true;
}
