/* The checkers of what passes need: one predicate each, over the whole module. */
#include "analysis/layouts.h"
#include "pass/pass_internal.h"

/* The need that is checked, and the first place that breaks it. */
typedef struct Check {
  GlowNeedBit need;
  GlowLoc loc;
  const char *reason; /* why the need does not hold; NULL: nothing broke it so far */
  bool final;         /* no pass can make it hold, so no hint is given */
} Check;

static const char *symbol_reason(GlowContext *ctx, const GlowType *type) {
  return glow_type_has_rangeless(type) ? glow_str_printf(ctx, "type %s", glow_type_str(ctx, type))
                                       : NULL;
}

static void refuse_call(const GlowNode *n, Check *c) {
  const GlowFunction *f =
      glow_module_function(n->block->module, ((const GlowCallMembers *)n->members)->callee);
  c->final = f && f->kind == GLOW_GRADIENT;
  c->reason = c->final ? glow_str_printf(n->block->module->ctx,
                                         "a Call of @%s, a gradient declaration, which has no body",
                                         f->name)
                       : "a Call";
}

static bool node_breaks(GlowNode *n, Check *c) {
  GlowModule *m = n->block->module;
  switch (c->need) {
  case GLOW_NEED_BIT_BOUND:
    for (uint32_t i = 0; i < n->nresults && !c->reason; i++)
      c->reason = symbol_reason(m->ctx, n->results[i].type);
    break;
  case GLOW_NEED_BIT_INLINED:
    if (n->op == GLOW_OP_CALL)
      refuse_call(n, c);
    break;
  case GLOW_NEED_BIT_LOWERED:
    if (GLOW_HAS(glow_node_desc(n), LOWERED))
      c->reason = glow_node_desc(n)->node;
    break;
  case GLOW_NEED_BIT_PLAIN:
    if (!glow_node_is_instr(n) && glow_node_has_layout(n))
      c->reason = glow_str_printf(m->ctx, "%s on blocks", glow_node_desc(n)->node);
    break;
  case GLOW_NEED_BIT_PLANNED:
    if (n->op == GLOW_OP_ALLOC && ((const GlowAllocMembers *)n->members)->at < 0)
      c->reason = "an alloc without an offset";
    break;
  case GLOW_NEED_BIT_MATERIALIZED:
  case GLOW_NEED_COUNT:
    break;
  }
  if (c->reason)
    c->loc = glow_node_loc(n);
  return c->reason != NULL;
}

static bool visit(GlowNode *n, void *arg) { return !node_breaks(n, arg); }

static void check_functions(GlowModule *m, Check *c) {
  for (GlowFunction *f = m->first_function; f && !c->reason; f = f->next) {
    if (f->kind == GLOW_GRADIENT)
      continue;
    for (uint32_t i = 0; c->need == GLOW_NEED_BIT_BOUND && i < f->body->nparams; i++) {
      c->reason = symbol_reason(m->ctx, f->body->params[i]->type);
      if (c->reason) {
        c->loc = f->src;
        return;
      }
    }
    glow_block_walk(f->body, visit, c);
  }
}

static void check_storage(GlowModule *m, Check *c) {
  for (GlowStorage *s = m->first_storage; s && !c->reason; s = s->next) {
    if (c->need == GLOW_NEED_BIT_BOUND)
      c->reason = symbol_reason(m->ctx, s->value.type);
    else if (c->need == GLOW_NEED_BIT_MATERIALIZED && s->init.kind == GLOW_INIT_EVAL)
      c->reason = "an eval constant";
    if (c->reason)
      c->loc = s->src;
  }
}

bool glow_need_holds(GlowModule *m, GlowNeedBit need, const char *who, bool report) {
  static const struct {
    const char *name, *holds, *hint;
  } needs[] = {
#define NEED(e, n, holds, hint) {n, holds, hint},
      GLOW_NEEDS(NEED)
#undef NEED
  };
  Check c = {.need = need};
  check_storage(m, &c);
  if (!c.reason)
    check_functions(m, &c);
  if (c.reason && report) {
    glow_error(m->ctx, c.loc, "pass '%s' needs '%s': %s; here is %s", who, needs[need].name,
               needs[need].holds, c.reason);
    if (!c.final)
      glow_note(m->ctx, GLOW_NOWHERE, "%s", needs[need].hint);
  }
  return !c.reason;
}
