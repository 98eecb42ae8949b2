/* Units: programs as an object, as text or as bitcode, with entries that check what they are given.
 *
 * A program is an internal constant. Callers see a function that hands the program to
 * glow_bundle_enter (lib/kernels/cpu/bundle.c), with all that is known of its memory as constants.
 */
#include <string.h>

#include "codegen/emit.h"

#include <llvm-c/BitWriter.h>

_Static_assert((int)GLOW_FAULT_INDEX == (int)GLOW_RUN_INDEX &&
                   (int)GLOW_FAULT_SHAPE == (int)GLOW_RUN_SHAPE &&
                   (int)GLOW_FAULT_TRIP == (int)GLOW_RUN_TRIP &&
                   (int)GLOW_FAULT_VALUE == (int)GLOW_RUN_VALUE &&
                   (int)GLOW_FAULT_UNSUPPORTED == (int)GLOW_RUN_UNSUPPORTED &&
                   (int)GLOW_FAULT_FAIL == (int)GLOW_RUN_FAIL,
               "faults of programs are errors of kernels");

/* A function that callers outside see, named `symbol`, with the builder in it. */
static LLVMValueRef exported(GlowEmitter *e, const char *symbol, LLVMTypeRef *types,
                             uint32_t count) {
  LLVMValueRef f = glow_emit_function(e, symbol, e->l.i64, types, count);
  LLVMSetValueName2(f, symbol, strlen(symbol));
  LLVMSetLinkage(f, LLVMExternalLinkage);
  return f;
}

/* Memory of the function for `count` elements. */
static LLVMValueRef room(GlowEmitter *e, LLVMTypeRef type, int64_t count) {
  return LLVMBuildAlloca(e->l.builder, LLVMArrayType2(type, (uint64_t)count + 1), "");
}

/* int64_t symbol(const GlowBundleArguments *, const GlowParallel *, GlowFault *) */
static void emit_entry(GlowEmitter *e, const GlowUnitEntry *entry, LLVMValueRef weights) {
  LLVMTypeRef ptr = e->l.ptr, types[] = {ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr};
  e->debug.program = entry->program;
  const char *inner = glow_arena_printf(e->arena, "%s.program", entry->symbol);
  LLVMValueRef program = glow_emit_program(e, inner, entry->data);
  LLVMValueRef f = exported(e, entry->symbol, types, 3);
  const GlowBundleParams *p = entry->params;
  LLVMValueRef storage = room(e, ptr, p->nstorage), pointers = room(e, ptr, entry->data->most),
               rounds = room(e, e->l.i64, 2 * entry->data->loops);
  LLVMValueRef args[] = {
      glow_emit_table(e, p, sizeof *p),
      glow_emit_table(e, entry->slots, (size_t)p->nstorage * sizeof *entry->slots),
      weights,
      program,
      storage,
      pointers,
      rounds,
      LLVMGetParam(f, 0),
      LLVMGetParam(f, 1),
      LLVMGetParam(f, 2)};
  LLVMValueRef status = glow_emit_kernel_call(e, "glow_bundle_enter", e->l.i64, types, args, 10);
  LLVMBuildRet(e->l.builder, status);
}

/* int64_t symbol(void *variables, const void *weights, int64_t weights_size) */
static void emit_reset(GlowEmitter *e, const char *symbol, const GlowBundleParams *p,
                       LLVMValueRef weights) {
  LLVMTypeRef ptr = e->l.ptr, types[] = {ptr, ptr, ptr, ptr, e->l.i64};
  LLVMValueRef f = exported(e, symbol, types + 2, 3);
  LLVMValueRef args[] = {glow_emit_table(e, p, sizeof *p), weights, LLVMGetParam(f, 0),
                         LLVMGetParam(f, 1), LLVMGetParam(f, 2)};
  LLVMValueRef status = glow_emit_kernel_call(e, "glow_bundle_reset", e->l.i64, types, args, 5);
  LLVMBuildRet(e->l.builder, status);
}

void glow_emit_unit(GlowEmitter *e, const GlowUnit *unit) {
  LLVMValueRef weights = glow_emit_table(e, unit->weights, unit->weights_size);
  for (uint32_t i = 0; i < unit->nentries; i++)
    emit_entry(e, &unit->entries[i], weights);
  if (unit->reset)
    emit_reset(e, unit->reset, unit->entries[0].params, weights);
}

static bool write_generated(GlowLlvm *l, LLVMCodeGenFileType type, GlowText *out) {
  LLVMMemoryBufferRef code = glow_llvm_generate(l, type);
  if (!code)
    return false;
  glow_text_bytes(out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  LLVMDisposeMemoryBuffer(code);
  return true;
}

bool glow_llvm_write(GlowLlvm *l, GlowCodeForm form, GlowText *out) {
  char *text;
  LLVMMemoryBufferRef code;
  switch (form) {
  case GLOW_CODE_OBJECT:
    return write_generated(l, LLVMObjectFile, out);
  case GLOW_CODE_ASM:
    return write_generated(l, LLVMAssemblyFile, out);
  case GLOW_CODE_IR:
    text = LLVMPrintModuleToString(l->module);
    glow_text_puts(out, text);
    LLVMDisposeMessage(text);
    return true;
  case GLOW_CODE_BITCODE:
    code = LLVMWriteBitcodeToMemoryBuffer(l->module);
    glow_text_bytes(out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
    LLVMDisposeMemoryBuffer(code);
    return true;
  }
  return false;
}
