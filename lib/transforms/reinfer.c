/* Type inference over existing nodes: after binding or folding, the types of operands may be
 * narrower than when the node was built, and so may those of its results. Types never get wider
 * here. */
#include "transforms/transforms.h"

/* The meet of v's type and the type that is proved now, or NULL after a diagnostic. */
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
  for (uint32_t i = 0; i < n->nresults; i++) {
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

/* A branch that ends the run yields a Fail for each result of the If n: gives each Fail the type of
 * the result. */
static void narrow_failed(GlowNode *n, bool *changed) {
  for (uint32_t r = 0; r < n->nregions; r++) {
    const GlowNode *end = glow_block_terminator(n->regions[r]);
    for (uint32_t i = 0; end && i < n->nresults; i++) {
      GlowNode *fail = glow_value_def(end->operands[i].value, GLOW_OP_FAIL);
      const GlowType *met =
          fail ? glow_type_meet(n->block->module->ctx, fail->results[0].type, n->results[i].type)
               : NULL;
      if (!met || met == fail->results[0].type)
        continue;
      fail->results[0].type = met;
      *changed = true;
    }
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
  if (ok && n->op == GLOW_OP_IF)
    narrow_failed(n, changed);
  glow_arena_destroy(arena);
  return ok;
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* Replaces a branch of the If n by Fail. */
static void fail_branch(GlowNode *n, GlowBlock *b, GlowStr why) {
  GlowContext *ctx = b->module->ctx;
  glow_remark(ctx, glow_node_loc(n), "^%s has no types for these shapes, and fails if it runs: %s",
              b->label, why);
  GlowStr message = glow_str_printf(ctx, "^%s has no types for these shapes: %s", b->label, why);
  GlowValue **values = GLOW_NEW_ARRAY(b->module->arena, GlowValue *, n->nresults);
  glow_block_clear(b);
  GlowBuilder builder = glow_builder_at_end(b);
  builder.src = n->src;
  builder.origin = n->origin;
  for (uint32_t i = 0; i < n->nresults; i++)
    values[i] = glow_build_fail(&builder, message, n->results[i].type);
  glow_build_terminator(b, GLOW_OP_YIELD, values, n->nresults);
}

/* Calls fn for both branches of the If n and holds their diagnostics back. If fn fails for one
 * branch alone, that branch becomes Fail; if for both, the diagnostics are reported. */
static bool each_branch(GlowNode *n, bool (*fn)(GlowBlock *b, void *arg), void *arg) {
  GlowHold holds[2];
  bool ok[2];
  for (int i = 0; i < 2; i++) {
    glow_hold_begin(n->block->module->ctx, &holds[i]);
    ok[i] = fn(n->regions[i], arg);
    glow_hold_end(&holds[i]);
  }
  for (int i = 0; i < 2; i++) {
    if (ok[i] || !ok[1 - i])
      glow_held_report(&holds[i]);
    else
      fail_branch(n, n->regions[i], glow_held_error(&holds[i]));
  }
  return ok[0] || ok[1];
}

bool glow_each_region(GlowNode *n, bool (*fn)(GlowBlock *b, void *arg), void *arg) {
  if (n->op == GLOW_OP_IF && n->nresults)
    return each_branch(n, fn, arg);
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i] && !n->regions[i]->scalar && !fn(n->regions[i], arg))
      return false;
  return true;
}

static bool reinfer_region(GlowBlock *b, void *changed) { return glow_reinfer_block(b, changed); }

bool glow_reinfer_block(GlowBlock *b, bool *changed) {
  for (GlowNode *n = b->first; n; n = n->next)
    if (!glow_each_region(n, reinfer_region, changed) || !glow_reinfer_node(n, changed))
      return false;
  return true;
}

bool glow_reinfer_module(GlowModule *m) {
  bool changed = false;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    if (f->kind == GLOW_FUNC && !glow_reinfer_block(f->body, &changed))
      return false;
  return true;
}
