/* Gradient declarations for random functions: see random_graph.h. */
#include "test/random/random_graph.h"

static bool is_real(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_kind_is_float(t->kind) && !t->quantized;
}

/* Whether f itself reads, or saves into, the storage. */
static bool touches(const GlowFunction *f, const GlowStorage *s, bool saves) {
  for (const GlowUse *u = s->value.uses; u; u = u->next) {
    bool save = u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE];
    if (save == saves && glow_block_function(u->user->block) == f)
      return true;
  }
  return false;
}

GlowFunction *glow_random_declare(GlowFunction *f, GlowStr name) {
  GlowModule *m = f->module;
  uint32_t most = f->nresults + f->body->nparams;
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    most++;
  GlowFunction *g = glow_function_create(m, GLOW_GRADIENT, name);
  g->primal = f->name;
  g->from = GLOW_NEW_ARRAY(m->arena, GlowGradientRef, most);
  g->wrt = GLOW_NEW_ARRAY(m->arena, GlowGradientRef, most);
  g->keeping = GLOW_NEW_ARRAY(m->arena, GlowGradientRef, most);
  for (uint32_t i = 0; i < f->nresults; i++) {
    GlowGradientRef ref = {.index = i};
    g->keeping[g->nkeeping++] = ref;
    if (is_real(f->results[i]))
      g->from[g->nfrom++] = ref;
  }
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (is_real(f->body->params[i]->type))
      g->wrt[g->nwrt++] = (GlowGradientRef){.name = f->body->params[i]->name};
  for (const GlowStorage *s = m->first_storage; s; s = s->next) {
    GlowGradientRef ref = {.name = s->value.name, .is_storage = true};
    if (is_real(s->value.type) && touches(f, s, false))
      g->wrt[g->nwrt++] = ref;
    if (is_real(s->value.type) && touches(f, s, true))
      g->from[g->nfrom++] = ref;
  }
  if (g->nfrom && g->nwrt && glow_gradient_signature(g))
    return g;
  glow_function_remove(g);
  return NULL;
}
