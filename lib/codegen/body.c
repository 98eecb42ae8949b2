/* Scalar bodies as vector code, one node after the other (lanes.c), and what that code depends on.
 */
#include "codegen/emit.h"
#include "num/bits.h"

static bool is_terminator(const GlowNode *n) { return GLOW_HAS(glow_node_desc(n), TERMINATOR); }

bool glow_codegen_has_body(const GlowBody *body, const GlowNode **culprit) {
  if (body->node) {
    *culprit = body->node;
    return glow_has_lanes(body->node);
  }
  for (const GlowNode *n = body->block ? body->block->first : NULL; n; n = n->next) {
    *culprit = n;
    if (!is_terminator(n) && !glow_has_lanes(n))
      return false;
  }
  return true;
}

/* note [body values]: the vector of a value of the body stands at its index in `values`: parameters
 * first, then one per node in order. Bodies are short, so looking a value up walks the block. */
static uint32_t value_index(const GlowBlock *b, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_PARAM)
    return v->index;
  uint32_t index = b->nparams;
  for (const GlowNode *n = b->first; n != v->def.node; n = n->next)
    index++;
  return index;
}

static uint32_t count_nodes(const GlowBlock *b) {
  uint32_t count = 0;
  for (const GlowNode *n = b->first; n; n = n->next)
    count++;
  return count;
}

void glow_emit_body(GlowEmitter *e, const GlowBody *body, const LLVMValueRef *params,
                    LLVMValueRef *results) {
  if (body->node) {
    /* The operands that are there are the parameters, in order. */
    LLVMValueRef *inputs = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, glow_node_nins(body->node));
    for (uint32_t i = 0; i < glow_node_nins(body->node); i++)
      inputs[i] = glow_node_in(body->node, i) ? *params++ : NULL;
    results[0] = glow_emit_lanes(e, body->node, inputs);
    return;
  }
  const GlowBlock *b = body->block;
  uint32_t count = b->nparams;
  LLVMValueRef *values = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, b->nparams + count_nodes(b));
  for (uint32_t i = 0; i < b->nparams; i++)
    values[i] = params[i];
  for (const GlowNode *n = b->first; n; n = n->next, count++) {
    uint32_t nins = glow_node_nins(n);
    LLVMValueRef *inputs = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, nins);
    glow_debug_at(&e->debug, LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->l.builder)), n);
    for (uint32_t i = 0; i < nins; i++)
      inputs[i] = glow_node_in(n, i) ? values[value_index(b, glow_node_in(n, i))] : NULL;
    if (is_terminator(n)) {
      for (uint32_t i = 0; i < nins; i++)
        results[i] = inputs[i];
    } else {
      values[count] = glow_emit_lanes(e, n, inputs);
    }
  }
}

/* What the lanes of a type depend on; the shape does not matter. */
static void type_key(const GlowValue *v, GlowText *key) {
  int64_t facts[] = {-1, 0, 0};
  if (v && v->type->cls == GLOW_TYPE_TENSOR) {
    facts[0] = v->type->kind;
    facts[1] = v->type->quantized ? 1 + (int64_t)glow_float_bits(v->type->scale) : 0;
    facts[2] = v->type->offset;
  }
  glow_text_bytes(key, facts, sizeof facts);
}

static void node_key(const GlowNode *n, const GlowBlock *b, GlowText *key) {
  glow_text_bytes(key, &n->op, sizeof n->op);
  if (n->op == GLOW_OP_SPLAT) {
    const GlowScalar v = ((const GlowSplatMembers *)n->members)->value;
    int64_t number = v.is_int ? v.i : 0;
    glow_text_bytes(key, &number, sizeof number);
    glow_text_bytes(key, &v.f, sizeof v.f);
  } else if (glow_node_desc(n)->member_size) {
    GlowArena *arena = glow_arena_create(key->ctx);
    glow_text_bytes(key, glow_lanes_members(arena, n), glow_node_desc(n)->member_size);
    glow_arena_destroy(arena);
  }
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    uint32_t index = !v ? UINT32_MAX : b ? value_index(b, v) : i;
    glow_text_bytes(key, &index, sizeof index);
    type_key(v, key);
  }
  type_key(is_terminator(n) ? NULL : glow_node_out(n, 0), key);
}

void glow_body_key(const GlowBody *body, GlowText *key) {
  if (body->node)
    node_key(body->node, NULL, key);
  for (const GlowNode *n = body->block ? body->block->first : NULL; n; n = n->next)
    node_key(n, body->block, key);
}
