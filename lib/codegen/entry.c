/* The entry of a program: for each piece of work, the addresses of its operands (constant offsets
 * into the arena or a buffer), then a call; If and Loop are branches around that. */
#include <stddef.h>
#include <string.h>

#include "codegen/emit.h"

typedef struct Entry {
  GlowEmitter *e;
  LLVMValueRef function;
  LLVMValueRef arena, storage, parallel, fault; /* its parameters */
  LLVMValueRef ptrs;                            /* room for the operands of one piece of work */
  LLVMValueRef zeros;                           /* NULL: no work reads zeros */
} Entry;

static void emit_list(const Entry *x, const GlowWork *work, uint32_t count);

/* ---- Addresses ------------------------------------------------------------------------------- */

static LLVMValueRef offset_by(GlowEmitter *e, LLVMValueRef base, int64_t bytes) {
  LLVMValueRef offset = glow_emit_i64(e, bytes);
  return LLVMBuildInBoundsGEP2(e->l.builder, LLVMInt8TypeInContext(e->l.llvm), base, &offset, 1,
                               "");
}

static LLVMValueRef address(const Entry *x, const GlowPlace *place) {
  GlowEmitter *e = x->e;
  LLVMBuilderRef b = e->l.builder;
  switch (place->storage) {
  case GLOW_PLACE_ABSENT:
    return LLVMConstNull(e->l.ptr);
  case GLOW_PLACE_ZEROS:
    return x->zeros;
  case GLOW_PLACE_ARENA:
    return offset_by(e, x->arena, place->offset);
  default:
    break;
  }
  LLVMValueRef index = glow_emit_i64(e, place->storage);
  LLVMValueRef slot = LLVMBuildInBoundsGEP2(b, e->l.ptr, x->storage, &index, 1, "");
  return offset_by(e, LLVMBuildLoad2(b, e->l.ptr, slot, ""), place->offset);
}

static void put_pointer(const Entry *x, uint32_t i, LLVMValueRef value) {
  GlowEmitter *e = x->e;
  LLVMValueRef index = glow_emit_i64(e, i);
  LLVMBuildStore(e->l.builder, value,
                 LLVMBuildInBoundsGEP2(e->l.builder, e->l.ptr, x->ptrs, &index, 1, ""));
}

static LLVMBasicBlockRef new_block(const Entry *x, const char *name) {
  return LLVMAppendBasicBlockInContext(x->e->l.llvm, x->function, name);
}

/* ---- Work ------------------------------------------------------------------------------------ */

/* After a kernel that may fail: a failure ends the run. */
static void emit_check(const Entry *x, const GlowWork *w) {
  GlowEmitter *e = x->e;
  LLVMBuilderRef b = e->l.builder;
  LLVMBasicBlockRef failed = new_block(x, "failed"), next = new_block(x, "next");
  LLVMValueRef at = offset_by(e, x->fault, offsetof(GlowFault, error));
  LLVMValueRef error = LLVMBuildLoad2(b, e->l.i64, at, "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, error, glow_emit_i64(e, 0), ""), failed, next);
  LLVMPositionBuilderAtEnd(b, failed);
  LLVMBuildStore(b, glow_emit_i64(e, w->source->instruction),
                 offset_by(e, x->fault, offsetof(GlowFault, instruction)));
  LLVMBuildRet(b, error);
  LLVMPositionBuilderAtEnd(b, next);
}

/* Says that a piece of work (-1: a round of a loop) is done. */
static void emit_hook(const Entry *x, const GlowWork *w, int64_t piece) {
  GlowEmitter *e = x->e;
  LLVMTypeRef types[] = {e->l.ptr, e->l.i64};
  LLVMTypeRef type = LLVMFunctionType(e->l.void_type, types, 2, 0);
  LLVMValueRef hook = LLVMGetNamedFunction(e->l.module, e->hook);
  if (!hook)
    hook = LLVMAddFunction(e->l.module, e->hook, type);
  LLVMValueRef args[] = {x->fault, glow_emit_i64(e, piece)};
  LLVMBuildCall2(e->l.builder, type, hook, args, 2, "");
  emit_check(x, w);
}

/* The process runs the instruction. */
static void emit_host(const Entry *x, const GlowWork *w) {
  GlowEmitter *e = x->e;
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef types[] = {e->l.ptr, e->l.i64}, type = LLVMFunctionType(e->l.void_type, types, 2, 0);
  LLVMValueRef step = LLVMGetNamedFunction(e->l.module, GLOW_HOST_STEP);
  if (!step)
    step = LLVMAddFunction(e->l.module, GLOW_HOST_STEP, type);
  LLVMValueRef args[] = {x->fault, glow_emit_i64(e, w->source->instruction)};
  LLVMBuildCall2(b, type, step, args, 2, "");
  emit_check(x, w);
}

/* Calls the wrapper for all units, or lets the threads share them. */
static void emit_call(const Entry *x, const GlowWork *w) {
  GlowEmitter *e = x->e;
  LLVMTypeRef ptr = e->l.ptr, i64 = e->l.i64, types[] = {ptr, ptr, ptr, i64, i64};
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->l.builder);
  LLVMValueRef wrapper = glow_emit_work(e, w);
  LLVMPositionBuilderAtEnd(e->l.builder, here);
  glow_debug_at(&e->debug, x->function, w->source->line);
  uint32_t count = 0;
  for (uint32_t i = 0; i < w->nplaces; i++)
    put_pointer(x, count++, address(x, &w->places[i]));
  for (uint32_t i = 0; i < w->noperands; i++)
    put_pointer(x, count++, address(x, &w->operands[i].place));
  if (w->faults)
    put_pointer(x, count++, x->fault);
  if (w->scratch)
    put_pointer(x, count++, offset_by(e, x->arena, e->scratch));
  if (w->shards > 1) {
    LLVMValueRef args[] = {x->parallel, wrapper, x->ptrs, glow_emit_i64(e, w->units),
                           glow_emit_i64(e, w->shards)};
    glow_emit_kernel_call(e, "glow_share", e->l.void_type, types, args, 5);
  } else {
    LLVMValueRef args[] = {x->ptrs, glow_emit_i64(e, 0), glow_emit_i64(e, w->units),
                           glow_emit_i64(e, 0)};
    LLVMBuildCall2(e->l.builder, LLVMGlobalGetValueType(wrapper), wrapper, args, 4, "");
  }
  if (w->faults)
    emit_check(x, w);
}

/* ---- Control --------------------------------------------------------------------------------- */

static LLVMValueRef load_bool(const Entry *x, const GlowPlace *place) {
  LLVMBuilderRef b = x->e->l.builder;
  LLVMTypeRef byte = LLVMInt8TypeInContext(x->e->l.llvm);
  LLVMValueRef v = LLVMBuildLoad2(b, byte, address(x, place), "");
  return LLVMBuildICmp(b, LLVMIntNE, v, LLVMConstInt(byte, 0, 0), "");
}

static void emit_if(const Entry *x, const GlowWork *w) {
  LLVMBuilderRef b = x->e->l.builder;
  LLVMBasicBlockRef then = new_block(x, "then"), otherwise = new_block(x, "else");
  LLVMBasicBlockRef after = new_block(x, "after");
  LLVMBuildCondBr(b, load_bool(x, &w->places[0]), then, otherwise);
  LLVMPositionBuilderAtEnd(b, then);
  emit_list(x, w->then.data, w->then.count);
  LLVMBuildBr(b, after);
  LLVMPositionBuilderAtEnd(b, otherwise);
  emit_list(x, w->otherwise.data, w->otherwise.count);
  LLVMBuildBr(b, after);
  LLVMPositionBuilderAtEnd(b, after);
}

static void emit_loop(const Entry *x, const GlowWork *w) {
  GlowEmitter *e = x->e;
  LLVMBuilderRef b = e->l.builder;
  const GlowPlace *trip = &w->places[0], *cond = &w->places[1], *round = &w->places[2];
  LLVMValueRef limit = glow_emit_i64(e, INT64_MAX);
  if (trip->storage != GLOW_PLACE_ABSENT)
    limit = LLVMBuildLoad2(b, e->l.i64, address(x, trip), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = new_block(x, "head");
  LLVMBasicBlockRef body = new_block(x, "body"), after = new_block(x, "after");
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef i = LLVMBuildPhi(b, e->l.i64, ""), zero = glow_emit_i64(e, 0);
  LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSLT, i, limit, "");
  if (cond->storage != GLOW_PLACE_ABSENT)
    more = LLVMBuildAnd(b, more, load_bool(x, cond), "");
  LLVMBuildCondBr(b, more, body, after);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMBuildStore(b, i, address(x, round));
  emit_list(x, w->then.data, w->then.count);
  if (e->hook)
    emit_hook(x, w, -1);
  LLVMValueRef next = LLVMBuildAdd(b, i, glow_emit_i64(e, 1), "");
  LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
  LLVMAddIncoming(i, &zero, &before, 1);
  LLVMAddIncoming(i, &next, &end, 1);
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, after);
}

static void emit_list(const Entry *x, const GlowWork *work, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    glow_debug_at(&x->e->debug, x->function, work[i].source->line);
    if (work[i].kind == GLOW_WORK_IF)
      emit_if(x, &work[i]);
    else if (work[i].kind == GLOW_WORK_LOOP)
      emit_loop(x, &work[i]);
    else if (work[i].kind == GLOW_WORK_HOST)
      emit_host(x, &work[i]);
    else
      emit_call(x, &work[i]);
    if (x->e->hook && work[i].kind != GLOW_WORK_IF && work[i].kind != GLOW_WORK_LOOP)
      emit_hook(x, &work[i], x->e->pieces++);
  }
}

/* ---- The function ---------------------------------------------------------------------------- */

/* The most addresses that a piece of work needs, and the most zeros. */
static void survey(const GlowWork *work, uint32_t count, uint32_t *operands, int64_t *zeros) {
  for (uint32_t i = 0; i < count; i++) {
    const GlowWork *w = &work[i];
    uint32_t n = w->nplaces + w->noperands + 2;
    *operands = n > *operands ? n : *operands;
    for (uint32_t k = 0; k < w->nplaces; k++) {
      const GlowPlace *p = &w->places[k];
      *zeros = p->storage == GLOW_PLACE_ZEROS && p->bytes > *zeros ? p->bytes : *zeros;
    }
    survey(w->then.data, w->then.count, operands, zeros);
    survey(w->otherwise.data, w->otherwise.count, operands, zeros);
  }
}

LLVMValueRef glow_emit_program(GlowEmitter *e, const char *symbol, const GlowWork *work,
                               uint32_t count) {
  LLVMTypeRef types[] = {e->l.ptr, e->l.ptr, e->l.ptr, e->l.ptr};
  LLVMValueRef f = glow_emit_function(e, symbol, e->l.i64, types, 4);
  LLVMSetValueName2(f, symbol, strlen(symbol));
  LLVMSetLinkage(f, LLVMExternalLinkage);
  Entry x = {e,
             .function = f,
             .arena = LLVMGetParam(f, 0),
             .storage = LLVMGetParam(f, 1),
             .parallel = LLVMGetParam(f, 2),
             .fault = LLVMGetParam(f, 3)};
  uint32_t operands = 1;
  int64_t zeros = 0;
  survey(work, count, &operands, &zeros);
  x.ptrs = LLVMBuildAlloca(e->l.builder, LLVMArrayType2(e->l.ptr, operands), "");
  if (zeros)
    x.zeros = glow_emit_zeros(e, zeros);
  emit_list(&x, work, count);
  LLVMBuildRet(e->l.builder, glow_emit_i64(e, 0));
  return f;
}
