/* An LLJIT per program, with the RTDyld layer: it is the one that debuggers and perf can be
 * attached to through the C API. It only links: the object was made before. */
#include "codegen/jit.h"

#include <errno.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Object.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct GlowCode {
  LLVMOrcLLJITRef jit;
  GlowLlvmFault *fault; /* while it is loaded */
  const GlowProgram *program;
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

/* Called with each error of a session, before a call returns one. Only here it has its reason. */
static void take_error(void *user, LLVMErrorRef error) {
  const GlowCode *code = user;
  if (code->fault)
    glow_llvm_error(code->fault, error);
  else
    LLVMConsumeError(error);
}

/* Finds out how large the code of an object is, and whether it has lines. */
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
static bool load(GlowLlvmFault *fault, GlowCode *code, LLVMMemoryBufferRef object, const char *name,
                 const GlowSymbol *symbols, uint32_t count) {
  glow_llvm_register_targets();
  look_at(object, code);
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, object_layer, code);
  glow_llvm_begin(fault, "preparing memory for", NULL);
  if (!glow_llvm_error(fault, LLVMOrcCreateLLJIT(&code->jit, builder))) {
    code->jit = NULL;
    LLVMDisposeMemoryBuffer(object);
    return false;
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(code->jit), take_error,
                                          code);
  glow_llvm_begin(fault, "loading", NULL);
  if (!glow_llvm_error(fault, define(fault->ctx, code->jit, symbols, count))) {
    LLVMDisposeMemoryBuffer(object);
    return false;
  }
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(code->jit);
  LLVMOrcExecutorAddress address = 0;
  if (!glow_llvm_error(fault, LLVMOrcLLJITAddObjectFile(code->jit, library, object)) ||
      !glow_llvm_error(fault, LLVMOrcLLJITLookup(code->jit, &address, name)))
    return false;
  code->program = (const GlowProgram *)(uintptr_t)address;
  return true;
}

/* Whether this process may make memory executable; if not, errno says why. */
static bool may_execute(void) {
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return false;
  bool ok = mprotect(page, size, PROT_READ | PROT_EXEC) == 0;
  int code = errno;
  munmap(page, size);
  errno = code;
  return ok;
}

static void report(const GlowLlvmFault *fault) {
  char reason[128];
  if (may_execute()) {
    glow_llvm_report(fault, NULL);
    return;
  }
  glow_error(fault->ctx, GLOW_NOWHERE,
             "machine code cannot be loaded: this system does not let memory become executable: %s",
             strerror_r(errno, reason, sizeof reason));
  glow_note(fault->ctx, GLOW_NOWHERE,
            "--tier=library runs machine code that is there already, and glow-llc makes objects");
}

GlowCode *glow_jit_load(GlowContext *ctx, LLVMMemoryBufferRef object, const char *program,
                        const GlowSymbol *symbols, uint32_t count) {
  GlowCode *code = calloc(1, sizeof *code);
  if (!code) {
    LLVMDisposeMemoryBuffer(object);
    glow_throw(ctx, GLOW_NO_MEMORY);
  }
  GlowLlvmFault fault = {.ctx = ctx, .target = "this machine"};
  code->fault = &fault;
  bool ok = load(&fault, code, object, program, symbols, count);
  code->fault = NULL;
  glow_llvm_begin(NULL, NULL, NULL);
  if (ok)
    return code;
  glow_code_destroy(code);
  report(&fault);
  return NULL;
}

const GlowProgram *glow_code_program(const GlowCode *code) { return code->program; }

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
