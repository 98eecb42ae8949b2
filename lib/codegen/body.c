/* Scalar bodies as vector code, one operator after the other (lanes.c), and what that code depends
 * on. */
#include "codegen/emit.h"
#include "num/bits.h"

const GlowBodyOp *glow_codegen_refused(const GlowBody *body) {
  for (uint32_t i = 0; i < body->nops; i++)
    if (!glow_has_lanes(body, &body->ops[i]))
      return &body->ops[i];
  return NULL;
}

void glow_emit_body(GlowEmitter *e, const GlowBody *body, const LLVMValueRef *params,
                    LLVMValueRef *results) {
  LLVMValueRef *values = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, body->nparams + body->nops);
  for (uint32_t i = 0; i < body->nparams; i++)
    values[i] = params[i];
  LLVMValueRef here = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->l.builder));
  for (uint32_t k = 0; k < body->nops; k++) {
    const GlowBodyOp *op = &body->ops[k];
    LLVMValueRef *inputs = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, op->nins);
    for (uint32_t i = 0; i < op->nins; i++)
      inputs[i] = op->ins[i] == GLOW_BODY_ABSENT ? NULL : values[op->ins[i]];
    glow_debug_at(&e->debug, here, op->loc);
    values[body->nparams + k] = glow_emit_lanes(e, body, op, inputs);
  }
  if (body->yield.line)
    glow_debug_at(&e->debug, here, body->yield);
  for (uint32_t i = 0; i < body->nresults; i++)
    results[i] = values[body->results[i]];
}

static void type_key(const GlowLaneType *t, GlowText *key) {
  int64_t facts[] = {t->kind, t->quantized ? 1 + (int64_t)glow_float_bits(t->scale) : 0, t->offset};
  glow_text_bytes(key, facts, sizeof facts);
}

static void op_key(const GlowBodyOp *op, GlowText *key) {
  GlowOp number = (GlowOp)(op->desc - glow_op_desc);
  glow_text_bytes(key, &number, sizeof number);
  if (number == GLOW_OP_SPLAT) {
    const GlowScalar v = ((const GlowSplatMembers *)op->members)->value;
    int64_t integer = v.is_int ? v.i : 0;
    glow_text_bytes(key, &integer, sizeof integer);
    glow_text_bytes(key, &v.f, sizeof v.f);
  } else if (op->desc->member_size) {
    GlowArena *arena = glow_arena_create(key->ctx);
    glow_text_bytes(key, glow_lanes_members(arena, op), op->desc->member_size);
    glow_arena_destroy(arena);
  }
  glow_text_bytes(key, op->ins, op->nins * sizeof *op->ins);
}

void glow_body_key(const GlowBody *body, GlowText *key) {
  uint32_t counts[] = {body->nparams, body->nops, body->nresults};
  glow_text_bytes(key, counts, sizeof counts);
  for (uint32_t i = 0; i < body->nparams + body->nops; i++)
    type_key(&body->types[i], key);
  for (uint32_t i = 0; i < body->nops; i++)
    op_key(&body->ops[i], key);
  glow_text_bytes(key, body->results, body->nresults * sizeof *body->results);
}
