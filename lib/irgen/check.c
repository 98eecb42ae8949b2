/* Checks, before anything is converted, that a func can become a program, and reports everything
 * that cannot: types without bounds, sequences, optionals, strings, and operators that exist in
 * graphs only or that the target refuses. */
#include "irgen/irgen_internal.h"
#include "target/target.h"

typedef struct Check {
  GlowIrgen *g;
  const GlowTarget *target;
  bool open; /* an extent is unknown: folding may help */
} Check;

static const char *type_problem(const GlowType *t) {
  switch (t->cls) {
  case GLOW_TYPE_SEQ:
    return "a sequence";
  case GLOW_TYPE_OPT:
    return "an optional";
  case GLOW_TYPE_ERROR:
    return "no type";
  case GLOW_TYPE_TENSOR:
    break;
  }
  if (glow_kind_info[t->kind].cls == GLOW_CLASS_STRING)
    return "strings";
  return glow_type_is_bounded(t) ? NULL : "an extent without a bound";
}

static void check_value(Check *c, const GlowValue *v) {
  const char *problem = type_problem(v->type);
  if (!problem)
    return;
  c->open |= glow_type_is_tensor(v->type) && !glow_type_is_bounded(v->type);
  glow_error(c->g->ctx, glow_value_loc(v), "irgen: '%s%s' has type %s: a program cannot hold %s",
             v->kind == GLOW_VALUE_STORAGE ? "@" : "%", v->name ? v->name : "_",
             glow_type_str(c->g->ctx, v->type), problem);
}

/* Reports a node that the target refuses; -lower should have replaced it. */
static void check_support(const Check *c, const GlowNode *n) {
  const char *why;
  if (glow_target_support(c->target, n, &why) == GLOW_REFUSED)
    glow_error(c->g->ctx, glow_node_loc(n), "irgen: target %s does not run %s: %s", c->target->name,
               glow_node_desc(n)->node, why);
}

static void check_block(Check *c, const GlowBlock *b) {
  for (uint32_t i = 0; i < b->nparams; i++)
    check_value(c, b->params[i]);
  for (const GlowNode *n = b->first; n; n = n->next) {
    const GlowOpDesc *d = glow_node_desc(n);
    bool converts = d->instr || glow_irgen_hooks[n->op] || GLOW_HAS(d, TERMINATOR);
    if (!converts && n->op != GLOW_OP_SAVE)
      glow_error(c->g->ctx, glow_node_loc(n), "irgen: %s has no form as an instruction", d->node);
    else
      for (uint32_t i = 0; i < n->nresults; i++)
        check_value(c, &n->results[i]);
    if (n->op != GLOW_OP_SAVE && !GLOW_HAS(d, TERMINATOR))
      check_support(c, n);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        check_block(c, n->regions[i]);
  }
}

bool glow_irgen_check(GlowIrgen *g) {
  unsigned errors = glow_context_error_count(g->ctx);
  Check c = {.g = g, .target = glow_target_asked(g->module)};
  for (const GlowStorage *s = g->module->first_storage; s; s = s->next)
    for (const GlowUse *u = s->value.uses; u; u = u->next)
      if (u->user->block && glow_block_function(u->user->block) == g->func) {
        check_value(&c, &s->value);
        break;
      }
  check_block(&c, g->func->body);
  if (c.open)
    glow_note(g->ctx, GLOW_NOWHERE, "-bind, -bind-input and -constant-fold make extents known");
  return glow_context_error_count(g->ctx) == errors;
}
