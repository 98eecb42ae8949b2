/* Operands of bodies in memory: addresses, loads and stores of lanes of any kind. */
#include <string.h>

#include "codegen/emit.h"

LLVMTypeRef glow_emit_element_type(GlowEmitter *e, GlowKind kind) {
  if (kind == GLOW_KIND_FLOAT)
    return e->l.f32;
  if (kind == GLOW_KIND_DOUBLE)
    return LLVMDoubleTypeInContext(e->l.llvm);
  return LLVMIntTypeInContext(e->l.llvm, glow_kind_info[kind].bits);
}

static LLVMTypeRef lanes_type(GlowEmitter *e, GlowKind kind) {
  return LLVMVectorType(glow_emit_element_type(e, kind), e->l.isa->vl);
}

static unsigned alignment(GlowKind kind) { return glow_kind_info[kind].bits / 8; }

/* Lanes below `count`. */
static LLVMValueRef lane_mask(GlowEmitter *e, LLVMValueRef count) {
  LLVMBuilderRef b = e->l.builder;
  LLVMValueRef lanes[64];
  for (uint32_t i = 0; i < e->l.isa->vl; i++)
    lanes[i] = glow_emit_i64(e, i);
  LLVMValueRef index = LLVMConstVector(lanes, e->l.isa->vl);
  LLVMValueRef one = LLVMBuildInsertElement(b, LLVMGetUndef(LLVMTypeOf(index)), count,
                                            LLVMConstInt(e->l.i32, 0, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->l.i32, e->l.isa->vl));
  LLVMValueRef all = LLVMBuildShuffleVector(b, one, LLVMGetUndef(LLVMTypeOf(index)), zeros, "");
  return LLVMBuildICmp(b, LLVMIntSLT, index, all, "");
}

static LLVMValueRef intrinsic(GlowEmitter *e, const char *name, LLVMTypeRef *types, size_t count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  GLOW_CHECK(e->l.ctx, id != 0, "the intrinsic exists");
  return LLVMGetIntrinsicDeclaration(e->l.module, id, types, count);
}

static LLVMValueRef masked_load(GlowEmitter *e, GlowKind kind, LLVMValueRef at,
                                LLVMValueRef count) {
  LLVMTypeRef types[] = {lanes_type(e, kind), e->l.ptr};
  LLVMValueRef f = intrinsic(e, "llvm.masked.load", types, 2);
  LLVMValueRef args[] = {at, LLVMConstInt(e->l.i32, alignment(kind), 0), lane_mask(e, count),
                         LLVMConstNull(types[0])};
  return LLVMBuildCall2(e->l.builder, LLVMGlobalGetValueType(f), f, args, 4, "");
}

static void masked_store(GlowEmitter *e, GlowKind kind, LLVMValueRef v, LLVMValueRef at,
                         LLVMValueRef count) {
  LLVMTypeRef types[] = {lanes_type(e, kind), e->l.ptr};
  LLVMValueRef f = intrinsic(e, "llvm.masked.store", types, 2);
  LLVMValueRef args[] = {v, at, LLVMConstInt(e->l.i32, alignment(kind), 0), lane_mask(e, count)};
  LLVMBuildCall2(e->l.builder, LLVMGlobalGetValueType(f), f, args, 4, "");
}

LLVMValueRef glow_emit_operand_address(GlowEmitter *e, const GlowOperand *o, uint32_t i,
                                       LLVMValueRef env, const LLVMValueRef *place, uint32_t dims) {
  LLVMBuilderRef b = e->l.builder;
  LLVMValueRef slot_index = glow_emit_i64(e, i);
  LLVMValueRef slot = LLVMBuildInBoundsGEP2(b, e->l.ptr, env, &slot_index, 1, "");
  LLVMValueRef base = LLVMBuildLoad2(b, e->l.ptr, slot, "");
  LLVMValueRef offset = glow_emit_i64(e, 0);
  for (uint32_t d = 0; d < dims; d++) {
    if (!o->stride[d])
      continue;
    LLVMValueRef step = LLVMBuildMul(b, place[d], glow_emit_i64(e, o->stride[d]), "");
    offset = LLVMBuildAdd(b, offset, step, "");
  }
  return LLVMBuildInBoundsGEP2(b, glow_emit_element_type(e, o->kind), base, &offset, 1, "");
}

static LLVMValueRef lane_address(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at,
                                 int64_t stride, uint32_t lane) {
  LLVMValueRef offset = glow_emit_i64(e, stride * lane);
  return LLVMBuildInBoundsGEP2(e->l.builder, glow_emit_element_type(e, o->kind), at, &offset, 1,
                               "");
}

LLVMValueRef glow_emit_load(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at, int64_t stride,
                            uint32_t lanes) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef type = glow_emit_element_type(e, o->kind), vector = lanes_type(e, o->kind);
  if (stride == 1) {
    if (lanes < e->l.isa->vl)
      return masked_load(e, o->kind, at, glow_emit_i64(e, lanes));
    LLVMValueRef v = LLVMBuildLoad2(b, vector, at, "");
    LLVMSetAlignment(v, alignment(o->kind));
    return v;
  }
  /* Lanes that are not there get a value, since a body computes on all of them. */
  LLVMValueRef v = LLVMConstNull(vector);
  for (uint32_t l = 0; l < (stride ? lanes : 1); l++) {
    LLVMValueRef x = LLVMBuildLoad2(b, type, lane_address(e, o, at, stride, l), "");
    v = LLVMBuildInsertElement(b, v, x, LLVMConstInt(e->l.i32, l, 0), "");
  }
  if (stride)
    return v;
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->l.i32, e->l.isa->vl));
  return LLVMBuildShuffleVector(b, v, LLVMGetUndef(vector), zeros, "");
}

void glow_emit_store(GlowEmitter *e, const GlowOperand *o, LLVMValueRef v, LLVMValueRef at,
                     int64_t stride, uint32_t lanes) {
  LLVMBuilderRef b = e->l.builder;
  if (stride == 1 && lanes == e->l.isa->vl) {
    LLVMSetAlignment(LLVMBuildStore(b, v, at), alignment(o->kind));
  } else if (stride == 1) {
    masked_store(e, o->kind, v, at, glow_emit_i64(e, lanes));
  } else {
    for (uint32_t l = 0; l < lanes; l++) {
      LLVMValueRef x = LLVMBuildExtractElement(b, v, LLVMConstInt(e->l.i32, l, 0), "");
      LLVMBuildStore(b, x, lane_address(e, o, at, stride, l));
    }
  }
}

LLVMValueRef glow_emit_load_below(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at,
                                  LLVMValueRef count) {
  return masked_load(e, o->kind, at, count);
}
