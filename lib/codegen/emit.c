/* From work to an LLVM module.
 *
 * The entry computes the address of every operand (a constant offset into the arena or a buffer)
 * and calls one wrapper per piece of work; equal pieces share a wrapper. A wrapper calls a kernel
 * of the library with a pointer to a constant struct of parameters and is inlined with it, so the
 * loads of the parameters fold. What a kernel calls back (tiles, epilogues, bodies of stacks) is
 * handed to it as a constant function pointer and becomes a direct call. */
#include "codegen/emit.h"

#include <stdio.h>
#include <string.h>

/* ---- Helpers --------------------------------------------------------------------------------- */

LLVMValueRef glow_emit_i64(GlowEmitter *e, int64_t v) {
  return LLVMConstInt(e->l.i64, (unsigned long long)v, 1);
}

LLVMValueRef glow_emit_function(GlowEmitter *e, const char *what, LLVMTypeRef result,
                                const LLVMTypeRef *params, uint32_t count) {
  char name[64];
  snprintf(name, sizeof name, "%s.%u", what, e->names++);
  LLVMTypeRef type = LLVMFunctionType(result, (LLVMTypeRef *)params, count, 0);
  LLVMValueRef function = LLVMAddFunction(e->l.module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  glow_llvm_function_attributes(&e->l, function);
  LLVMPositionBuilderAtEnd(e->l.builder, LLVMAppendBasicBlockInContext(e->l.llvm, function, ""));
  return function;
}

static void set_inline(GlowEmitter *e, LLVMValueRef function) {
  LLVMAddAttributeAtIndex(function, GLOW_LLVM_FUNCTION, glow_llvm_attribute(&e->l, "alwaysinline"));
}

LLVMValueRef glow_emit_kernel_call(GlowEmitter *e, const char *name, LLVMTypeRef result,
                                   const LLVMTypeRef *types, const LLVMValueRef *args,
                                   uint32_t count) {
  LLVMTypeRef type = LLVMFunctionType(result, (LLVMTypeRef *)types, count, 0);
  LLVMValueRef kernel = LLVMGetNamedFunction(e->l.module, name);
  if (!kernel)
    kernel = LLVMAddFunction(e->l.module, name, type);
  LLVMValueRef call = LLVMBuildCall2(e->l.builder, type, kernel, (LLVMValueRef *)args, count, "");
  LLVMAddCallSiteAttribute(call, GLOW_LLVM_FUNCTION, glow_llvm_attribute(&e->l, "alwaysinline"));
  return call;
}

LLVMValueRef glow_emit_constant(GlowEmitter *e, const void *data, size_t bytes) {
  LLVMValueRef init = LLVMConstStringInContext2(e->l.llvm, data, bytes, 1 /* no terminating NUL */);
  LLVMValueRef global = LLVMAddGlobal(e->l.module, LLVMTypeOf(init), "");
  LLVMSetInitializer(global, init);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  LLVMSetAlignment(global, 64);
  return global;
}

/* `count` zero floats that nothing writes. */
static LLVMValueRef zero_floats(GlowEmitter *e, int64_t count) {
  LLVMTypeRef type = LLVMArrayType2(e->l.f32, (uint64_t)count);
  LLVMValueRef global = LLVMAddGlobal(e->l.module, type, "");
  LLVMSetInitializer(global, LLVMConstNull(type));
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  LLVMSetAlignment(global, 64);
  return global;
}

/* ---- Operands of bodies ---------------------------------------------------------------------- */

/* Lanes below `count`, a value that may vary. */
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

static LLVMValueRef load_vector(GlowEmitter *e, LLVMValueRef at, LLVMValueRef mask) {
  LLVMBuilderRef b = e->l.builder;
  if (!mask) {
    LLVMValueRef v = LLVMBuildLoad2(b, e->l.vec, at, "");
    LLVMSetAlignment(v, 4);
    return v;
  }
  LLVMTypeRef types[] = {e->l.vec, e->l.ptr};
  LLVMValueRef f = intrinsic(e, "llvm.masked.load", types, 2);
  LLVMValueRef args[] = {at, LLVMConstInt(e->l.i32, 4, 0), mask, LLVMConstNull(e->l.vec)};
  return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, 4, "");
}

static void store_vector(GlowEmitter *e, LLVMValueRef v, LLVMValueRef at, LLVMValueRef mask) {
  LLVMBuilderRef b = e->l.builder;
  if (!mask) {
    LLVMSetAlignment(LLVMBuildStore(b, v, at), 4);
    return;
  }
  LLVMTypeRef types[] = {e->l.vec, e->l.ptr};
  LLVMValueRef f = intrinsic(e, "llvm.masked.store", types, 2);
  LLVMValueRef args[] = {v, at, LLVMConstInt(e->l.i32, 4, 0), mask};
  LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, 4, "");
}

/* The address of operand i of the environment at a place. */
static LLVMValueRef operand_address(GlowEmitter *e, const GlowOperand *o, uint32_t i,
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
  return LLVMBuildInBoundsGEP2(b, e->l.f32, base, &offset, 1, "");
}

static LLVMValueRef load_operand(GlowEmitter *e, LLVMValueRef at, bool broadcast,
                                 LLVMValueRef mask) {
  LLVMBuilderRef b = e->l.builder;
  if (!broadcast)
    return load_vector(e, at, mask);
  LLVMValueRef v = LLVMBuildLoad2(b, e->l.f32, at, "");
  LLVMValueRef one =
      LLVMBuildInsertElement(b, LLVMGetUndef(e->l.vec), v, LLVMConstInt(e->l.i32, 0, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->l.i32, e->l.isa->vl));
  return LLVMBuildShuffleVector(b, one, LLVMGetUndef(e->l.vec), zeros, "");
}

/* ---- Convolution ----------------------------------------------------------------------------- */

/* GlowEpilogueFn of lib/kernels/cpu/vector.h. */
static LLVMValueRef emit_epilogue(GlowEmitter *e, const GlowWork *w) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef i64 = e->l.i64, types[] = {e->l.vec, e->l.ptr, i64, i64, i64, i64};
  LLVMValueRef f = glow_emit_function(e, "epilogue", e->l.vec, types, 6);
  set_inline(e, f);
  LLVMValueRef acc = LLVMGetParam(f, 0), env = LLVMGetParam(f, 1), channel = LLVMGetParam(f, 3);
  if (!w->body.block && !w->body.node) {
    LLVMBuildRet(b, acc);
    return f;
  }
  LLVMValueRef place[] = {LLVMGetParam(f, 2), LLVMBuildLShr(b, channel, glow_emit_i64(e, 4), ""),
                          LLVMGetParam(f, 4), LLVMGetParam(f, 5),
                          LLVMBuildAnd(b, channel, glow_emit_i64(e, GLOW_CONV_BLOCK - 1), "")};
  LLVMValueRef *params = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->noperands + 1);
  params[0] = acc;
  for (uint32_t i = 0; i < w->noperands; i++) {
    const GlowOperand *o = &w->operands[i];
    LLVMValueRef mask = NULL, at = operand_address(e, o, i, env, place, 5);
    if (o->stride[4] && o->channels % e->l.isa->vl)
      mask = lane_mask(e, LLVMBuildSub(b, glow_emit_i64(e, o->channels), channel, ""));
    params[i + 1] = load_operand(e, at, !o->stride[4], mask);
  }
  LLVMValueRef result;
  glow_emit_body(e, &w->body, params, &result);
  LLVMBuildRet(b, result);
  return f;
}

/* One tile size with the parameters and the epilogue of a convolution: GlowConvTileFn. */
static LLVMValueRef emit_tile(GlowEmitter *e, const int64_t size[3], LLVMValueRef params,
                              LLVMValueRef epilogue, uint32_t noalias) {
  LLVMTypeRef p = e->l.ptr, i64 = e->l.i64;
  LLVMTypeRef types[] = {p, p, p, p, p, p, p, p, i64, i64, i64};
  LLVMValueRef f = glow_emit_function(e, "tile", e->l.void_type, types + 2, 9), args[11];
  for (uint32_t i = 0; i < 4; i++) {
    if (noalias >> i & 1u)
      LLVMAddAttributeAtIndex(f, i + 1, glow_llvm_attribute(&e->l, "noalias"));
  }
  args[0] = params;
  args[1] = epilogue;
  for (uint32_t i = 0; i < 9; i++)
    args[i + 2] = LLVMGetParam(f, i);
  char name[64];
  snprintf(name, sizeof name, "glow_conv_tile_%dx%dx%d", (int)size[0], (int)size[1], (int)size[2]);
  glow_emit_kernel_call(e, name, e->l.void_type, types, args, 11);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* Whether a window can leave the input at the top or bottom, or at the sides. */
static bool reads_padding(const GlowConvParams *p) {
  int64_t bottom = (p->oh - 1) * p->sh - p->pt + (p->kh - 1) * p->dh;
  return p->pt > 0 || bottom >= p->ih || p->left || p->right;
}

/* The environment of a body: an array of the wrapper's parameters from `first` on. */
static LLVMValueRef emit_env(GlowEmitter *e, LLVMValueRef wrapper, uint32_t first, uint32_t count) {
  LLVMBuilderRef b = e->l.builder;
  if (!count)
    return LLVMConstNull(e->l.ptr);
  LLVMValueRef env = LLVMBuildAlloca(b, LLVMArrayType2(e->l.ptr, count), "");
  for (uint32_t i = 0; i < count; i++) {
    LLVMValueRef index = glow_emit_i64(e, i);
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(b, e->l.ptr, env, &index, 1, "");
    LLVMBuildStore(b, LLVMGetParam(wrapper, first + i), slot);
  }
  return env;
}

/* Parameters of the wrapper: to, from, filter, bias, then the epilogue's operands. */
static LLVMValueRef emit_conv(GlowEmitter *e, const GlowWork *w, uint32_t noalias) {
  const GlowConvParams *p = &w->params.conv;
  LLVMValueRef params = glow_emit_constant(e, p, sizeof *p);
  LLVMValueRef null = LLVMConstNull(e->l.ptr), tiles[4] = {null, null, null, null};
  LLVMValueRef epilogue = emit_epilogue(e, w);
  int64_t groups = (p->oc + p->ob - 1) / p->ob, vectors = p->ob / e->l.isa->vl;
  int64_t left = p->oc - (groups - 1) * p->ob;
  bool odd = p->ob > GLOW_CONV_BLOCK && left <= GLOW_CONV_BLOCK;
  int64_t rest = p->rows % p->tile_rows;
  for (int i = 0; i < 4; i++) {
    bool small = i % 2;
    int64_t size[] = {small && rest ? rest : p->tile_rows, p->tile_cols - (small && p->narrow),
                      i < 2 ? vectors : GLOW_CONV_BLOCK / e->l.isa->vl};
    if ((!small || rest || p->narrow) && (i < 2 ? groups > odd : odd))
      tiles[i] = emit_tile(e, size, params, epilogue, noalias);
  }
  LLVMTypeRef types[11];
  for (uint32_t i = 0; i < 11; i++)
    types[i] = e->l.ptr;
  GLOW_CHECK(e->l.ctx, w->noperands <= GLOW_MAX_RANK, "an epilogue has few operands");
  LLVMTypeRef ptrs[4 + GLOW_MAX_RANK];
  for (uint32_t i = 0; i < 4 + w->noperands; i++)
    ptrs[i] = e->l.ptr;
  LLVMValueRef f = glow_emit_function(e, "convolution", e->l.void_type, ptrs, 4 + w->noperands);
  LLVMValueRef zeros =
      reads_padding(p) ? zero_floats(e, (p->tile_cols - 1) * p->sw * p->xw + 16) : null;
  LLVMValueRef args[11] = {params,
                           tiles[0],
                           tiles[1],
                           tiles[2],
                           tiles[3],
                           LLVMGetParam(f, 0),
                           LLVMGetParam(f, 1),
                           LLVMGetParam(f, 2),
                           LLVMGetParam(f, 3),
                           zeros,
                           emit_env(e, f, 4, w->noperands)};
  glow_emit_kernel_call(e, "glow_conv", e->l.void_type, types, args, 11);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* ---- Stacks and moves ------------------------------------------------------------------------ */

/* GlowStackFn of lib/kernels/cpu/stack.c: one vector, or the last `lanes` elements. */
static LLVMValueRef emit_step(GlowEmitter *e, const GlowWork *w, uint32_t lanes) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef types[1 + GLOW_STACK_DIMS] = {e->l.ptr};
  for (uint32_t i = 0; i < GLOW_STACK_DIMS; i++)
    types[i + 1] = e->l.i64;
  LLVMValueRef f = glow_emit_function(e, "step", e->l.void_type, types, 1 + GLOW_STACK_DIMS);
  set_inline(e, f);
  LLVMValueRef place[GLOW_STACK_DIMS];
  for (uint32_t i = 0; i < GLOW_STACK_DIMS; i++)
    place[i] = LLVMGetParam(f, i + 1);
  LLVMValueRef mask = lanes ? lane_mask(e, glow_emit_i64(e, lanes)) : NULL;
  uint32_t nins = w->noperands - w->nouts;
  LLVMValueRef *at = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->noperands);
  LLVMValueRef *in = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, nins);
  LLVMValueRef *out = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->nouts);
  for (uint32_t i = 0; i < w->noperands; i++)
    at[i] = operand_address(e, &w->operands[i], i, LLVMGetParam(f, 0), place, GLOW_STACK_DIMS);
  for (uint32_t i = 0; i < nins; i++) {
    const GlowOperand *o = &w->operands[w->nouts + i];
    in[i] = load_operand(e, at[w->nouts + i], !o->stride[GLOW_STACK_DIMS - 1], mask);
  }
  glow_emit_body(e, &w->body, in, out);
  for (uint32_t i = 0; i < w->nouts; i++)
    store_vector(e, out[i], at[i], mask);
  LLVMBuildRetVoid(b);
  return f;
}

static LLVMValueRef emit_stack(GlowEmitter *e, const GlowWork *w) {
  const GlowStackParams *p = &w->params.stack;
  LLVMTypeRef ptr = e->l.ptr, types[] = {ptr, ptr, ptr, ptr};
  int64_t n = p->n[GLOW_STACK_DIMS - 1], vl = e->l.isa->vl;
  LLVMValueRef step = n >= vl ? emit_step(e, w, 0) : LLVMConstNull(ptr);
  LLVMValueRef rest = n % vl ? emit_step(e, w, (uint32_t)(n % vl)) : LLVMConstNull(ptr);
  LLVMTypeRef *ptrs = GLOW_NEW_ARRAY(e->arena, LLVMTypeRef, w->noperands);
  for (uint32_t i = 0; i < w->noperands; i++)
    ptrs[i] = ptr;
  LLVMValueRef f = glow_emit_function(e, "stack", e->l.void_type, ptrs, w->noperands);
  LLVMValueRef args[] = {glow_emit_constant(e, p, sizeof *p), step, rest,
                         emit_env(e, f, 0, w->noperands)};
  glow_emit_kernel_call(e, "glow_stack", e->l.void_type, types, args, 4);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

static LLVMValueRef emit_move(GlowEmitter *e, const GlowWork *w) {
  bool move = w->kind == GLOW_WORK_MOVE;
  uint32_t count = move ? 2 : 1;
  LLVMTypeRef types[] = {e->l.ptr, e->l.ptr, e->l.ptr};
  LLVMValueRef f = glow_emit_function(e, move ? "move" : "zero", e->l.void_type, types, count);
  LLVMValueRef args[3] = {glow_emit_constant(e, &w->params.move, sizeof w->params.move),
                          LLVMGetParam(f, 0)};
  if (move)
    args[2] = LLVMGetParam(f, 1);
  glow_emit_kernel_call(e, move ? "glow_move" : "glow_zero", e->l.void_type, types, args,
                        count + 1);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* ---- The program ----------------------------------------------------------------------------- */

static bool disjoint(const GlowPlace *a, const GlowPlace *b) {
  return a->storage != b->storage || a->offset + a->bytes <= b->offset ||
         b->offset + b->bytes <= a->offset;
}

/* Which of a convolution's inputs no store can change: bit i for pointer i of a tile. */
static uint32_t conv_noalias(const GlowWork *w) {
  uint32_t mask = 0;
  mask |= disjoint(&w->to, &w->from) ? 2u : 0;
  mask |= disjoint(&w->to, &w->filter) ? 4u : 0;
  mask |= w->params.conv.bias && disjoint(&w->to, &w->bias) ? 8u : 0;
  return mask;
}

/* Everything that the wrapper's code depends on. */
static void work_key(const GlowWork *w, uint32_t noalias, GlowText *key) {
  glow_text_bytes(key, &w->kind, sizeof w->kind);
  glow_text_bytes(key, &noalias, sizeof noalias);
  switch (w->kind) {
  case GLOW_WORK_CONV:
    glow_text_bytes(key, &w->params.conv, sizeof w->params.conv);
    break;
  case GLOW_WORK_MOVE:
  case GLOW_WORK_ZERO:
    glow_text_bytes(key, &w->params.move, sizeof w->params.move);
    break;
  case GLOW_WORK_STACK:
    glow_text_bytes(key, &w->params.stack, sizeof w->params.stack);
    break;
  }
  for (uint32_t i = 0; i < w->noperands; i++) {
    glow_text_bytes(key, w->operands[i].stride, sizeof w->operands[i].stride);
    glow_text_bytes(key, &w->operands[i].channels, sizeof w->operands[i].channels);
  }
  glow_text_bytes(key, &w->nouts, sizeof w->nouts);
  glow_body_key(&w->body, key);
}

static uint64_t hash_bytes(const char *data, size_t size) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; i++)
    h = (h ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
  return h;
}

static LLVMValueRef emit_wrapper(GlowEmitter *e, const GlowWork *w, uint32_t noalias) {
  switch (w->kind) {
  case GLOW_WORK_CONV:
    return emit_conv(e, w, noalias);
  case GLOW_WORK_MOVE:
  case GLOW_WORK_ZERO:
    return emit_move(e, w);
  case GLOW_WORK_STACK:
    return emit_stack(e, w);
  }
  return NULL;
}

/* The wrapper of a piece of work: an equal one's, or a new one. */
static LLVMValueRef wrapper_for(GlowEmitter *e, const GlowWork *w) {
  uint32_t noalias = w->kind == GLOW_WORK_CONV ? conv_noalias(w) : 0;
  GlowText key;
  glow_text_init(&key, e->l.ctx);
  GlowDefer defer;
  glow_defer_push(e->l.ctx, &defer, glow_text_release_fn, &key);
  work_key(w, noalias, &key);
  GlowShared s = {.hash = hash_bytes(key.data, key.size), .size = key.size};
  for (uint32_t i = 0; i < e->shared.count && !s.function; i++) {
    const GlowShared *o = &e->shared.data[i];
    if (o->hash == s.hash && o->size == s.size && memcmp(o->key, key.data, s.size) == 0)
      s.function = o->function;
  }
  if (!s.function) {
    s.key = glow_arena_copy(e->arena, key.data, key.size);
    s.function = emit_wrapper(e, w, noalias);
    glow_vec_push(e->arena, &e->shared, s);
  }
  glow_defer_pop(e->l.ctx, &defer, true);
  return s.function;
}

static LLVMValueRef address(GlowEmitter *e, LLVMValueRef entry, const GlowPlace *place) {
  LLVMBuilderRef b = e->l.builder;
  LLVMValueRef base = LLVMGetParam(entry, 0), offset = glow_emit_i64(e, place->offset);
  if (place->storage >= 0) {
    LLVMValueRef index = glow_emit_i64(e, place->storage);
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(b, e->l.ptr, LLVMGetParam(entry, 1), &index, 1, "");
    base = LLVMBuildLoad2(b, e->l.ptr, slot, "");
  }
  LLVMTypeRef byte = LLVMInt8TypeInContext(e->l.llvm);
  return LLVMBuildInBoundsGEP2(b, byte, base, &offset, 1, "");
}

static void emit_call(GlowEmitter *e, LLVMValueRef entry, const GlowWork *w, LLVMValueRef wrapper) {
  LLVMValueRef *args = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, 4 + w->noperands);
  uint32_t count = 0;
  if (w->kind != GLOW_WORK_STACK)
    args[count++] = address(e, entry, &w->to);
  if (w->kind == GLOW_WORK_CONV || w->kind == GLOW_WORK_MOVE)
    args[count++] = address(e, entry, &w->from);
  if (w->kind == GLOW_WORK_CONV) {
    args[count++] = address(e, entry, &w->filter);
    args[count++] = w->params.conv.bias ? address(e, entry, &w->bias) : LLVMConstNull(e->l.ptr);
  }
  for (uint32_t i = 0; i < w->noperands; i++)
    args[count++] = address(e, entry, &w->operands[i].place);
  LLVMBuildCall2(e->l.builder, LLVMGlobalGetValueType(wrapper), wrapper, args, count, "");
}

void glow_emit_program(GlowEmitter *e, const GlowWork *work, uint32_t count) {
  LLVMValueRef *wrappers = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, count);
  for (uint32_t i = 0; i < count; i++)
    wrappers[i] = wrapper_for(e, &work[i]);
  LLVMTypeRef types[] = {e->l.ptr, e->l.ptr};
  LLVMValueRef entry = glow_emit_function(e, "entry", e->l.void_type, types, 2);
  LLVMSetValueName2(entry, GLOW_CODE_ENTRY, strlen(GLOW_CODE_ENTRY));
  LLVMSetLinkage(entry, LLVMExternalLinkage);
  for (uint32_t i = 0; i < count; i++)
    emit_call(e, entry, &work[i], wrappers[i]);
  LLVMBuildRetVoid(e->l.builder);
}
