/* Type inference over existing nodes: after binding or folding, operands say more than when the
 * node was built, and so may its results. Types only ever get narrower here. */
#include "transforms/transforms.h"

/* The meet of what the text says and what is proved now, or NULL after a diagnostic. */
static const GlowType *narrow(GlowNode *n, const GlowValue *v, const GlowType *proved) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *met = glow_type_meet(ctx, v->type, proved);
  if (met)
    return met;
  glow_error(ctx, glow_node_loc(n), "%s: '%%%s' is declared %s, but its operands give %s",
             glow_node_desc(n)->node, v->name ? v->name : "_", glow_type_str(ctx, v->type),
             glow_type_str(ctx, proved));
  return NULL;
}

static bool narrow_results(GlowNode *n, const GlowType *const *out, bool *changed) {
  for (uint32_t i = 0; i < n->nresults; ++i) {
    GlowValue *v = &n->results[i];
    if (!out[i] || out[i] == v->type)
      continue;
    const GlowType *met = narrow(n, v, out[i]);
    if (!met)
      return false;
    if (met != v->type) {
      v->type = met;
      *changed = true;
    }
  }
  return true;
}

/* A placeholder that is only written takes the type of what it receives. */
static void narrow_saved(GlowNode *n, bool *changed) {
  GlowValue *value = glow_node_in(n, GLOW_SAVE_IN_VALUE),
            *to = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  if (!value || !to || to->kind != GLOW_VALUE_STORAGE || value->type == to->type ||
      to->def.storage->cls != GLOW_PLACEHOLDER || to->uses->next)
    return;
  const GlowType *met = glow_type_meet(n->block->module->ctx, to->type, value->type);
  if (met && met != to->type) {
    to->type = met;
    *changed = true;
  }
}

bool glow_reinfer_node(GlowNode *n, bool *changed) {
  if (n->op == GLOW_OP_SAVE)
    narrow_saved(n, changed);
  if (!glow_node_check_hook(n))
    return false;
  if (!n->nresults)
    return true;
  GlowArena *arena = glow_arena_create(n->block->module->ctx);
  const GlowType **out = GLOW_NEW_ARRAY(arena, const GlowType *, n->nresults);
  bool ok = glow_node_infer(n, out) && narrow_results(n, out, changed);
  glow_arena_destroy(arena);
  return ok;
}

bool glow_reinfer_block(GlowBlock *b, bool *changed) {
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && !n->regions[i]->scalar && !glow_reinfer_block(n->regions[i], changed))
        return false;
    if (!glow_reinfer_node(n, changed))
      return false;
  }
  return true;
}

bool glow_reinfer_module(GlowModule *m) {
  bool changed = false;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    if (f->kind == GLOW_FUNC && !glow_reinfer_block(f->body, &changed))
      return false;
  return true;
}
