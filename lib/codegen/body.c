/* Scalar bodies as vector code: each node is a call of glow_vector_<operator>, which the library
 * has as vector code already. */
#include <string.h>

#include "codegen/emit.h"

static bool is_float(const GlowValue *v) {
  return !v || (v->type->cls == GLOW_TYPE_TENSOR && v->type->kind == GLOW_KIND_FLOAT &&
                !v->type->quantized);
}

/* Operators whose ports are all float have a vector form; see utils/glow-tblgen/gen_vector.c. */
static bool has_vector(const GlowNode *n) {
  if (!glow_node_desc(n)->has_scalar || !is_float(glow_node_out(n, 0)))
    return false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    if (!is_float(glow_node_in(n, i)))
      return false;
  }
  return true;
}

static bool is_terminator(const GlowNode *n) { return GLOW_HAS(glow_node_desc(n), TERMINATOR); }

bool glow_codegen_has_body(const GlowBody *body, const GlowNode **culprit) {
  if (body->node) {
    *culprit = body->node;
    return has_vector(body->node);
  }
  for (const GlowNode *n = body->block ? body->block->first : NULL; n; n = n->next) {
    *culprit = n;
    if (n->op != GLOW_OP_SPLAT && !is_terminator(n) && !has_vector(n))
      return false;
  }
  return true;
}

/* The members that scalar bodies can read, in the layout of the struct; pointers are left out. */
static void *plain_members(GlowArena *arena, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  static const uint8_t sizes[] = {[GLOW_MEMBER_BOOL] = sizeof(bool),
                                  [GLOW_MEMBER_U32] = sizeof(uint32_t),
                                  [GLOW_MEMBER_I64] = sizeof(int64_t),
                                  [GLOW_MEMBER_FLOAT] = sizeof(float),
                                  [GLOW_MEMBER_KIND] = sizeof(GlowKind),
                                  [GLOW_MEMBER_ENUM] = sizeof(int),
                                  [GLOW_MEMBER_SCALAR] = 0};
  char *bytes = glow_arena_alloc(arena, d->member_size);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    if (!m->array)
      memcpy(bytes + m->offset, (const char *)n->members + m->offset, sizes[m->type]);
  }
  return bytes;
}

static LLVMValueRef splat(GlowEmitter *e, float v) {
  LLVMValueRef lanes[64];
  GLOW_CHECK(e->l.ctx, e->l.isa->vl <= 64, "a vector is at most 64 lanes");
  for (uint32_t i = 0; i < e->l.isa->vl; i++)
    lanes[i] = LLVMConstReal(e->l.f32, (double)v);
  return LLVMConstVector(lanes, e->l.isa->vl);
}

static LLVMValueRef emit_node(GlowEmitter *e, const GlowNode *n, const LLVMValueRef *inputs) {
  const GlowOpDesc *d = glow_node_desc(n);
  LLVMTypeRef types[1 + 2 * GLOW_MAX_RANK];
  LLVMValueRef args[1 + 2 * GLOW_MAX_RANK];
  uint32_t count = 0;
  types[count] = e->l.ptr;
  args[count++] = d->member_size ? glow_emit_constant(e, plain_members(e->arena, n), d->member_size)
                                 : LLVMConstNull(e->l.ptr);
  GLOW_CHECK(e->l.ctx, d->nin <= GLOW_MAX_RANK, "an element-wise operator has few operands");
  for (uint32_t i = 0; i < d->nin; i++) {
    bool present = i < glow_node_nins(n) && glow_node_in(n, i);
    types[count] = e->l.vec;
    args[count++] = present ? inputs[i] : LLVMConstNull(e->l.vec);
    if (d->in[i].flags & GLOW_PORT_OPTIONAL) {
      types[count] = e->l.i1;
      args[count++] = LLVMConstInt(e->l.i1, present, 0);
    }
  }
  const char *name = glow_arena_printf(e->arena, "glow_vector_%s", d->instr);
  return glow_emit_kernel_call(e, name, e->l.vec, types, args, count);
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
    results[0] = emit_node(e, body->node, inputs);
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
    for (uint32_t i = 0; i < nins; i++)
      inputs[i] = glow_node_in(n, i) ? values[value_index(b, glow_node_in(n, i))] : NULL;
    if (is_terminator(n)) {
      for (uint32_t i = 0; i < nins; i++)
        results[i] = inputs[i];
    } else if (n->op == GLOW_OP_SPLAT) {
      values[count] = splat(e, (float)((const GlowSplatMembers *)n->members)->value.f);
    } else {
      values[count] = emit_node(e, n, inputs);
    }
  }
}

static void node_key(const GlowNode *n, const GlowBlock *b, GlowText *key) {
  glow_text_bytes(key, &n->op, sizeof n->op);
  if (n->op == GLOW_OP_SPLAT) {
    float v = (float)((const GlowSplatMembers *)n->members)->value.f;
    glow_text_bytes(key, &v, sizeof v);
  } else if (glow_node_desc(n)->member_size) {
    GlowArena *arena = glow_arena_create(key->ctx);
    glow_text_bytes(key, plain_members(arena, n), glow_node_desc(n)->member_size);
    glow_arena_destroy(arena);
  }
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    uint32_t index = !v ? UINT32_MAX : b ? value_index(b, v) : i;
    glow_text_bytes(key, &index, sizeof index);
  }
}

void glow_body_key(const GlowBody *body, GlowText *key) {
  if (body->node)
    node_key(body->node, NULL, key);
  for (const GlowNode *n = body->block ? body->block->first : NULL; n; n = n->next)
    node_key(n, body->block, key);
}
