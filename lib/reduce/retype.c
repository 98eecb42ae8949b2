/* Infers the types of a module in which operands or storage have other types than before. A text
 * may claim more about a type than inference tells; the claim is kept unless it contradicts the
 * inferred type. */
#include "ir/infer.h"
#include "reduce/delta.h"

static void retype_node(GlowDelta *d, GlowNode *n) {
  if (!n->nresults)
    return;
  const GlowType **out = GLOW_NEW_ARRAY(d->arena, const GlowType *, n->nresults);
  if (!glow_node_infer(n, out))
    return; /* the verifier will say so */
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (!out[i])
      continue;
    const GlowType *met = glow_type_meet(d->ctx, n->results[i].type, out[i]);
    n->results[i].type = met ? met : out[i];
  }
}

/* A placeholder that nothing else uses has the type of what is saved to it. */
static void retype_saved(GlowNode *n) {
  GlowValue *value = glow_node_in(n, GLOW_SAVE_IN_VALUE),
            *to = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  if (value && to && to->kind == GLOW_VALUE_STORAGE && to->def.storage->cls == GLOW_PLACEHOLDER &&
      !to->uses->next)
    to->type = value->type;
}

static void retype_block(GlowDelta *d, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        retype_block(d, n->regions[i]);
    retype_node(d, n);
    if (n->op == GLOW_OP_SAVE)
      retype_saved(n);
  }
}

static void retype_results(GlowFunction *f) {
  const GlowNode *end = glow_block_terminator(f->body);
  if (!end || f->kind != GLOW_FUNC || end->noperands != f->nresults || glow_delta_is_referred(f))
    return;
  for (uint32_t i = 0; i < f->nresults; i++)
    if (end->operands[i].value)
      f->results[i] = end->operands[i].value->type;
}

void glow_delta_retype(GlowDelta *d) {
  for (GlowStorage *s = d->module->first_storage; s; s = s->next) {
    if (!s->init.eval)
      continue;
    retype_block(d, s->init.eval);
    const GlowNode *end = glow_block_terminator(s->init.eval);
    if (end && end->noperands && end->operands[0].value)
      s->value.type = end->operands[0].value->type;
  }
  for (GlowFunction *f = d->module->first_function; f; f = f->next) {
    if (f->kind != GLOW_FUNC)
      continue;
    retype_block(d, f->body);
    retype_results(f);
  }
}
