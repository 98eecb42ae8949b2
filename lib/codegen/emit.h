/* Emission of work into an LLVM module; what the files of emission share. */
#ifndef GLOW_CODEGEN_EMIT_H
#define GLOW_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "codegen/debug.h"
#include "codegen/llvm.h"
#include "codegen/parts.h"
#include "codegen/unit.h"

/* A function that equal pieces of work share. */
typedef struct GlowShared {
  uint64_t hash;
  const char *key;
  size_t size;
  LLVMValueRef function;
  uint32_t users;               /* pieces of work */
  const GlowWorkSource *source; /* of the first */
} GlowShared;

typedef struct GlowEmitter {
  GlowLlvm l;
  GlowArena *arena;
  GLOW_VEC(GlowShared) shared;
  uint32_t names; /* numbers functions and constants */
  GlowRemarkFn *remark;   /* see GlowCodegenOptions */
  const GlowParts *parts; /* of the program, if it has several */
  uint32_t part;          /* the one that is emitted */
  GlowDebug debug;
  bool bare; /* of the program that is emitted: see GlowProgramData */
} GlowEmitter;

#define GLOW_CODE_PROGRAM "glow_program"

/* Emits a program into e->l.module: its GlowProgram, an internal constant, which is returned, and
 * its pieces. */
LLVMValueRef glow_emit_program(GlowEmitter *e, const char *symbol, const GlowProgramData *program);
/* Emits the pieces of part e->part, as functions that other parts see. */
void glow_emit_part(GlowEmitter *e, const GlowProgramData *program);
/* Finds the first piece that is equal to each piece, and remarks on all in their order. */
void glow_emit_firsts(GlowContext *ctx, GlowArena *arena, const GlowProgramData *program,
                      GlowRemarkFn *remark, uint32_t *first);
/* Emits all of a unit. */
void glow_emit_unit(GlowEmitter *e, const GlowUnit *unit);
/* Writes the module. False after a diagnostic. */
bool glow_llvm_write(GlowLlvm *l, GlowCodeForm form, GlowText *out);

/* The GlowPieceFn of a piece of work. If an equal piece has one already, *shared is true and that
 * function is returned; else a new one is emitted. */
LLVMValueRef glow_emit_work(GlowEmitter *e, const GlowWork *w, bool *shared);
/* Renames the functions that several pieces of work share, so that their names say so. Called when
 * all work is emitted. */
void glow_emit_names(GlowEmitter *e);
/* note [lanes]: the value of an operator is one vector of GLOW_VL elements as they are stored,
 * whatever the kind: halves and bools are integers, quantized elements their integers. */

/* Emits the calls of a body on `count` vectors, at most GLOW_BODY_TURN, at the builder's place,
 * which is in the entry block of a function: `count` vectors for each parameter in, and for each
 * result out. */
void glow_emit_body(GlowEmitter *e, const GlowBody *body, uint32_t count,
                    const LLVMValueRef *params, LLVMValueRef *results);
/* Appends everything that the code of a body depends on except for names. */
void glow_body_key(const GlowBody *body, GlowText *key);

/* ---- Operands in memory (operand.c) ---------------------------------------------------------- */

/* An element of a kind as it is stored. */
LLVMTypeRef glow_emit_element_type(GlowEmitter *e, GlowKind kind);
/* The address of operand i of an environment (an array of pointers) at a place of `dims` indices.
 */
LLVMValueRef glow_emit_operand_address(GlowEmitter *e, const GlowOperand *o, uint32_t i,
                                       LLVMValueRef env, const LLVMValueRef *place, uint32_t dims);
/* Lanes that are `stride` elements apart: the first `lanes` of them, and nothing else is touched.
 */
LLVMValueRef glow_emit_load(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at, int64_t stride,
                            uint32_t lanes);
void glow_emit_store(GlowEmitter *e, const GlowOperand *o, LLVMValueRef v, LLVMValueRef at,
                     int64_t stride, uint32_t lanes);
/* Neighbouring lanes below `count`, a value that may vary. */
LLVMValueRef glow_emit_load_below(GlowEmitter *e, const GlowOperand *o, LLVMValueRef at,
                                  LLVMValueRef count);

/* ---- Small helpers --------------------------------------------------------------------------- */

LLVMValueRef glow_emit_i64(GlowEmitter *e, int64_t v);
/* An internal function of ours with an entry block, where the builder then stands. */
LLVMValueRef glow_emit_function(GlowEmitter *e, const char *what, LLVMTypeRef result,
                                const LLVMTypeRef *params, uint32_t count);
/* Calls a kernel of the library, which is inlined; declares it if it is new. */
LLVMValueRef glow_emit_kernel_call(GlowEmitter *e, const char *name, LLVMTypeRef result,
                                   const LLVMTypeRef *types, const LLVMValueRef *args,
                                   uint32_t count);
/* An internal constant with these bytes, aligned to 64. */
LLVMValueRef glow_emit_constant(GlowEmitter *e, const void *data, size_t bytes);
/* The same, but a null pointer if there are no bytes. */
LLVMValueRef glow_emit_table(GlowEmitter *e, const void *data, size_t bytes);
/* An internal constant with these contents. */
LLVMValueRef glow_emit_global(GlowEmitter *e, LLVMValueRef init, const char *name);
/* Zeros that nothing writes. */
LLVMValueRef glow_emit_zeros(GlowEmitter *e, int64_t bytes);

#endif
