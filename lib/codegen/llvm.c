/* Contexts, errors, linking, the pass pipeline and the code generator of LLVM. */
#include "codegen/llvm.h"
#include "codegen/codegen.h"
#include "codegen/debug.h"
#include "target/cpu/table.h"

#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "support/text.h"

/* no-verify-fixpoint: without it the pass, when named in a text, ends the process where one round
 * was not enough. */
#define COMBINE "instcombine<no-verify-fixpoint>"

/* What a specialized kernel needs, in the order of its life. Inlining brings the constants in
 * (twice: epilogues are called by tiles); then scalar replacement, constant folding and simplified
 * control flow leave straight loops; then invariants are hoisted and loops of one step go. There is
 * no vectorizer and no unroller: hot loops are written as they should be. A quarter of the time of
 * default<O3>, and better code: GVN and the schedule that follows from O3's unrolling spill.
 * `indvars` takes a third of the time; without, loops of transposed convolutions spill. A second
 * round of the first four passes would take a fifth; it changes no byte of ResNet50, MobileNetV2
 * and BERT, and makes the code of resizing, pieces and reductions up to 1.4 % smaller. */
static const char *const passes[] = {
    "always-inline", "always-inline", "globaldce",
    "function(sroa,early-cse<memssa>," COMBINE ",simplifycfg,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion)," COMBINE
    ",early-cse<memssa>,simplifycfg)",
    NULL};

/* ---- Errors ---------------------------------------------------------------------------------- */

static _Thread_local GlowLlvmFault *current; /* for LLVM's last words */

void glow_llvm_begin(GlowLlvmFault *fault, const char *doing, const char *pass) {
  current = fault;
  if (fault && !fault->failed) {
    fault->doing = doing;
    fault->pass = pass;
  }
}

/* Keeps the first message, as one line. */
static void record(GlowLlvmFault *fault, const char *message) {
  if (fault->failed)
    return;
  fault->failed = true;
  snprintf(fault->message, sizeof fault->message, "%s", message ? message : "failed");
  size_t size = strlen(fault->message);
  while (size && fault->message[size - 1] == '\n')
    fault->message[--size] = '\0';
  for (char *newline; (newline = strchr(fault->message, '\n'));)
    *newline = ' ';
}

bool glow_llvm_error(GlowLlvmFault *fault, LLVMErrorRef error) {
  if (error) {
    char *message = LLVMGetErrorMessage(error);
    record(fault, message);
    LLVMDisposeErrorMessage(message);
  }
  return !fault->failed;
}

bool glow_llvm_message(GlowLlvmFault *fault, bool failed, char *message) {
  if (failed)
    record(fault, message);
  LLVMDisposeMessage(message);
  return !fault->failed;
}

bool glow_llvm_report(const GlowLlvmFault *f, const GlowWorkSource *w) {
  if (f->ours) {
    glow_error(f->ctx, GLOW_NOWHERE, "%s", f->message);
    return false;
  }
  const char *open = f->pass ? " (" : "", *pass = f->pass ? f->pass : "", *close = *open ? ")" : "";
  if (!w) {
    glow_error(f->ctx, GLOW_NOWHERE, "LLVM, %s%s%s%s code for %s: %s", f->doing, open, pass, close,
               f->target, f->message);
    return false;
  }
  glow_error(f->ctx, w->loc, "LLVM, %s%s%s%s the code of %s '%s' for %s: %s", f->doing, open, pass,
             close, w->desc->instr, w->name, f->target, f->message);
  return false;
}

/* Called inside of LLVM. */
static void handle_diagnostic(LLVMDiagnosticInfoRef info, void *fault) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *message = LLVMGetDiagInfoDescription(info);
  record(fault, message);
  LLVMDisposeMessage(message);
}

/* Does not return: LLVM would then end the process, with status 1. */
static void handle_fatal(const char *reason) {
  GlowLlvmFault unknown = {.doing = "running", .target = "this machine"};
  GlowLlvmFault *f = current ? current : &unknown;
  fprintf(stderr, "error: LLVM cannot go on, %s%s%s%s code for %s: %s\n", f->doing,
          f->pass ? " (" : "", f->pass ? f->pass : "", f->pass ? ")" : "", f->target, reason);
  _exit(3);
}

/* ---- Contexts -------------------------------------------------------------------------------- */

/* The registry of targets is LLVM's own global; filling it is not safe in two threads. */
static void register_targets(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
  LLVMInstallFatalErrorHandler(handle_fatal);
}

void glow_llvm_register_targets(void) {
  static once_flag once = ONCE_FLAG_INIT;
  call_once(&once, register_targets);
}

static void release(void *arg) {
  GlowLlvm *l = arg;
  glow_llvm_begin(NULL, NULL, NULL);
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
    return glow_llvm_message(&l->fault, true, message);
  LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(options, l->cpu);
  LLVMTargetMachineOptionsSetFeatures(options, l->attrs);
  LLVMTargetMachineOptionsSetABI(options, l->isa->abi);
  LLVMTargetMachineOptionsSetCodeGenOptLevel(options, LLVMCodeGenLevelDefault);
  LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocPIC);
  l->machine = LLVMCreateTargetMachineWithOptions(target, l->triple, options);
  LLVMDisposeTargetMachineOptions(options);
  if (!l->machine)
    record(&l->fault, "there is no target machine");
  if (!l->machine)
    return false;
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

bool glow_llvm_open(GlowLlvm *l, GlowContext *ctx, const GlowMachine *machine) {
  glow_llvm_register_targets();
  *l = (GlowLlvm){.ctx = ctx};
  l->fault = (GlowLlvmFault){.ctx = ctx, .target = machine->isa->name};
  glow_llvm_begin(&l->fault, "making", NULL);
  choose_machine(l, machine);
  glow_defer_push(ctx, &l->defer, release, l);
  if (!open_machine(l)) {
    glow_llvm_close(l);
    return false;
  }
  l->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(l->llvm, handle_diagnostic, &l->fault);
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
         !(l->has_reference && strncmp(name, "glow_kernel_", 12) == 0);
}

const char *glow_llvm_missing(GlowLlvm *l) {
  size_t length;
  for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
    if (is_missing(l, f))
      return LLVMGetValueName2(f, &length);
  }
  return NULL;
}

/* Whether a function's name is glow_SOURCE.., or glow_lanes_.._KIND of a source lanes_KIND. */
static bool is_like(const char *function, const char *source) {
  const char *name = function + strlen("glow_"), *kind = source + strlen("lanes_");
  size_t length = strlen(name);
  if (!strncmp(name, source, strlen(source)))
    return true;
  return !strncmp(source, "lanes_", 6) && !strncmp(name, "lanes_", 6) && length > strlen(kind) &&
         !strcmp(name + length - strlen(kind), kind);
}

bool glow_llvm_misses_like(GlowLlvm *l, const char *source) {
  size_t length;
  for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
    if (is_missing(l, f) && is_like(LLVMGetValueName2(f, &length), source))
      return true;
  }
  return false;
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

bool glow_llvm_same_table(GlowLlvm *l, LLVMModuleRef library) {
  LLVMValueRef symbol = LLVMGetNamedGlobal(library, GLOW_TABLE_SYMBOL);
  LLVMValueRef hash = symbol ? LLVMGetInitializer(symbol) : NULL;
  if (!symbol ||
      (hash && LLVMIsAConstantInt(hash) && LLVMConstIntGetZExtValue(hash) == glow_table_hash))
    return true;
  char message[sizeof l->fault.message];
  snprintf(message, sizeof message, "the kernels of %s were built from another table",
           l->isa->name);
  l->fault.ours |= !l->fault.failed;
  record(&l->fault, message);
  return false;
}

/* The library is read lazily: what is not linked is not read. */
bool glow_llvm_link(GlowLlvm *l, const void *data, size_t size, const char *name, bool *linked) {
  glow_llvm_begin(&l->fault, "reading kernels into", NULL);
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, name, 0);
  LLVMModuleRef library;
  if (LLVMGetBitcodeModuleInContext2(l->llvm, buffer, &library)) {
    LLVMDisposeMemoryBuffer(buffer);
    return glow_llvm_message(&l->fault, true, NULL);
  }
  LLVMSetTarget(library, l->triple); /* another system's may differ in names alone */
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(l->module));
  if (!glow_llvm_same_table(l, library) || !offer(l, library)) {
    LLVMDisposeModule(library);
    return !l->fault.failed;
  }
  *linked = true;
  glow_llvm_begin(&l->fault, "linking", NULL);
  return glow_llvm_message(&l->fault, LLVMLinkModules2(l->module, library), NULL);
}

/* What was linked becomes ours alone, and code for this machine. */
static void take_over(GlowLlvm *l) {
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
}

/* Runs the passes one by one, so that an error can name the pass. */
static bool run_passes(GlowLlvm *l) {
  bool ok = true;
  for (const char *const *pass = passes; *pass && ok; pass++) {
    const char *name = strncmp(*pass, "function(", 9) == 0 ? "function passes" : *pass;
    glow_llvm_begin(&l->fault, "optimizing", name);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    ok = glow_llvm_error(&l->fault, LLVMRunPasses(l->module, *pass, l->machine, options));
    LLVMDisposePassBuilderOptions(options);
  }
  return ok;
}

bool glow_llvm_optimize(GlowLlvm *l) {
  const char *missing = glow_llvm_missing(l);
  if (missing) {
    glow_llvm_begin(&l->fault, "linking", NULL);
    char message[256];
    snprintf(message, sizeof message, "there is no kernel '%s'", missing);
    record(&l->fault, message);
    return false;
  }
  take_over(l);
  glow_llvm_begin(&l->fault, "verifying", NULL);
  char *message = NULL;
  bool broken = LLVMVerifyModule(l->module, LLVMReturnStatusAction, &message);
  return glow_llvm_message(&l->fault, broken, message) && run_passes(l);
}

LLVMMemoryBufferRef glow_llvm_generate(GlowLlvm *l, LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  glow_llvm_begin(&l->fault, "generating", NULL);
  LLVMBool failed =
      LLVMTargetMachineEmitToMemoryBuffer(l->machine, l->module, type, &message, &buffer);
  if (glow_llvm_message(&l->fault, failed, message))
    return buffer;
  if (!failed)
    LLVMDisposeMemoryBuffer(buffer);
  return NULL;
}

const char *glow_codegen_llvm_version(GlowContext *ctx) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  return glow_str_printf(ctx, "%u.%u.%u", major, minor, patch);
}
