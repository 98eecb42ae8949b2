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

/* Room for `count` vectors; *at is where each of them is. */
static LLVMValueRef room(GlowEmitter *e, LLVMTypeRef vector, uint32_t count, LLVMValueRef *at) {
  LLVMBuilderRef b = e->l.builder;
  LLVMValueRef all = LLVMBuildAlloca(b, LLVMArrayType2(vector, count), "");
  for (uint32_t j = 0; j < count; j++) {
    LLVMValueRef index = glow_emit_i64(e, j);
    at[j] = LLVMBuildInBoundsGEP2(b, vector, all, &index, 1, "");
  }
  return all;
}

/* Calls a function on `count` vectors from number `first` on; values[i] are those of value i. Lanes go through memory that
 * the optimizer removes. */
static void emit_call(GlowEmitter *e, const GlowLaneCall *c, const char *function, GlowKind kind,
                      uint32_t first, uint32_t count, LLVMValueRef (*values)[GLOW_BODY_TURN],
                      LLVMValueRef *out) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef vector = LLVMVectorType(glow_emit_element_type(e, kind), e->l.isa->vl);
  LLVMTypeRef *types = GLOW_NEW_ARRAY(e->arena, LLVMTypeRef, 2 + 2 * (size_t)c->nins);
  LLVMValueRef *args = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, 2 + 2 * (size_t)c->nins);
  LLVMValueRef at[GLOW_BODY_TURN], to[GLOW_BODY_TURN];
  uint32_t nargs = 0;
  args[nargs++] = c->bytes ? glow_emit_constant(e, c->members, c->bytes) : LLVMConstNull(e->l.ptr);
  args[nargs++] = room(e, vector, count, to);
  for (uint32_t i = 0; i < c->nins; i++) {
    /* The function loads an absent operand as a vector, too, but does not use it. */
    bool here = c->ins[i] != GLOW_BODY_ABSENT;
    LLVMValueRef none = LLVMConstNull(vector);
    const LLVMValueRef *v = here ? values[c->ins[i]] + first : NULL;
    args[nargs++] = room(e, v ? LLVMTypeOf(v[0]) : vector, count, at);
    for (uint32_t j = 0; j < count; j++)
      LLVMBuildStore(b, v ? v[j] : none, at[j]);
    if (c->optional >> i & 1u)
      args[nargs++] = LLVMConstInt(e->l.i1, here, 0);
  }
  for (uint32_t i = 0; i < nargs; i++)
    types[i] = LLVMTypeOf(args[i]);
  glow_emit_kernel_call(e, function, e->l.void_type, types, args, nargs);
  for (uint32_t j = 0; j < count; j++)
    out[j] = LLVMBuildLoad2(b, vector, to[j], "");
}

/* A call on `count` vectors: of a function that they take turns in, or one for each of them. */
static void emit_step(GlowEmitter *e, const GlowLaneCall *c, GlowKind kind, uint32_t count,
                      LLVMValueRef (*values)[GLOW_BODY_TURN], LLVMValueRef *out) {
  if (!c->lane) {
    out[0] = emit_constant_lanes(e, c, kind);
    for (uint32_t j = 1; j < count; j++)
      out[j] = out[0];
  } else if (count == GLOW_BODY_TURN && c->turns) {
    emit_call(e, c, c->turns, kind, 0, count, values, out);
  } else {
    for (uint32_t j = 0; j < count; j++)
      emit_call(e, c, glow_lane_names[c->lane], kind, j, 1, values, out + j);
  }
}

void glow_emit_body(GlowEmitter *e, const GlowBody *body, uint32_t count,
                    const LLVMValueRef *params, LLVMValueRef *results) {
  LLVMValueRef(*values)[GLOW_BODY_TURN] =
      glow_arena_array(e->arena, body->nparams + body->ncalls, sizeof *values);
  for (uint32_t i = 0; i < body->nparams; i++)
    for (uint32_t j = 0; j < count; j++)
      values[i][j] = params[i * count + j];
  LLVMValueRef here = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->l.builder));
  for (uint32_t k = 0, v = body->nparams; k < body->ncalls; k++, v++) {
    glow_debug_at(&e->debug, here, body->calls[k].loc);
    emit_step(e, &body->calls[k], body->kinds[v], count, values, values[v]);
  }
  if (body->yield.line)
    glow_debug_at(&e->debug, here, body->yield);
  for (uint32_t i = 0; i < body->nresults; i++)
    for (uint32_t j = 0; j < count; j++)
      results[i * count + j] = values[body->results[i]][j];
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
