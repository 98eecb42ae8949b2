/* From pieces of work to functions, which program.c lists.
 *
 * Equal pieces share a wrapper. A wrapper calls a kernel of the library with a pointer to a
 * constant struct of parameters. The kernel is inlined into it, so the loads of the parameters
 * fold. What a kernel calls back (tiles, epilogues, bodies of stacks) is handed to it as a constant
 * function pointer and becomes a direct call. */
#include "codegen/emit.h"
#include "kernels/params.h"

#include <string.h>

/* ---- Helpers --------------------------------------------------------------------------------- */

LLVMValueRef glow_emit_i64(GlowEmitter *e, int64_t v) {
  return LLVMConstInt(e->l.i64, (unsigned long long)v, 1);
}

LLVMValueRef glow_emit_function(GlowEmitter *e, const char *what, LLVMTypeRef result,
                                const LLVMTypeRef *params, uint32_t count) {
  const char *name = glow_arena_printf(e->arena, "%s.%u", what, e->names++);
  if (e->debug.builder && e->debug.source)
    name = glow_arena_printf(e->arena, "%s:%s", name, e->debug.source->name);
  LLVMTypeRef type = LLVMFunctionType(result, (LLVMTypeRef *)params, count, 0);
  LLVMValueRef function = LLVMAddFunction(e->l.module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  glow_llvm_function_attributes(&e->l, function);
  LLVMPositionBuilderAtEnd(e->l.builder, LLVMAppendBasicBlockInContext(e->l.llvm, function, ""));
  glow_debug_function(&e->debug, function, e->debug.source ? name : what);
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

LLVMValueRef glow_emit_global(GlowEmitter *e, LLVMValueRef init, const char *name) {
  LLVMValueRef global = LLVMAddGlobal(e->l.module, LLVMTypeOf(init), name);
  LLVMSetInitializer(global, init);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  return global;
}

LLVMValueRef glow_emit_constant(GlowEmitter *e, const void *data, size_t bytes) {
  LLVMValueRef init = LLVMConstStringInContext2(e->l.llvm, data, bytes, 1 /* no terminating NUL */);
  LLVMValueRef global = glow_emit_global(e, init, "");
  LLVMSetAlignment(global, 64);
  return global;
}

LLVMValueRef glow_emit_table(GlowEmitter *e, const void *data, size_t bytes) {
  return bytes ? glow_emit_constant(e, data, bytes) : LLVMConstNull(e->l.ptr);
}

LLVMValueRef glow_emit_zeros(GlowEmitter *e, int64_t bytes) {
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(e->l.llvm), (uint64_t)bytes);
  LLVMValueRef global = glow_emit_global(e, LLVMConstNull(type), "");
  LLVMSetAlignment(global, 64);
  return global;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* A place: the coordinates that the strides of an epilogue's operands count along. */
typedef struct EpiloguePlace {
  uint32_t params, dims; /* integers that the epilogue gets; coordinates that are made of them */
  LLVMValueRef at[GLOW_OPERAND_DIMS];
  LLVMValueRef lane; /* the first channel or column */
} EpiloguePlace;

/* GlowEpilogueFn of kernels.ops: image, channel, row, column. */
static void blocked_place(GlowEmitter *e, LLVMValueRef f, EpiloguePlace *p) {
  LLVMBuilderRef b = e->l.builder;
  p->lane = LLVMGetParam(f, 3);
  p->at[0] = LLVMGetParam(f, 2);
  p->at[1] = LLVMBuildLShr(b, p->lane, glow_emit_i64(e, 4), "");
  p->at[2] = LLVMGetParam(f, 4);
  p->at[3] = LLVMGetParam(f, 5);
  p->at[4] = LLVMBuildAnd(b, p->lane, glow_emit_i64(e, GLOW_CONV_BLOCK - 1), "");
}

/* GlowMatrixEpilogueFn of kernels.ops: batch indices, row, column. */
static void matrix_place(LLVMValueRef f, EpiloguePlace *p) {
  for (uint32_t d = 0; d < p->dims; d++)
    p->at[d] = LLVMGetParam(f, 2 + d);
  p->lane = p->at[p->dims - 1];
}

static LLVMValueRef emit_epilogue(GlowEmitter *e, const GlowWork *w) {
  LLVMBuilderRef b = e->l.builder;
  bool matrix = w->form == GLOW_BODY_MATRIX;
  EpiloguePlace p = {.params = matrix ? GLOW_MATRIX_EPILOGUE_INTS : GLOW_EPILOGUE_INTS,
                     .dims = matrix ? GLOW_MATRIX_EPILOGUE_INTS : 5};
  LLVMTypeRef types[2 + GLOW_OPERAND_DIMS] = {e->l.vec, e->l.ptr};
  for (uint32_t d = 0; d < p.params; d++)
    types[2 + d] = e->l.i64;
  LLVMValueRef f = glow_emit_function(e, "epilogue", e->l.vec, types, 2 + p.params);
  set_inline(e, f);
  LLVMValueRef acc = LLVMGetParam(f, 0), env = LLVMGetParam(f, 1);
  if (!w->body.nresults) {
    LLVMBuildRet(b, acc);
    return f;
  }
  if (matrix)
    matrix_place(f, &p);
  else
    blocked_place(e, f, &p);
  LLVMValueRef *params = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->noperands + 1);
  params[0] = acc;
  for (uint32_t i = 0; i < w->noperands; i++) {
    const GlowOperand *o = &w->operands[i];
    LLVMValueRef at = glow_emit_operand_address(e, o, i + !e->bare, env, p.at, p.dims);
    int64_t last = o->stride[p.dims - 1];
    if (last && o->channels % e->l.isa->vl)
      params[i + 1] = glow_emit_load_below(
          e, o, at, LLVMBuildSub(b, glow_emit_i64(e, o->channels), p.lane, ""));
    else
      params[i + 1] = glow_emit_load(e, o, at, last, e->l.isa->vl);
  }
  LLVMValueRef result;
  glow_emit_body(e, &w->body, 1, params, &result);
  LLVMBuildRet(b, result);
  return f;
}

/* Where operand i of a stack's step is. The part that the innermost loop does not change is an
 * address of its own, which leaves that loop. */
static LLVMValueRef step_address(GlowEmitter *e, const GlowOperand *o, uint32_t i, LLVMValueRef env,
                                 const LLVMValueRef *place) {
  const uint32_t last = GLOW_STACK_DIMS - 1;
  LLVMValueRef row = glow_emit_operand_address(e, o, i, env, place, last);
  LLVMValueRef offset =
      LLVMBuildMul(e->l.builder, place[last], glow_emit_i64(e, o->stride[last]), "");
  return LLVMBuildInBoundsGEP2(e->l.builder, glow_emit_element_type(e, o->kind), row, &offset, 1,
                               "");
}

static bool disjoint(const GlowPlace *a, const GlowPlace *b) {
  return a->storage != b->storage || a->offset + a->bytes <= b->offset ||
         b->offset + b->bytes <= a->offset;
}

/* The operands of a stack that are the same for all elements of a row, and that it does not write:
 * bit i for operand i. */
static uint32_t fixed_operands(const GlowWork *w) {
  uint32_t mask = 0;
  for (uint32_t i = w->nouts; w->form == GLOW_BODY_STEPS && i < w->noperands && i < 32; i++) {
    bool fixed = !w->operands[i].stride[GLOW_STACK_DIMS - 1];
    for (uint32_t k = 0; k < w->nouts; k++)
      fixed = fixed && disjoint(&w->operands[k].place, &w->operands[i].place);
    mask |= fixed ? 1u << i : 0;
  }
  return mask;
}

/* LLVM's metadata by which loads and stores of a function are told apart: a list of one scope. */
static LLVMValueRef alias_scope(GlowEmitter *e, LLVMValueRef f) {
  size_t size;
  const char *name = LLVMGetValueName2(f, &size);
  LLVMMetadataRef domain = LLVMMDStringInContext2(e->l.llvm, "steps", 5), scope[2];
  scope[0] = LLVMMDStringInContext2(e->l.llvm, name, size);
  scope[1] = LLVMMDNodeInContext2(e->l.llvm, &domain, 1);
  scope[0] = LLVMMDNodeInContext2(e->l.llvm, scope, 2);
  return LLVMMetadataAsValue(e->l.llvm, LLVMMDNodeInContext2(e->l.llvm, scope, 1));
}

/* Gives the instructions behind `before` that access memory a list of scopes: of those that they
 * are in ("alias.scope"), or of those in which nothing aliases them ("noalias"). */
static void set_scope(GlowEmitter *e, LLVMValueRef before, const char *kind, LLVMValueRef scope) {
  unsigned id = LLVMGetMDKindIDInContext(e->l.llvm, kind, (unsigned)strlen(kind));
  for (LLVMValueRef i = LLVMGetNextInstruction(before); i; i = LLVMGetNextInstruction(i)) {
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMLoad || op == LLVMStore || op == LLVMCall)
      LLVMSetMetadata(i, id, scope);
  }
}

/* Vector j of operand o, and how many of its lanes are among the next `lanes`. */
static LLVMValueRef vector_at(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at, uint32_t j,
                              uint32_t lanes, uint32_t *count) {
  uint32_t vl = e->l.isa->vl, before = j * vl;
  LLVMValueRef offset = glow_emit_i64(e, before * o->stride[GLOW_STACK_DIMS - 1]);
  *count = lanes - before < vl ? lanes - before : vl;
  return j ? LLVMBuildInBoundsGEP2(e->l.builder, glow_emit_element_type(e, o->kind), at, &offset, 1,
                                   "")
           : at;
}

/* GlowStackFn of kernels.ops: the next `lanes` elements, at most GLOW_BODY_TURN vectors. */
static LLVMValueRef emit_step(GlowEmitter *e, const GlowWork *w, uint32_t lanes) {
  LLVMTypeRef types[1 + GLOW_STACK_DIMS] = {e->l.ptr};
  for (uint32_t i = 0; i < GLOW_STACK_DIMS; i++)
    types[i + 1] = e->l.i64;
  LLVMValueRef f = glow_emit_function(e, "step", e->l.void_type, types, 1 + GLOW_STACK_DIMS);
  set_inline(e, f);
  LLVMValueRef place[GLOW_STACK_DIMS];
  for (uint32_t i = 0; i < GLOW_STACK_DIMS; i++)
    place[i] = LLVMGetParam(f, i + 1);
  uint32_t nins = w->noperands - w->nouts, count = (lanes + e->l.isa->vl - 1) / e->l.isa->vl, n;
  LLVMValueRef *at = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->noperands);
  LLVMValueRef *in = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, (size_t)nins * count);
  LLVMValueRef *out = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, (size_t)w->nouts * count);
  for (uint32_t i = 0; i < w->noperands; i++)
    at[i] = step_address(e, &w->operands[i], i + !e->bare, LLVMGetParam(f, 0), place);
  const uint32_t fixed = fixed_operands(w);
  LLVMValueRef scope = alias_scope(e, f), last, v;
  LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(f);
  for (uint32_t i = 0; i < nins; i++) {
    const GlowOperand *o = &w->operands[w->nouts + i];
    const int64_t stride = o->stride[GLOW_STACK_DIMS - 1];
    last = LLVMGetLastInstruction(block);
    for (uint32_t j = 0; j < count; j++) {
      v = vector_at(e, o, at[w->nouts + i], j, lanes, &n);
      in[i * count + j] = j && !stride ? in[i * count] : glow_emit_load(e, o, v, stride, n);
    }
    if (fixed >> (w->nouts + i) & 1u)
      set_scope(e, last, "noalias", scope);
  }
  glow_emit_body(e, &w->body, count, in, out);
  last = LLVMGetLastInstruction(block);
  for (uint32_t i = 0; i < w->nouts; i++) {
    const GlowOperand *o = &w->operands[i];
    for (uint32_t j = 0; j < count; j++) {
      v = vector_at(e, o, at[i], j, lanes, &n);
      glow_emit_store(e, o, out[i * count + j], v, o->stride[GLOW_STACK_DIMS - 1], n);
    }
  }
  if (fixed)
    set_scope(e, last, "alias.scope", scope);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* ---- Wrappers -------------------------------------------------------------------------------- */

/* The pointers of a tile behind which no store writes: bit i for pointer i. */
static uint32_t noalias_pointers(const GlowWork *w) {
  uint32_t mask = 0;
  for (uint32_t i = w->nwritten; i < w->nplaces && i < w->tiles.pointers; i++) {
    bool apart = true;
    for (uint32_t k = 0; k < w->nwritten; k++)
      apart = apart && disjoint(&w->places[k], &w->places[i]);
    mask |= apart ? 1u << i : 0;
  }
  return mask;
}

/* A tile specialized by the kernel's parameters and epilogue, which the kernel does not pass. */
static LLVMValueRef emit_tile(GlowEmitter *e, const GlowWork *w, const GlowTile *tile,
                              LLVMValueRef params, LLVMValueRef epilogue) {
  uint32_t noalias = noalias_pointers(w), count = w->tiles.pointers + w->tiles.ints;
  uint32_t fixed = w->tiles.plain ? 1 : 2;
  LLVMTypeRef *types = GLOW_NEW_ARRAY(e->arena, LLVMTypeRef, count + fixed);
  LLVMValueRef *args = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, count + fixed);
  for (uint32_t i = 0; i < count + fixed; i++)
    types[i] = i < fixed + w->tiles.pointers ? e->l.ptr : e->l.i64;
  LLVMValueRef f = glow_emit_function(e, "tile", e->l.void_type, types + fixed, count);
  args[0] = params;
  if (!w->tiles.plain)
    args[1] = epilogue;
  for (uint32_t i = 0; i < count; i++) {
    args[i + fixed] = LLVMGetParam(f, i);
    if (i < w->tiles.pointers && noalias >> i & 1u)
      LLVMAddAttributeAtIndex(f, i + 1, glow_llvm_attribute(&e->l, "noalias"));
  }
  glow_emit_kernel_call(e, tile->function, e->l.void_type, types, args, count + fixed);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* The functions that a body becomes: an epilogue, or the steps of a stack. */
static uint32_t emit_body_functions(GlowEmitter *e, const GlowWork *w, LLVMValueRef *functions) {
  LLVMValueRef null = LLVMConstNull(e->l.ptr);
  int64_t vl = e->l.isa->vl, n;
  switch (w->form) {
  case GLOW_BODY_NONE:
    return 0;
  case GLOW_BODY_EPILOGUE:
  case GLOW_BODY_MATRIX:
    functions[0] = emit_epilogue(e, w);
    return 1;
  case GLOW_BODY_STEPS:
    n = w->params[GLOW_STACK_DIMS - 1];
    vl *= ((const GlowStackParams *)(const void *)w->params)->at_once;
    functions[0] = n >= vl ? emit_step(e, w, (uint32_t)vl) : null;
    functions[1] = n % vl ? emit_step(e, w, (uint32_t)(n % vl)) : null;
    return 2;
  }
  return 0;
}

/* The address of pointer i of a list. */
static LLVMValueRef element_at(GlowEmitter *e, LLVMValueRef list, int64_t i) {
  LLVMValueRef index = glow_emit_i64(e, i);
  return LLVMBuildInBoundsGEP2(e->l.builder, e->l.ptr, list, &index, 1, "");
}

/* A GlowPieceFn that calls the kernel. */
static LLVMValueRef emit_wrapper(GlowEmitter *e, const GlowWork *w) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef ptr = e->l.ptr, i64 = e->l.i64, piece[] = {ptr, i64, i64, i64};
  LLVMValueRef null = LLVMConstNull(ptr), functions[2] = {null, null};
  uint32_t nfunctions = emit_body_functions(e, w, functions), count = 0;
  LLVMValueRef *args = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, w->tiles.count + 8);
  LLVMTypeRef *types = GLOW_NEW_ARRAY(e->arena, LLVMTypeRef, w->tiles.count + 8);
  args[count++] = glow_emit_constant(e, w->params, w->nparams * sizeof *w->params);
  for (uint32_t i = 0; i < w->tiles.count; i++) {
    const GlowTile *tile = w->tiles.all[i];
    args[count++] = tile ? emit_tile(e, w, tile, args[0], functions[0]) : null;
  }
  if (w->tiles.count && !w->tiles.plain)
    args[count++] = null;
  for (uint32_t i = 0; i < nfunctions && !w->tiles.count; i++)
    args[count++] = functions[i];
  LLVMValueRef f = glow_emit_function(e, w->kernel->name, e->l.void_type, piece, 4);
  /* No store of a kernel changes the list of addresses, so loops need not read it again. */
  LLVMAddAttributeAtIndex(f, 1, glow_llvm_attribute(&e->l, "noalias"));
  LLVMAddAttributeAtIndex(f, 1, glow_llvm_attribute(&e->l, "readonly"));
  /* The kernel's addresses stand behind that of params, which bare programs leave out. */
  LLVMValueRef ptrs = element_at(e, LLVMGetParam(f, 0), !e->bare), scratch = null;
  if (w->scratch) {
    bool left_out = e->bare && w->form != GLOW_BODY_NONE;
    LLVMValueRef slot = element_at(e, ptrs, glow_work_scratch_slot(w) - left_out);
    int64_t bytes = w->common ? 0 : w->scratch;
    LLVMValueRef step = LLVMBuildMul(b, LLVMGetParam(f, 3), glow_emit_i64(e, bytes), "");
    scratch = LLVMBuildLoad2(b, ptr, slot, "");
    scratch = LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(e->l.llvm), scratch, &step, 1, "");
  }
  for (uint32_t i = 0; i < count; i++)
    types[i] = ptr;
  for (uint32_t i = 0; i < 3; i++, count++) {
    args[count] = i ? LLVMGetParam(f, i) : ptrs;
    types[count] = piece[i];
  }
  types[count] = ptr;
  args[count++] = scratch;
  glow_emit_kernel_call(e, w->kernel->function, e->l.void_type, types, args, count);
  LLVMBuildRetVoid(b);
  return f;
}

/* A GlowPieceFn that calls the reference kernel. */
static LLVMValueRef emit_reference(GlowEmitter *e, const GlowWork *w) {
  const GlowOpDesc *d = w->source->desc;
  LLVMTypeRef ptr = e->l.ptr, types[] = {ptr, e->l.i64, e->l.i64, e->l.i64};
  LLVMValueRef f = glow_emit_function(e, d->instr, e->l.void_type, types, 4);
  LLVMValueRef kernel = LLVMGetNamedFunction(e->l.module, d->kernel);
  if (!kernel)
    kernel = LLVMAddFunction(e->l.module, d->kernel, LLVMFunctionType(e->l.i32, &ptr, 1, 0));
  LLVMTypeRef called[] = {ptr, ptr};
  LLVMValueRef args[] = {kernel, LLVMGetParam(f, 0)};
  glow_emit_kernel_call(e, "glow_reference", e->l.void_type, called, args, 2);
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* Everything that a wrapper's code depends on. */
static void work_key(const GlowWork *w, GlowText *key) {
  if (w->kind == GLOW_WORK_REFERENCE) {
    glow_text_puts(key, w->source->desc->kernel);
    return;
  }
  uint32_t numbers[] = {noalias_pointers(w), fixed_operands(w), w->nplaces,
                        w->noperands,        w->nouts,          w->form,
                        w->faults,           w->common};
  glow_text_puts(key, w->kernel->name);
  glow_text_bytes(key, numbers, sizeof numbers);
  glow_text_bytes(key, &w->scratch, sizeof w->scratch);
  glow_text_bytes(key, w->params, w->nparams * sizeof *w->params);
  for (uint32_t i = 0; i < w->tiles.count; i++) {
    glow_text_puts(key, w->tiles.all[i] ? w->tiles.all[i]->name : "");
    glow_text_puts(key, ";");
  }
  for (uint32_t i = 0; i < w->noperands; i++) {
    glow_text_bytes(key, w->operands[i].stride, sizeof w->operands[i].stride);
    glow_text_bytes(key, &w->operands[i].channels, sizeof w->operands[i].channels);
    glow_text_bytes(key, &w->operands[i].kind, sizeof w->operands[i].kind);
  }
  glow_body_key(&w->body, key);
}

static uint64_t hash_bytes(const char *data, size_t size) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; i++)
    h = (h ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
  return h;
}

/* Tells what became of a piece of work; `first`: whose code it shares, or NULL. */
static void tell(GlowContext *ctx, GlowRemarkFn *fn, const GlowWork *w,
                 const GlowWorkSource *first) {
  const GlowWorkSource *source = w->source;
  /* Reference kernels are reported when they are chosen. */
  if (!fn || w->kind == GLOW_WORK_REFERENCE)
    return;
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_text_printf(&text, "%s '%s' ", source->desc->instr, source->name);
  if (first)
    glow_text_printf(&text, "shares the %s of '%s'", w->kernel->name, first->name);
  else
    glow_text_printf(&text, "runs as %s, specialized", w->kernel->name);
  if (!first && w->body.operators)
    glow_text_printf(&text, " with %u scalar operator%s in it", w->body.operators,
                     w->body.operators > 1 ? "s" : "");
  if (w->shards > 1)
    glow_text_printf(&text, ", in up to %lld parts", (long long)w->shards);
  fn(source, glow_text_cstr(&text));
  glow_defer_pop(ctx, &defer, true);
}

static bool equal(const GlowShared *a, const GlowShared *b) {
  return a->hash == b->hash && a->size == b->size && memcmp(a->key, b->key, a->size) == 0;
}

void glow_emit_firsts(GlowContext *ctx, GlowArena *arena, const GlowProgramData *p,
                      GlowRemarkFn *remark, uint32_t *first) {
  GlowShared *all = GLOW_NEW_ARRAY(arena, GlowShared, p->npieces);
  GlowText key;
  GlowDefer defer;
  glow_text_init(&key, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &key);
  for (uint32_t i = 0; i < p->npieces; i++) {
    const GlowWork *w = p->pieces[i];
    first[i] = i;
    if (!glow_work_has_code(w))
      continue;
    key.size = 0;
    work_key(w, &key);
    all[i] = (GlowShared){.hash = hash_bytes(key.data, key.size), .size = key.size};
    all[i].key = glow_arena_copy(arena, key.data, key.size);
    for (first[i] = 0; !equal(&all[first[i]], &all[i]);)
      first[i]++;
    tell(ctx, remark, w, first[i] < i ? p->pieces[first[i]]->source : NULL);
  }
  glow_defer_pop(ctx, &defer, true);
}

LLVMValueRef glow_emit_work(GlowEmitter *e, const GlowWork *w, bool *shared) {
  GlowText key;
  glow_text_init(&key, e->l.ctx);
  GlowDefer defer;
  glow_defer_push(e->l.ctx, &defer, glow_text_release_fn, &key);
  work_key(w, &key);
  GlowShared s = {.hash = hash_bytes(key.data, key.size), .key = key.data, .size = key.size};
  for (uint32_t i = 0; i < e->shared.count && !s.function; i++) {
    GlowShared *o = &e->shared.data[i];
    if (equal(o, &s))
      s.function = o->function, o->users++, s.source = o->source;
  }
  tell(e->l.ctx, e->remark, w, s.source);
  *shared = s.function != NULL;
  if (!s.function) {
    s.key = glow_arena_copy(e->arena, key.data, key.size);
    s.users = 1;
    s.source = w->source;
    e->debug.source = w->source;
    s.function = w->kind == GLOW_WORK_REFERENCE ? emit_reference(e, w) : emit_wrapper(e, w);
    glow_vec_push(e->arena, &e->shared, s);
    e->debug.source = NULL;
  }
  glow_defer_pop(e->l.ctx, &defer, true);
  return s.function;
}

void glow_emit_names(GlowEmitter *e) {
  for (uint32_t i = 0; i < e->shared.count && e->debug.builder; i++) {
    const GlowShared *s = &e->shared.data[i];
    size_t length;
    const char *name = LLVMGetValueName2(s->function, &length);
    if (s->users < 2)
      continue;
    name = glow_arena_printf(e->arena, "%s+%u", name, s->users - 1);
    LLVMSetValueName2(s->function, name, strlen(name));
  }
}
