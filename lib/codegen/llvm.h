/* LLVM behind one wall: the headers, one context per compile, one way for errors to come out.
 *
 * note [llvm errors]: three kinds of failure end in glow_llvm_ok: an LLVMErrorRef (consumed exactly
 * once, by glow_llvm_error), a message from a call that returns a flag (disposed by
 * glow_llvm_message), and diagnostics of LLVM's context, which its handler can only record: without
 * a handler LLVM ends the process, with one the call that failed returns success. */
#ifndef GLOW_CODEGEN_LLVM_H
#define GLOW_CODEGEN_LLVM_H

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Linker.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#include "codegen/codegen.h"
#include "codegen/machine.h"
#include "support/diag.h"

_Static_assert(LLVM_VERSION_MAJOR == 19, "lib/codegen is written for LLVM 19");

typedef struct GlowLlvm {
  GlowContext *ctx;
  const GlowIsa *isa;
  const char *triple, *cpu, *attrs;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTargetMachineRef machine;
  LLVMTypeRef ptr, i64, i32, i1, f32, vec, void_type;
  GlowEffort effort;
  bool has_reference; /* code is loaded where the reference kernels are already */
  bool failed;        /* LLVM reported an error through its context; see glow_llvm_ok */
  char error[512];    /* which */
  GlowDefer defer;    /* releases all of it if a throw passes */
} GlowLlvm;

/* Fills LLVM's registry of targets, once in a process. */
void glow_llvm_register_targets(void);

/* Opens a context with an empty module for a machine. False after a diagnostic. Must be closed, or
 * a throw closes it. */
bool glow_llvm_open(GlowLlvm *l, GlowContext *ctx, const GlowMachine *machine, GlowEffort effort);
void glow_llvm_close(GlowLlvm *l);

/* See note [llvm errors]. `what` says what was tried. All return true if nothing went wrong. */
bool glow_llvm_error(GlowContext *ctx, LLVMErrorRef error, const char *what);
bool glow_llvm_message(GlowContext *ctx, bool failed, char *message, const char *what);
bool glow_llvm_ok(GlowLlvm *l); /* reports what the context's handler recorded */

/* The attributes that every function of ours has: the row's CPU, its full vector width. */
void glow_llvm_function_attributes(GlowLlvm *l, LLVMValueRef function);
LLVMAttributeRef glow_llvm_attribute(GlowLlvm *l, const char *name);
#define GLOW_LLVM_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* A function of ours (glow_...) that the module declares and does not define, or NULL. */
const char *glow_llvm_missing(GlowLlvm *l);
/* Links what is missing and what that needs out of bitcode, and nothing else; sets *linked if there
 * was any. False after a diagnostic. The bytes must stay valid while the context is open. */
bool glow_llvm_link(GlowLlvm *l, const void *data, size_t size, const char *name, bool *linked);
/* Verifies, makes what was linked internal, and optimizes. */
bool glow_llvm_optimize(GlowLlvm *l);
/* Machine code as an object or as assembly. NULL after a diagnostic; otherwise the caller's. */
LLVMMemoryBufferRef glow_llvm_generate(GlowLlvm *l, LLVMCodeGenFileType type);

#endif
