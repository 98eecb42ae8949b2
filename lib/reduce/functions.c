/* Functions: one goes with the Calls of it and the gradients declared of it. */
#include "reduce/delta.h"

static bool calls(const GlowNode *n, const GlowFunction *f) {
  return n->op == GLOW_OP_CALL && ((const GlowCallMembers *)n->members)->callee == f->name;
}

/* Results that no constant can stand for become placeholders. */
static void replace_call(GlowDelta *d, GlowNode *n) {
  GlowStandIn kind = GLOW_STAND_IN_ONE;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!glow_stand_in_fits(n->results[i].type, kind))
      kind = GLOW_STAND_IN_INPUT;
  glow_stand_in_for(d, n, kind);
}

static void delete_function(GlowDelta *d, GlowFunction *f) {
  for (GlowFunction *g = d->module->first_function; g; g = g->next)
    for (GlowNode *n = g->body->first, *next; n; n = next) {
      next = glow_next_in_walk(n);
      if (g != f && calls(n, f))
        replace_call(d, n);
    }
  glow_function_remove(f);
}

void glow_delta_functions(GlowDelta *d) {
  GLOW_VEC(GlowFunction *) taken = {0};
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    if (glow_delta_offer(d))
      glow_vec_push(d->arena, &taken, f);
  GlowMap *gone = glow_map_create(d->arena);
  for (uint32_t i = 0; i < taken.count; i++)
    glow_map_set(gone, taken.data[i]->name, taken.data[i]);
  for (GlowFunction *f = d->module->first_function, *next; f; f = next) {
    next = f->next;
    if (glow_map_get(gone, f->name) || (f->kind == GLOW_GRADIENT && glow_map_get(gone, f->primal)))
      delete_function(d, f);
  }
}
