/* Constants that passes make: with an eval initializer, which holds copies of the nodes that
 * compute a value, or with a list of elements. */
#include "transforms/transforms.h"

typedef GLOW_VEC(GlowNode *) NodeVec;

/* ---- Eval initializers ----------------------------------------------------------------------- */

GlowEval glow_eval_create(GlowModule *m, GlowArena *arena, const GlowNode *for_node) {
  GlowBlock *b = glow_block_create(m, GLOW_LEVEL_GRAPH, NULL, NULL);
  b->owner = GLOW_BLOCK_EVAL;
  GlowEval e = {.module = m, .arena = arena, .map = glow_map_create(arena)};
  e.builder = glow_builder_at_end(b);
  e.builder.origin = for_node->origin;
  return e;
}

/* Pushes the first operand of n that has no copy yet. False if there is none. */
static bool push_uncopied(GlowEval *e, const GlowNode *n, NodeVec *stack) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && v->kind == GLOW_VALUE_RESULT && !glow_map_get(e->map, v)) {
      glow_vec_push(e->arena, stack, v->def.node);
      return true;
    }
  }
  return false;
}

GlowValue *glow_eval_copy(GlowEval *e, GlowValue *v) {
  if (v->kind == GLOW_VALUE_STORAGE)
    return v;
  NodeVec stack = {0};
  glow_vec_push(e->arena, &stack, v->def.node);
  while (stack.count) {
    GlowNode *n = stack.data[stack.count - 1];
    if (!glow_map_get(e->map, &n->results[0])) {
      if (push_uncopied(e, n, &stack))
        continue;
      glow_node_renumber(glow_node_clone(&e->builder, n, e->map));
    }
    stack.count--;
  }
  return glow_map_get(e->map, v);
}

GlowStorage *glow_eval_finish(GlowEval *e, GlowValue *v, GlowStr name) {
  GlowBlock *b = e->builder.block;
  glow_build_terminator(b, GLOW_OP_YIELD, &v, 1);
  GlowInit init = {.kind = GLOW_INIT_EVAL, .eval = b};
  GlowStorage *s = glow_storage_create(e->module, GLOW_CONSTANT, name, v->type, init);
  s->origin = e->builder.origin;
  return s;
}

GlowValue *glow_eval_inside(GlowValue *v) {
  while (v->kind == GLOW_VALUE_STORAGE && v->def.storage->init.kind == GLOW_INIT_EVAL)
    v = v->def.storage->init.eval->last->operands[0].value;
  return v;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

GlowStorage *glow_constant_list(GlowModule *m, GlowStr name, const GlowTensor *t) {
  GlowInit init = {.kind = GLOW_INIT_LIST, .tensor = glow_tensor_in_arena(m->ctx->arena, t)};
  return glow_storage_create(m, GLOW_CONSTANT, name, t->type, init);
}
