/* Folds arithmetic on shapes as far as the shapes are known. Then types of results become static,
 * and constants of their own shapes can stand for them. */
#include "reduce/delta.h"
#include "transforms/transforms.h"

static bool has_open_type(const GlowFunction *f) {
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    for (uint32_t i = 0; i < n->nresults; i++)
      if (!glow_type_is_static(n->results[i].type))
        return true;
  return false;
}

void glow_delta_fold(GlowDelta *d) {
  uint64_t changes = 0;
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    if (f->kind == GLOW_FUNC && has_open_type(f) && glow_delta_offer(d))
      glow_fold_small_integers(f, d->arena, &changes);
}
