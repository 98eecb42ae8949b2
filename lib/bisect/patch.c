/* One value of a run put right: the run is repeated with that value from outside. If the outputs
 * are right then, the fault lies in this value or in what only this value is computed from. */
#include "bisect/record.h"

/* The node of `copy` at the place that n has in its own function. */
static GlowNode *same_node(GlowFunction *copy, const GlowNode *n) {
  GlowNode *c = copy->body->first;
  const GlowNode *o = glow_block_function(n->block)->body->first;
  while (o && o != n) {
    o = glow_next_in_walk((GlowNode *)(uintptr_t)o);
    c = glow_next_in_walk(c);
  }
  return o ? c : NULL;
}

static GlowValue *same_value(GlowNode *copy, const GlowRecordEntry *e) {
  for (uint32_t i = 0; i < e->node->nresults; i++)
    if (&e->node->results[i] == e->value)
      return &copy->results[i];
  for (uint32_t i = 0; i < e->node->nouts; i++)
    if (e->node->operands[i].value == e->value)
      return copy->operands[i].value;
  return NULL;
}

/* Makes readers of a node's result read the patch. For an instruction, overwrites its buffer with
 * the patch behind it. */
static bool apply(GlowNode *n, GlowValue *v, GlowValue *patch) {
  if (!glow_node_is_instr(n)) {
    glow_value_replace_uses(v, patch);
    return true;
  }
  GlowBuilder b = glow_builder_at_end(n->block);
  b.before = n->next;
  GlowOp op = v->type->layout ? GLOW_OP_RELAYOUT : GLOW_OP_COPY;
  return glow_build_instr(&b, op, &v, 1, &patch, 1, NULL) != NULL;
}

/* The name of the placeholder for the patch; NULL if the copy cannot be patched. */
static GlowStr patched(GlowFunction *copy, const GlowRecordEntry *e) {
  GlowNode *n = same_node(copy, e->node);
  GlowValue *v = n ? same_value(n, e) : NULL;
  if (!v)
    return NULL;
  GlowModule *m = copy->module;
  const GlowType *plain = glow_type_with_layout(m->ctx, v->type, NULL);
  GlowStorage *s =
      glow_storage_create(m, GLOW_PLACEHOLDER, glow_str(m->ctx, "patch"), plain, (GlowInit){0});
  return apply(n, v, &s->value) ? s->value.name : NULL;
}

typedef struct Trial {
  const GlowPatch *patch;
  const GlowRecordEntry *e, *was;
  bool mends;
} Trial;

static void try_patch(GlowContext *ctx, void *arg) {
  Trial *t = arg;
  const GlowPatch *p = t->patch;
  GlowBindings inputs = {0};
  GlowModule *m = glow_module_clone(t->e->node->block->module);
  GlowFunction *f = glow_module_function(m, p->entry);
  GlowStr name = f ? patched(f, t->e) : NULL;
  for (uint32_t i = 0; i < p->inputs->count; i++)
    glow_vec_push(ctx->arena, &inputs, p->inputs->data[i]);
  glow_vec_push(ctx->arena, &inputs, ((GlowBinding){name, t->was->tensor}));
  GlowRecord r;
  if (name) {
    t->mends = glow_record_begin(&r, m, p->entry, &inputs, &(GlowRecordOptions){.run = p->run}) &&
               glow_outputs_agree(ctx, &r.outputs, p->want, p->bisect, NULL);
    glow_record_end(&r);
  }
  glow_module_destroy(m);
}

bool glow_patch_mends(const GlowPatch *patch, const GlowRecordEntry *e,
                      const GlowRecordEntry *was) {
  const GlowFunction *f = e->node ? glow_block_function(e->node->block) : NULL;
  if (!f || e->node->block != f->body || !glow_type_is_static(e->value->type))
    return true;
  GlowContext *ctx = e->node->block->module->ctx;
  Trial trial = {patch, e, was, false};
  return glow_try_in_silence(ctx, try_patch, &trial) == GLOW_OK && trial.mends;
}
