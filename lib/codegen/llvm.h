/* LLVM behind one wall: the headers, one context per compile, one way for errors to come out.
 *
 * note [llvm errors]: all that goes wrong in LLVM is recorded in a GlowLlvmFault, with what was
 * being done, and reported once by glow_llvm_report: an LLVMErrorRef (consumed exactly once, by
 * glow_llvm_error), a message from a call that returns a flag (disposed by glow_llvm_message), and
 * diagnostics of LLVM's context, whose handler runs inside of LLVM and must not throw: without a
 * handler LLVM ends the process, with one the call that failed returns success. Where LLVM cannot
 * go on at all it ends the process; our handler says what was being done, and the status is that of
 * an internal error. */
#ifndef GLOW_CODEGEN_LLVM_H
#define GLOW_CODEGEN_LLVM_H

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#include "codegen/codegen.h"
#include "codegen/machine.h"
#include "support/diag.h"

_Static_assert(LLVM_VERSION_MAJOR == 19, "lib/codegen is written for LLVM 19");

/* What this thread has LLVM do, and the first thing that went wrong. */
typedef struct GlowLlvmFault {
  GlowContext *ctx;
  const char *target; /* a row's name */
  const char *doing;  /* "optimizing" */
  const char *pass;   /* of LLVM, or NULL */
  bool failed, ours;  /* ours: the message says all, it is not LLVM's */
  char message[512];
} GlowLlvmFault;

typedef struct GlowLlvm {
  GlowContext *ctx;
  GlowLlvmFault fault;
  const GlowIsa *isa;
  const char *triple, *cpu, *attrs;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTargetMachineRef machine;
  LLVMTypeRef ptr, i64, i32, i1, f32, vec, void_type;
  bool has_reference; /* code is loaded where the reference kernels are already */
  GlowDefer defer;    /* releases all of it if a throw passes */
} GlowLlvm;

/* Fills LLVM's registry of targets and sets LLVM's options, once in a process. */
void glow_llvm_register_targets(void);

/* Opens a context with an empty module for a machine. False if that fails, which l->fault says.
 * Must be closed, or a throw closes it. */
bool glow_llvm_open(GlowLlvm *l, GlowContext *ctx, const GlowMachine *machine);
void glow_llvm_close(GlowLlvm *l);

/* See note [llvm errors]. What follows is done for `fault`, until another call says otherwise;
 * NULL: nothing is. The strings must stay. */
void glow_llvm_begin(GlowLlvmFault *fault, const char *doing, const char *pass);
/* Record a failure; return true if there was none, in these calls or before. */
bool glow_llvm_error(GlowLlvmFault *fault, LLVMErrorRef error);
bool glow_llvm_message(GlowLlvmFault *fault, bool failed, char *message);
/* Reports the failure, at the instruction whose code is the cause (NULL: not known). False. */
bool glow_llvm_report(const GlowLlvmFault *fault, const GlowWorkSource *source);

/* The attributes that every function of ours has: the row's CPU, its full vector width. */
void glow_llvm_function_attributes(GlowLlvm *l, LLVMValueRef function);
LLVMAttributeRef glow_llvm_attribute(GlowLlvm *l, const char *name);
#define GLOW_LLVM_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* A function of ours (glow_...) that the module declares and does not define, or NULL. */
const char *glow_llvm_missing(GlowLlvm *l);
/* Whether there is one whose name says that `source`, of lib/kernels, may define it. */
bool glow_llvm_misses_like(GlowLlvm *l, const char *source);
/* False if a module of kernels was built from another kernel table than that of this code; l->fault
 * then says so. */
bool glow_llvm_same_table(GlowLlvm *l, LLVMModuleRef library);
/* The functions below give no diagnostic where they fail, but record the failure in l->fault. This
 * one links the missing functions that the bitcode has, and what these need, and nothing else; sets
 * *linked if there were any. The bytes must stay valid while the context is open. */
bool glow_llvm_link(GlowLlvm *l, const void *data, size_t size, const char *name, bool *linked);
/* Verifies, makes what was linked internal, and optimizes. */
bool glow_llvm_optimize(GlowLlvm *l);
/* Machine code as an object or as assembly: the caller's. NULL if that fails. */
LLVMMemoryBufferRef glow_llvm_generate(GlowLlvm *l, LLVMCodeGenFileType type);

#endif
