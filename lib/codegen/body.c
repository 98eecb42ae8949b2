/* Bodies as vector code: calls of functions of lanes, which are vector code already. */
#include <string.h>

#include "codegen/emit.h"

/* One element on all lanes. */
static LLVMValueRef emit_constant_lanes(GlowEmitter *e, const GlowLaneCall *c, GlowKind kind) {
  uint64_t element = 0;
  memcpy(&element, c->members, c->bytes);
  LLVMTypeRef type = glow_emit_element_type(e, kind);
  LLVMValueRef lanes[64],
      bits = LLVMConstInt(LLVMIntTypeInContext(e->l.llvm, glow_kind_info[kind].bits), element, 0);
  GLOW_CHECK(e->l.ctx, e->l.isa->vl <= 64, "a vector is at most 64 lanes");
  for (uint32_t i = 0; i < e->l.isa->vl; i++)
    lanes[i] = LLVMConstBitCast(bits, type);
  return LLVMConstVector(lanes, e->l.isa->vl);
}

/* Lanes go through memory that the optimizer removes. */
static LLVMValueRef emit_call(GlowEmitter *e, const GlowLaneCall *c, GlowKind kind,
                              const LLVMValueRef *values) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef out = LLVMVectorType(glow_emit_element_type(e, kind), e->l.isa->vl);
  LLVMTypeRef *types = GLOW_NEW_ARRAY(e->arena, LLVMTypeRef, 2 + 2 * (size_t)c->nins);
  LLVMValueRef *args = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, 2 + 2 * (size_t)c->nins);
  uint32_t count = 0;
  args[count++] = c->bytes ? glow_emit_constant(e, c->members, c->bytes) : LLVMConstNull(e->l.ptr);
  args[count++] = LLVMBuildAlloca(b, out, "");
  for (uint32_t i = 0; i < c->nins; i++) {
    /* The function loads an absent operand as a vector, too, but does not use it. */
    bool here = c->ins[i] != GLOW_BODY_ABSENT;
    LLVMValueRef v = here ? values[c->ins[i]] : LLVMConstNull(out);
    args[count] = LLVMBuildAlloca(b, LLVMTypeOf(v), "");
    LLVMBuildStore(b, v, args[count++]);
    if (c->optional >> i & 1u)
      args[count++] = LLVMConstInt(e->l.i1, here, 0);
  }
  for (uint32_t i = 0; i < count; i++)
    types[i] = LLVMTypeOf(args[i]);
  glow_emit_kernel_call(e, glow_lane_names[c->lane], e->l.void_type, types, args, count);
  return LLVMBuildLoad2(b, out, args[1], "");
}

void glow_emit_body(GlowEmitter *e, const GlowBody *body, const LLVMValueRef *params,
                    LLVMValueRef *results) {
  LLVMValueRef *values = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, body->nparams + body->ncalls);
  for (uint32_t i = 0; i < body->nparams; i++)
    values[i] = params[i];
  LLVMValueRef here = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->l.builder));
  for (uint32_t k = 0, v = body->nparams; k < body->ncalls; k++, v++) {
    const GlowLaneCall *c = &body->calls[k];
    glow_debug_at(&e->debug, here, c->loc);
    values[v] = c->lane ? emit_call(e, c, body->kinds[v], values)
                        : emit_constant_lanes(e, c, body->kinds[v]);
  }
  if (body->yield.line)
    glow_debug_at(&e->debug, here, body->yield);
  for (uint32_t i = 0; i < body->nresults; i++)
    results[i] = values[body->results[i]];
}

void glow_body_key(const GlowBody *body, GlowText *key) {
  uint32_t counts[] = {body->nparams, body->ncalls, body->nresults};
  glow_text_bytes(key, counts, sizeof counts);
  glow_text_bytes(key, body->kinds, (body->nparams + body->ncalls) * sizeof *body->kinds);
  for (uint32_t i = 0; i < body->ncalls; i++) {
    const GlowLaneCall *c = &body->calls[i];
    glow_text_bytes(key, &c->lane, sizeof c->lane);
    glow_text_bytes(key, &c->nins, sizeof c->nins);
    glow_text_bytes(key, &c->bytes, sizeof c->bytes);
    glow_text_bytes(key, c->ins, c->nins * sizeof *c->ins);
    glow_text_bytes(key, c->members, c->bytes);
  }
  glow_text_bytes(key, body->results, body->nresults * sizeof *body->results);
}
