/* Contexts, errors, linking, the pass pipeline and the code generator of LLVM. */
#include "codegen/llvm.h"
#include "codegen/codegen.h"

#include <stdio.h>
#include <string.h>
#include <threads.h>

#include "support/text.h"

/* no-verify-fixpoint: without it the pass, when named in a text, ends the process where one round
 * was not enough. */
#define COMBINE "instcombine<no-verify-fixpoint>"
#define SIMPLIFY "sroa,early-cse<memssa>," COMBINE ",simplifycfg"

/* What a specialized kernel needs, in the order of its life. Inlining brings the constants in
 * (twice: epilogues are called by tiles); then scalar replacement, constant folding and simplified
 * control flow leave straight loops; then invariants are hoisted and loops of one step go. There is
 * no vectorizer and no unroller: hot loops are written as they should be. A third of the time of
 * default<O3>, and better code: GVN and the schedule that follows from O3's unrolling spill. */
#define INLINE "always-inline,always-inline,globaldce"
#define LOOPS ",loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion)," COMBINE
static const char *const pipelines[] = {
    [GLOW_EFFORT_FULL] =
        INLINE ",function(" SIMPLIFY "," SIMPLIFY LOOPS ",early-cse<memssa>,simplifycfg)",
    [GLOW_EFFORT_SHORT] = INLINE ",function(" SIMPLIFY LOOPS ")",
    [GLOW_EFFORT_NONE] = "globaldce",
};

bool glow_llvm_error(GlowContext *ctx, LLVMErrorRef error, const char *what) {
  if (!error)
    return true;
  char *message = LLVMGetErrorMessage(error);
  glow_error(ctx, GLOW_NOWHERE, "LLVM: %s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return false;
}

bool glow_llvm_message(GlowContext *ctx, bool failed, char *message, const char *what) {
  if (failed)
    glow_error(ctx, GLOW_NOWHERE, "LLVM: %s: %s", what, message ? message : "failed");
  LLVMDisposeMessage(message);
  return !failed;
}

bool glow_llvm_ok(GlowLlvm *l) {
  if (l->failed)
    glow_error(l->ctx, GLOW_NOWHERE, "LLVM: %s", l->error);
  return !l->failed;
}

/* Runs inside LLVM, so it must not throw: it only records. */
static void handle_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  GlowLlvm *l = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *message = LLVMGetDiagInfoDescription(info);
  if (!l->failed)
    snprintf(l->error, sizeof l->error, "%s", message ? message : "unknown error");
  l->failed = true;
  LLVMDisposeMessage(message);
}

/* The registry of targets is LLVM's own global; filling it is not safe in two threads. */
static void register_targets(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
}

void glow_llvm_register_targets(void) {
  static once_flag once = ONCE_FLAG_INIT;
  call_once(&once, register_targets);
}

static void release(void *arg) {
  GlowLlvm *l = arg;
  if (l->builder)
    LLVMDisposeBuilder(l->builder);
  if (l->module)
    LLVMDisposeModule(l->module);
  if (l->machine)
    LLVMDisposeTargetMachine(l->machine);
  if (l->llvm)
    LLVMContextDispose(l->llvm);
}

static bool open_machine(GlowLlvm *l) {
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(l->triple, &target, &message))
    return glow_llvm_message(l->ctx, true, message, l->triple);
  LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(options, l->cpu);
  LLVMTargetMachineOptionsSetFeatures(options, l->attrs);
  LLVMTargetMachineOptionsSetABI(options, l->isa->abi);
  LLVMTargetMachineOptionsSetCodeGenOptLevel(
      options, l->effort == GLOW_EFFORT_NONE ? LLVMCodeGenLevelLess : LLVMCodeGenLevelDefault);
  LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocPIC);
  l->machine = LLVMCreateTargetMachineWithOptions(target, l->triple, options);
  LLVMDisposeTargetMachineOptions(options);
  if (!l->machine) {
    glow_error(l->ctx, GLOW_NOWHERE, "LLVM has no target machine for %s", l->isa->name);
    return false;
  }
  LLVMSetTargetMachineAsmVerbosity(l->machine, 1);
  return true;
}

/* Features of the row, then those that were asked for. */
static void choose_machine(GlowLlvm *l, const GlowMachine *m) {
  const GlowIsa *isa = l->isa = m->isa;
  l->triple = m->triple ? m->triple : isa->triple;
  l->cpu = m->cpu ? m->cpu : isa->cpu;
  l->attrs = isa->attrs;
  if (m->attrs && *m->attrs)
    l->attrs = *isa->attrs ? glow_str_printf(l->ctx, "%s,%s", isa->attrs, m->attrs) : m->attrs;
}

bool glow_llvm_open(GlowLlvm *l, GlowContext *ctx, const GlowMachine *machine, GlowEffort effort) {
  glow_llvm_register_targets();
  *l = (GlowLlvm){.ctx = ctx, .effort = effort};
  choose_machine(l, machine);
  glow_defer_push(ctx, &l->defer, release, l);
  if (!open_machine(l)) {
    glow_llvm_close(l);
    return false;
  }
  l->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(l->llvm, handle_diagnostic, l);
  l->module = LLVMModuleCreateWithNameInContext("glow", l->llvm);
  l->builder = LLVMCreateBuilderInContext(l->llvm);
  LLVMSetTarget(l->module, l->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
  LLVMSetModuleDataLayout(l->module, layout);
  LLVMDisposeTargetData(layout);
  l->ptr = LLVMPointerTypeInContext(l->llvm, 0);
  l->i64 = LLVMInt64TypeInContext(l->llvm);
  l->i32 = LLVMInt32TypeInContext(l->llvm);
  l->i1 = LLVMInt1TypeInContext(l->llvm);
  l->f32 = LLVMFloatTypeInContext(l->llvm);
  l->vec = LLVMVectorType(l->f32, l->isa->vl);
  l->void_type = LLVMVoidTypeInContext(l->llvm);
  return true;
}

void glow_llvm_close(GlowLlvm *l) { glow_defer_pop(l->ctx, &l->defer, true); }

LLVMAttributeRef glow_llvm_attribute(GlowLlvm *l, const char *name) {
  return LLVMCreateEnumAttribute(l->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

static void string_attribute(GlowLlvm *l, LLVMValueRef function, const char *key,
                             const char *value) {
  LLVMAddAttributeAtIndex(function, GLOW_LLVM_FUNCTION,
                          LLVMCreateStringAttribute(l->llvm, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value)));
}

/* Without the attributes of its own, a function has those of the target machine. */
static void set_machine(GlowLlvm *l, LLVMValueRef function) {
  string_attribute(l, function, "target-cpu", l->cpu);
  LLVMRemoveStringAttributeAtIndex(function, GLOW_LLVM_FUNCTION, "target-features",
                                   sizeof "target-features" - 1);
  /* Bounds of scalable vectors, which we do not use; those of another machine are an error. */
  LLVMRemoveEnumAttributeAtIndex(function, GLOW_LLVM_FUNCTION,
                                 LLVMGetEnumAttributeKindForName("vscale_range", 12));
}

/* Without the two widths LLVM splits 512-bit vectors in halves on CPUs that prefer 256. */
void glow_llvm_function_attributes(GlowLlvm *l, LLVMValueRef function) {
  char width[16];
  snprintf(width, sizeof width, "%u", l->isa->vl * 32);
  set_machine(l, function);
  string_attribute(l, function, "prefer-vector-width", width);
  string_attribute(l, function, "min-legal-vector-width", width);
  LLVMAddAttributeAtIndex(function, GLOW_LLVM_FUNCTION, glow_llvm_attribute(l, "nounwind"));
}

static bool is_missing(const GlowLlvm *l, LLVMValueRef function) {
  size_t length;
  const char *name = LLVMGetValueName2(function, &length);
  return LLVMIsDeclaration(function) && strncmp(name, "glow_", 5) == 0 &&
         !(l->has_reference &&
           (strncmp(name, "glow_kernel_", 12) == 0 || strcmp(name, GLOW_HOST_STEP) == 0));
}

const char *glow_llvm_missing(GlowLlvm *l) {
  size_t length;
  for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
    if (is_missing(l, f))
      return LLVMGetValueName2(f, &length);
  }
  return NULL;
}

/* Makes everything in a library discardable, so that the linker takes only what is called. Returns
 * whether it has a function that is missing. */
static bool offer(GlowLlvm *l, LLVMModuleRef library) {
  bool wanted = false;
  size_t length;
  for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) == LLVMInternalLinkage)
      continue;
    LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    LLVMValueRef mine = LLVMGetNamedFunction(l->module, LLVMGetValueName2(f, &length));
    wanted = wanted || (mine && LLVMIsDeclaration(mine));
  }
  for (LLVMValueRef g = LLVMGetFirstGlobal(library); g; g = LLVMGetNextGlobal(g)) {
    if (!LLVMIsDeclaration(g) && LLVMGetLinkage(g) == LLVMExternalLinkage)
      LLVMSetLinkage(g, LLVMLinkOnceODRLinkage);
  }
  return wanted;
}

/* The library is read lazily: what is not linked is not read. */
bool glow_llvm_link(GlowLlvm *l, const void *data, size_t size, const char *name, bool *linked) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, name, 0);
  LLVMModuleRef library;
  if (LLVMGetBitcodeModuleInContext2(l->llvm, buffer, &library)) {
    LLVMDisposeMemoryBuffer(buffer);
    return glow_llvm_ok(l) && glow_llvm_message(l->ctx, true, NULL, "reading kernels");
  }
  LLVMSetTarget(library, l->triple); /* another system's may differ in names alone */
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(l->module));
  if (!offer(l, library)) {
    LLVMDisposeModule(library);
    return glow_llvm_ok(l);
  }
  *linked = true;
  LLVMBool failed = LLVMLinkModules2(l->module, library);
  return glow_llvm_ok(l) && glow_llvm_message(l->ctx, failed, NULL, "linking kernels");
}

bool glow_llvm_optimize(GlowLlvm *l) {
  const char *missing = glow_llvm_missing(l);
  if (missing) {
    glow_error(l->ctx, GLOW_NOWHERE, "internal: there is no kernel '%s' for %s", missing,
               l->isa->name);
    return false;
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) /* what was linked */
      LLVMSetLinkage(f, LLVMInternalLinkage);
    set_machine(l, f); /* a kernel may come from another row */
  }
  for (LLVMValueRef g = LLVMGetFirstGlobal(l->module); g; g = LLVMGetNextGlobal(g)) {
    if (LLVMGetLinkage(g) == LLVMLinkOnceODRLinkage)
      LLVMSetLinkage(g, LLVMInternalLinkage);
  }
  char *message = NULL;
  bool broken = LLVMVerifyModule(l->module, LLVMReturnStatusAction, &message);
  if (!glow_llvm_message(l->ctx, broken, message, "verifying"))
    return false;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(l->module, pipelines[l->effort], l->machine, options);
  LLVMDisposePassBuilderOptions(options);
  return glow_llvm_error(l->ctx, error, "optimizing") && glow_llvm_ok(l);
}

LLVMMemoryBufferRef glow_llvm_generate(GlowLlvm *l, LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  LLVMBool failed =
      LLVMTargetMachineEmitToMemoryBuffer(l->machine, l->module, type, &message, &buffer);
  if (!glow_llvm_message(l->ctx, failed, message, "generating code"))
    return NULL;
  if (glow_llvm_ok(l))
    return buffer;
  LLVMDisposeMemoryBuffer(buffer);
  return NULL;
}

const char *glow_codegen_llvm_version(GlowContext *ctx) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  return glow_str_printf(ctx, "%u.%u.%u", major, minor, patch);
}
