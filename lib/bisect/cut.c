/* The part of a graph that one node is computed by, to begin a reduction with: without it, a pass
 * that works at many places keeps the search busy at those that do not matter. */
#include "bisect/numeric.h"

/* The node of f's body that defines `name`. */
static GlowNode *find(const GlowFunction *f, GlowStr name) {
  for (GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; ++i)
      if (n->results[i].name == name)
        return n;
  return NULL;
}

static GlowNode *definer(const GlowNode *n, uint32_t operand) {
  const GlowValue *v = n->operands[operand].value;
  return v && v->kind == GLOW_VALUE_RESULT && v->def.node->block == n->block ? v->def.node : NULL;
}

/* Marks n, and what it reads through at most `depth` nodes. */
static void mark(GlowMap *kept, GlowNode *n, uint32_t depth) {
  uintptr_t known = (uintptr_t)glow_map_get(kept, n);
  if (known > depth)
    return;
  glow_map_set(kept, n, (void *)(uintptr_t)(depth + 1));
  for (uint32_t i = 0; depth && i < n->noperands; ++i) {
    GlowNode *from = definer(n, i);
    if (from)
      mark(kept, from, depth - 1);
  }
}

/* Placeholders stand for what comes from nodes that are not kept. */
static void cut_off(GlowMap *kept, GlowModule *m, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; ++i) {
    GlowNode *from = definer(n, i);
    if (!from || glow_map_get(kept, from))
      continue;
    GlowValue *v = n->operands[i].value;
    GlowStorage *s = glow_storage_create(
        m, GLOW_PLACEHOLDER, v->name ? v->name : glow_str(m->ctx, "x"), v->type, (GlowInit){0});
    glow_value_replace_uses(v, &s->value);
  }
}

static void remove_rest(GlowMap *kept, GlowFunction *f) {
  for (GlowNode *n = f->body->last, *prev; n; n = prev) {
    prev = n->prev;
    bool used = false;
    for (uint32_t i = 0; i < n->nresults; ++i)
      used |= n->results[i].uses != NULL;
    if (!used && !glow_map_get(kept, n))
      glow_node_remove(n);
  }
}

static bool cut(GlowArena *arena, GlowModule *m, GlowStr entry, GlowStr name, uint32_t depth) {
  GlowFunction *f = glow_module_function(m, entry);
  GlowNode *n = f && f->kind == GLOW_FUNC ? find(f, name) : NULL;
  if (!n || glow_block_terminator(f->body))
    return false;
  GlowMap *kept = glow_map_create(arena);
  mark(kept, n, depth);
  for (GlowNode *k = f->body->first; k; k = k->next)
    if (glow_map_get(kept, k))
      cut_off(kept, m, k);
  remove_rest(kept, f);
  GlowBuilder b = glow_builder_at_end(f->body);
  GlowStorage *out =
      glow_storage_create(m, GLOW_PLACEHOLDER, name, n->results[0].type, (GlowInit){0});
  GlowValue *ins[] = {&n->results[0], &out->value};
  return glow_build(&b, GLOW_OP_SAVE, ins, 2, NULL, NULL) && glow_module_verify(m);
}

GlowModule *glow_fault_cut(const GlowFault *fault, const GlowModule *m, GlowStr node) {
  static const uint32_t depths[] = {0, 1, 2, 4, 8};
  for (uint32_t i = 0; node && i < sizeof depths / sizeof *depths; ++i) {
    GlowModule *c = glow_module_clone(m);
    GlowArena *arena = glow_arena_create(m->ctx);
    GlowSilence silence;
    glow_silence_begin(m->ctx, &silence);
    bool valid = cut(arena, c, fault->entry, node, depths[i]);
    glow_silence_end(&silence);
    glow_arena_destroy(arena);
    if (valid && glow_fault_shows(fault, c))
      return c;
    glow_module_destroy(c);
  }
  return NULL;
}
