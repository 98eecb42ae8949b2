/* Cuts out the part of a graph that computes one node, or one instruction of a program, as the
 * start of a reduction. Without the cut, a pass that works in many places keeps the search busy
 * with places that do not matter, and a backend compiles the whole program again for each
 * candidate. */
#include "bisect/record.h"
#include "reduce/delta.h"

/* The node of f's body that defines `name`. */
static GlowNode *find(const GlowFunction *f, GlowStr name) {
  for (GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++)
      if (n->results[i].name == name)
        return n;
  return NULL;
}

static GlowNode *definer(const GlowNode *n, uint32_t operand) {
  const GlowValue *v = n->operands[operand].value;
  return v && v->kind == GLOW_VALUE_RESULT && v->def.node->block == n->block ? v->def.node : NULL;
}

/* Marks n, and the nodes that it reads from, directly or through others, at most `depth` away. */
static void mark(GlowMap *kept, GlowNode *n, uint32_t depth) {
  uintptr_t known = (uintptr_t)glow_map_get(kept, n);
  if (known > depth)
    return;
  glow_map_set(kept, n, (void *)(uintptr_t)(depth + 1));
  for (uint32_t i = 0; depth && i < n->noperands; i++) {
    GlowNode *from = definer(n, i);
    if (from)
      mark(kept, from, depth - 1);
  }
}

/* Replaces the operands of n that come from nodes that are not kept by placeholders. */
static void cut_off(GlowMap *kept, GlowModule *m, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
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
    for (uint32_t i = 0; i < n->nresults; i++)
      used |= n->results[i].uses != NULL;
    if (!used && !glow_map_get(kept, n))
      glow_node_remove(n);
  }
}

/* Functions that nobody calls any more. */
static void remove_functions(GlowFunction *entry) {
  for (GlowFunction *f = entry->module->last_function, *prev; f; f = prev) {
    prev = f->prev;
    if (f != entry && !glow_delta_is_referred(f))
      glow_function_remove(f);
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
  remove_functions(f);
  GlowBuilder b = glow_builder_at_end(f->body);
  GlowStorage *out =
      glow_storage_create(m, GLOW_PLACEHOLDER, name, n->results[0].type, (GlowInit){0});
  GlowValue *ins[] = {&n->results[0], &out->value};
  return glow_build(&b, GLOW_OP_SAVE, ins, 2, NULL, NULL) && glow_module_verify(m);
}

/* A copy of m with only `name` and the nodes at most `depth` operands away from it; NULL if that
 * does not verify. */
static GlowModule *cut_at(const GlowModule *m, GlowStr entry, GlowStr name, uint32_t depth) {
  GlowModule *c = glow_module_clone(m);
  GlowArena *arena = glow_arena_create(m->ctx);
  GlowSilence silence;
  glow_silence_begin(m->ctx, &silence);
  bool valid = cut(arena, c, entry, name, depth);
  glow_silence_end(&silence);
  glow_arena_destroy(arena);
  if (valid)
    return c;
  glow_module_destroy(c);
  return NULL;
}

GlowModule *glow_fault_cut_node(const GlowModule *m, GlowStr entry, GlowStr name) {
  return cut_at(m, entry, name, 0);
}

GlowModule *glow_fault_cut(const GlowNumericFault *fault, const GlowModule *m, GlowStr node) {
  static const uint32_t depths[] = {0, 1, 2, 4, 8};
  for (uint32_t i = 0; node && i < sizeof depths / sizeof *depths; i++) {
    GlowModule *c = cut_at(m, fault->entry, node, depths[i]);
    if (c && glow_fault_shows(fault, c))
      return c;
    if (c)
      glow_module_destroy(c);
  }
  return NULL;
}

/* ---- One instruction ------------------------------------------------------------------------- */

/* What was written last to the buffer `name` before the instruction of e ran; NULL: nothing. */
static const GlowTensor *held(const GlowRecord *r, const GlowRecordEntry *e, GlowStr name) {
  const GlowTensor *t = NULL;
  for (uint32_t i = 0; i < r->entries.count; i++) {
    const GlowRecordEntry *o = &r->entries.data[i];
    if (!o->node || o->node->order == e->node->order)
      break;
    t = o->name == name ? o->tensor : t;
  }
  return t;
}

/* Keeps the nodes that v's memory comes from. */
static void keep_memory(GlowMap *kept, const GlowValue *v) {
  while (v->kind == GLOW_VALUE_RESULT) {
    GlowNode *n = v->def.node;
    glow_map_set(kept, n, n);
    if (n->op != GLOW_OP_TENSORVIEW)
      return;
    v = glow_node_in(n, 0);
  }
}

/* Makes a placeholder in the plain layout for the elements of v, and a copy where the builder
 * stands: from the placeholder to v (`to_buffer`), or from v to it. */
static GlowStorage *carry(GlowMap *kept, GlowBuilder *b, GlowValue *v, bool to_buffer) {
  GlowModule *m = b->module;
  const GlowType *plain = glow_type_with_layout(m->ctx, v->type, NULL);
  GlowStorage *s = glow_storage_create(
      m, GLOW_PLACEHOLDER, v->name ? v->name : glow_str(m->ctx, "x"), plain, (GlowInit){0});
  GlowValue *from = to_buffer ? &s->value : v, *to = to_buffer ? v : &s->value;
  GlowNode *copy = glow_build_instr(b, v->type->layout ? GLOW_OP_RELAYOUT : GLOW_OP_COPY, &to, 1,
                                    &from, 1, NULL);
  glow_map_set(kept, copy, copy);
  return copy ? s : NULL;
}

/* Fills n's buffers with what they held in the record, and saves what n writes. */
static bool carry_operands(GlowNumericFault *fault, GlowMap *kept, GlowNode *n, const GlowRecord *r,
                           const GlowRecordEntry *e) {
  GlowBuilder before = glow_builder_before(n), after = glow_builder_at_end(n->block);
  before.pred = NULL;
  after.before = n->next;
  bool ok = true;
  for (uint32_t i = 0; i < n->noperands && ok; i++) {
    GlowUse *u = &n->operands[i];
    if (!u->value || u->value->kind == GLOW_VALUE_STORAGE)
      continue;
    bool reads = u->qual != GLOW_QUAL_OUT, writes = i < n->nouts;
    keep_memory(kept, u->value);
    GlowStorage *s = reads ? carry(kept, &before, u->value, true) : NULL;
    const GlowTensor *t = s ? held(r, e, u->value->name) : NULL;
    if (t)
      glow_vec_push(n->block->module->ctx->arena, &fault->values,
                    ((GlowBinding){s->value.name, (GlowTensor *)(uintptr_t)t}));
    ok = (!reads || s) && (!writes || carry(kept, &after, u->value, false));
  }
  return ok;
}

static void remove_others(GlowMap *kept, GlowBlock *body) {
  for (GlowNode *n = body->last, *prev; n; n = prev) {
    prev = n->prev;
    const GlowValue *freed = n->op == GLOW_OP_DEALLOC ? glow_node_in(n, 0) : NULL;
    bool needed = freed && freed->kind == GLOW_VALUE_RESULT && glow_map_get(kept, freed->def.node);
    if (!glow_map_get(kept, n) && !needed && !GLOW_HAS(glow_node_desc(n), TERMINATOR))
      glow_node_remove(n);
  }
}

static bool isolate(GlowNumericFault *fault, GlowArena *arena, GlowFunction *f, const GlowRecord *r,
                    const GlowRecordEntry *e) {
  glow_function_number(f);
  GlowNode *n = f->body->first;
  while (n && n->order != e->node->order)
    n = n->next;
  if (!n || GLOW_HAS(glow_node_desc(n), CONTROL))
    return false;
  GlowMap *kept = glow_map_create(arena);
  glow_map_set(kept, n, n);
  if (!carry_operands(fault, kept, n, r, e))
    return false;
  remove_others(kept, f->body);
  return glow_module_verify(f->module);
}

GlowModule *glow_fault_cut_instruction(GlowNumericFault *fault, const GlowModule *m, const GlowRecord *r,
                                       const GlowRecordEntry *e) {
  GlowModule *c = glow_module_clone(m);
  GlowFunction *f = glow_module_function(c, fault->entry);
  GlowArena *arena = glow_arena_create(m->ctx);
  GlowSilence silence;
  glow_silence_begin(m->ctx, &silence);
  bool valid = f && e->node && isolate(fault, arena, f, r, e);
  glow_silence_end(&silence);
  glow_arena_destroy(arena);
  if (valid && glow_fault_shows(fault, c))
    return c;
  glow_module_destroy(c);
  fault->values = (GlowBindings){0};
  return NULL;
}
