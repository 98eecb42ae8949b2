/* Code generation: from a list of work that a backend makes of a program to machine code.
 *
 * A backend decides (layouts, tiles, places in memory); this library emits. Each piece of work is
 * one kernel of lib/kernels/cpu with parameters that become constants. Equal pieces share their
 * code. No type of LLVM appears here. LLVM ends the process when it runs out of memory or finds an
 * error of its own; everything else is a diagnostic. */
#ifndef GLOW_CODEGEN_CODEGEN_H
#define GLOW_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/move.h"
#include "kernels/cpu/stack.h"
#include "kernels/isa.h"

/* Some bytes that a program touches: of its arena, or of one of the buffers in `storage`. */
typedef struct GlowPlace {
  int32_t storage; /* index into the storage of a run; -1: the arena */
  int64_t offset, bytes;
} GlowPlace;

#define GLOW_OPERAND_DIMS 6

/* An operand of a scalar body: float elements and their strides (counted in elements) along the
 * coordinates of the loop. In an epilogue these are image, channel block, row, column, channel in
 * the block; in a stack the loops of GlowStackParams. The last stride is 1, or 0 for broadcast. */
typedef struct GlowOperand {
  GlowPlace place;
  int64_t stride[GLOW_OPERAND_DIMS];
  int64_t channels; /* epilogues: how many channels may be read; 0: whole blocks */
} GlowOperand;

/* What is computed on each element: a scalar block, or one element-wise instruction. */
typedef struct GlowBody {
  const GlowBlock *block;
  const GlowNode *node;
} GlowBody;

typedef enum GlowWorkKind {
  GLOW_WORK_CONV, /* to = convolution of from; the body is the epilogue, or empty */
  GLOW_WORK_MOVE, /* to = from */
  GLOW_WORK_ZERO, /* to = 0 */
  GLOW_WORK_STACK /* operands[0, nouts) = body(the other operands) */
} GlowWorkKind;

typedef struct GlowWork {
  GlowWorkKind kind;
  const GlowNode *node; /* where it comes from */
  union {
    GlowConvParams conv;
    GlowMoveParams move;
    GlowStackParams stack;
  } params;
  GlowPlace to, from;     /* not for stacks */
  GlowPlace filter, bias; /* convolutions; bias if conv.bias */
  GlowOperand *operands;  /* what the body reads besides the accumulator; stacks: outputs first */
  uint32_t noperands, nouts;
  GlowBody body;
} GlowWork;

typedef struct GlowCodegenOptions {
  const GlowIsa *isa;
  const void *kernels; /* bitcode to use instead of the row's own, for tests; or NULL */
  size_t kernels_size;
} GlowCodegenOptions;

/* Seconds of this thread's time, by what they were spent on. */
typedef struct GlowCodegenTimes {
  double emit, link, optimize, generate, load;
} GlowCodegenTimes;

/* Machine code in memory. */
typedef struct GlowCode GlowCode;
typedef void GlowEntryFn(uint8_t *arena, void *const *storage);

/* Compiles for this host, which must be able to run options->isa. NULL after a diagnostic. The code
 * stays valid until glow_code_destroy, also after the context is gone. times may be NULL. */
GlowCode *glow_codegen_compile(GlowContext *ctx, const GlowWork *work, uint32_t count,
                               const GlowCodegenOptions *options, GlowCodegenTimes *times);
GlowEntryFn *glow_code_entry(const GlowCode *code);
void glow_code_destroy(GlowCode *code); /* NULL is ignored */

/* The same as assembly text, for any row of isa.def. False after a diagnostic. */
bool glow_codegen_emit_asm(GlowContext *ctx, const GlowWork *work, uint32_t count,
                           const GlowCodegenOptions *options, GlowText *out);
/* The optimized module as LLVM IR. False after a diagnostic. */
bool glow_codegen_emit_ir(GlowContext *ctx, const GlowWork *work, uint32_t count,
                          const GlowCodegenOptions *options, GlowText *out);

/* Whether a scalar body can be emitted: every node is a Splat or an element-wise operator of float.
 * If not, *culprit is the first node that cannot. */
bool glow_codegen_has_body(const GlowBody *body, const GlowNode **culprit);

/* The version of LLVM that this process has loaded, "19.1.7". Lives in the context. */
const char *glow_codegen_llvm_version(GlowContext *ctx);

#endif
