/* Emission of work into an LLVM module; shared by emit.c and body.c. */
#ifndef GLOW_CODEGEN_EMIT_H
#define GLOW_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "codegen/llvm.h"

/* A function that equal pieces of work share. */
typedef struct GlowShared {
  uint64_t hash;
  const char *key;
  size_t size;
  LLVMValueRef function;
} GlowShared;

typedef struct GlowEmitter {
  GlowLlvm l;
  GlowArena *arena;
  GLOW_VEC(GlowShared) shared;
  uint32_t names;  /* numbers functions and constants */
  int64_t scratch; /* where the workers' memory begins in the arena */
} GlowEmitter;

#define GLOW_CODE_ENTRY "glow_run"

/* Emits everything into e->l.module: the entry and what it calls. */
void glow_emit_program(GlowEmitter *e, const GlowWork *work, uint32_t count);

/* The GlowPieceFn of a piece of work: an equal one's, or a new one, which moves the builder. Its
 * addresses are those of `places`, of `operands`, the fault for a reference kernel, and the
 * scratch memory of worker 0 if there is any. */
LLVMValueRef glow_emit_work(GlowEmitter *e, const GlowWork *w);
/* Reference kernels (reference.c). */
LLVMValueRef glow_emit_reference(GlowEmitter *e, const GlowWork *w);
void glow_reference_key(const GlowWork *w, GlowText *key);

/* Emits the nodes of a body at the builder's place: parameters in, one vector per result out. */
void glow_emit_body(GlowEmitter *e, const GlowBody *body, const LLVMValueRef *params,
                    LLVMValueRef *results);
/* Appends what the code of a body depends on, names excluded. */
void glow_body_key(const GlowBody *body, GlowText *key);

/* ---- Small helpers --------------------------------------------------------------------------- */

LLVMValueRef glow_emit_i64(GlowEmitter *e, int64_t v);
/* An internal function of ours with an entry block, where the builder then stands. */
LLVMValueRef glow_emit_function(GlowEmitter *e, const char *what, LLVMTypeRef result,
                                const LLVMTypeRef *params, uint32_t count);
/* Calls a kernel of the library, which is inlined; declares it if it is new. */
LLVMValueRef glow_emit_kernel_call(GlowEmitter *e, const char *name, LLVMTypeRef result,
                                   const LLVMTypeRef *types, const LLVMValueRef *args,
                                   uint32_t count);
/* An internal constant: `count` integers of 64 bits, or bytes. */
LLVMValueRef glow_emit_constant(GlowEmitter *e, const void *data, size_t bytes);
/* Zeros that nothing writes. */
LLVMValueRef glow_emit_zeros(GlowEmitter *e, int64_t bytes);

#endif
