/* An LLJIT per program, with the RTDyld layer: it is the one that debuggers and perf can be
 * attached to through the C API. It only links: the object was made before. */
#include "codegen/jit.h"

#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Object.h>
#include <stdlib.h>
#include <string.h>

struct GlowCode {
  LLVMOrcLLJITRef jit;
  GlowEntryFn *entry;
  int64_t size; /* bytes of instructions */
  bool debug;   /* whether the object has lines */
};

/* Code with lines is shown to gdb, and written for perf where its variable says so. */
static LLVMOrcObjectLayerRef object_layer(void *user, LLVMOrcExecutionSessionRef session,
                                          const char *triple) {
  const GlowCode *code = user;
  (void)triple;
  LLVMOrcObjectLayerRef layer =
      LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
  LLVMJITEventListenerRef listeners[] = {
      code->debug ? LLVMCreateGDBRegistrationListener() : NULL,
      code->debug && getenv("JITDUMPDIR") ? LLVMCreatePerfJITEventListener() : NULL};
  for (int i = 0; i < 2; i++) {
    if (listeners[i])
      LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, listeners[i]);
  }
  return layer;
}

/* What is to be known of an object before it is loaded. */
static void look_at(LLVMMemoryBufferRef object, GlowCode *code) {
  char *message = NULL;
  LLVMBinaryRef binary = LLVMCreateBinary(object, NULL, &message);
  LLVMDisposeMessage(message);
  if (!binary)
    return; /* loading will say what is wrong */
  LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(binary);
  for (; !LLVMObjectFileIsSectionIteratorAtEnd(binary, section); LLVMMoveToNextSection(section)) {
    const char *name = LLVMGetSectionName(section);
    if (name && strncmp(name, ".text", 5) == 0)
      code->size += (int64_t)LLVMGetSectionSize(section);
    code->debug = code->debug || (name && strcmp(name, ".debug_line") == 0);
  }
  LLVMDisposeSectionIterator(section);
  LLVMDisposeBinary(binary);
}

/* Defining symbols takes their names and, if it succeeds, the unit that defines them. */
static LLVMErrorRef define(GlowContext *ctx, LLVMOrcLLJITRef jit, const GlowSymbol *symbols,
                           uint32_t count) {
  if (!count)
    return NULL;
  GlowArena *arena = glow_arena_create(ctx);
  LLVMOrcCSymbolMapPair *pairs = GLOW_NEW_ARRAY(arena, LLVMOrcCSymbolMapPair, count);
  LLVMJITSymbolFlags flags = {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable,
                              0};
  for (uint32_t i = 0; i < count; i++)
    pairs[i] = (LLVMOrcCSymbolMapPair){LLVMOrcLLJITMangleAndIntern(jit, symbols[i].name),
                                       {(uintptr_t)symbols[i].address, flags}};
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, count);
  glow_arena_destroy(arena);
  LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit);
  if (error)
    LLVMOrcDisposeMaterializationUnit(unit);
  return error;
}

/* Adding a buffer to the JIT takes it, whether it succeeds or not. */
static bool load(GlowContext *ctx, GlowCode *code, LLVMMemoryBufferRef object, const char *entry,
                 const GlowSymbol *symbols, uint32_t count) {
  glow_llvm_register_targets();
  look_at(object, code);
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, object_layer, code);
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&code->jit, builder);
  if (error) {
    code->jit = NULL;
    LLVMDisposeMemoryBuffer(object);
    return glow_llvm_error(ctx, error, "creating the JIT");
  }
  error = define(ctx, code->jit, symbols, count);
  if (error) {
    LLVMDisposeMemoryBuffer(object);
    return glow_llvm_error(ctx, error, "defining kernels");
  }
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(code->jit);
  error = LLVMOrcLLJITAddObjectFile(code->jit, library, object);
  if (error)
    return glow_llvm_error(ctx, error, "loading code");
  LLVMOrcExecutorAddress address = 0;
  error = LLVMOrcLLJITLookup(code->jit, &address, entry);
  if (error)
    return glow_llvm_error(ctx, error, "linking code");
  code->entry = (GlowEntryFn *)(uintptr_t)address;
  return true;
}

GlowCode *glow_jit_load(GlowContext *ctx, LLVMMemoryBufferRef object, const char *entry,
                        const GlowSymbol *symbols, uint32_t count) {
  GlowCode *code = calloc(1, sizeof *code);
  if (!code) {
    LLVMDisposeMemoryBuffer(object);
    glow_throw(ctx, GLOW_NO_MEMORY);
  }
  if (load(ctx, code, object, entry, symbols, count))
    return code;
  glow_code_destroy(code);
  return NULL;
}

GlowEntryFn *glow_code_entry(const GlowCode *code) { return code->entry; }
int64_t glow_code_size(const GlowCode *code) { return code->size; }

/* An error while unloading has nobody to go to; it only must be consumed. */
void glow_code_destroy(GlowCode *code) {
  if (!code)
    return;
  LLVMErrorRef error = code->jit ? LLVMOrcDisposeLLJIT(code->jit) : NULL;
  if (error)
    LLVMConsumeError(error);
  free(code);
}
