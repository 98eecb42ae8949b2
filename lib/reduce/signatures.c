/* Results and unused parameters of functions whose signatures nobody relies on. */
#include "reduce/delta.h"

static void keep_results(GlowDelta *d, GlowFunction *f, const bool *gone) {
  GlowNode *end = glow_block_terminator(f->body);
  GlowValue **kept = GLOW_NEW_ARRAY(d->arena, GlowValue *, end->noperands);
  uint32_t count = 0;
  for (uint32_t i = 0; i < end->noperands; i++) {
    if (gone[i])
      continue;
    f->results[count] = f->results[i];
    if (f->result_names)
      f->result_names[count] = f->result_names[i];
    kept[count++] = end->operands[i].value;
  }
  if (count == end->noperands)
    return;
  f->nresults = count;
  f->has_results = count > 0;
  glow_node_remove(end);
  if (count)
    glow_build_terminator(f->body, GLOW_OP_RETURN, kept, count);
}

static void results(GlowDelta *d, GlowFunction *f) {
  const GlowNode *end = glow_block_terminator(f->body);
  if (!end || f->nresults != end->noperands)
    return;
  bool *gone = GLOW_NEW_ARRAY(d->arena, bool, f->nresults);
  for (uint32_t i = 0; i < f->nresults; i++)
    gone[i] = glow_delta_offer(d);
  keep_results(d, f, gone);
}

static void parameters(GlowDelta *d, GlowFunction *f) {
  for (uint32_t i = f->body->nparams; i-- > 0;)
    if (!f->body->params[i]->uses && glow_delta_offer(d))
      glow_block_remove_param(f->body, i);
}

void glow_delta_signatures(GlowDelta *d) {
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    if (f->kind != GLOW_GRADIENT && !glow_delta_is_referred(f)) {
      parameters(d, f);
      results(d, f);
    }
}
