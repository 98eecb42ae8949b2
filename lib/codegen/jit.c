/* An LLJIT per program, with the RTDyld layer: it is the one that debuggers and perf can be
 * attached to through the C API. It only links: the object was made before. */
#include "codegen/jit.h"

#include <stdlib.h>

struct GlowCode {
  LLVMOrcLLJITRef jit;
  GlowEntryFn *entry;
};

static LLVMOrcObjectLayerRef object_layer(void *user, LLVMOrcExecutionSessionRef session,
                                          const char *triple) {
  (void)user, (void)triple;
  return LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
}

/* Adding a buffer to the JIT takes it, whether it succeeds or not. */
static bool load(GlowContext *ctx, GlowCode *code, LLVMMemoryBufferRef object, const char *entry) {
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, object_layer, NULL);
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&code->jit, builder);
  if (error) {
    code->jit = NULL;
    LLVMDisposeMemoryBuffer(object);
    return glow_llvm_error(ctx, error, "creating the JIT");
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

GlowCode *glow_jit_load(GlowContext *ctx, LLVMMemoryBufferRef object, const char *entry) {
  GlowCode *code = calloc(1, sizeof *code);
  if (!code) {
    LLVMDisposeMemoryBuffer(object);
    glow_throw(ctx, GLOW_NO_MEMORY);
  }
  if (load(ctx, code, object, entry))
    return code;
  glow_code_destroy(code);
  return NULL;
}

GlowEntryFn *glow_code_entry(const GlowCode *code) { return code->entry; }

/* An error while unloading has nobody to go to; it only must be consumed. */
void glow_code_destroy(GlowCode *code) {
  if (!code)
    return;
  LLVMErrorRef error = code->jit ? LLVMOrcDisposeLLJIT(code->jit) : NULL;
  if (error)
    LLVMConsumeError(error);
  free(code);
}
