/* What passes on programs share: lifetimes, moving instructions, scalar bodies. */
#ifndef GLOW_TRANSFORMS_PROGRAMS_H
#define GLOW_TRANSFORMS_PROGRAMS_H

#include "analysis/spans.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

/* ---- Buffers --------------------------------------------------------------------------------- */
/* Removes an alloc that nothing but its dealloc uses, and the dealloc. */
void glow_buffer_remove(GlowValue *alloc);

/* Lets an alloc live until after n, which is numbered (glow_function_number) and may lie in a
 * region inside of the alloc's block. Does nothing if `base` is storage or a parameter. */
void glow_buffer_keep_until(GlowValue *base, GlowNode *n);

/* The most bytes of buffers that live at one time: no memory plan can be smaller. Numbers the
 * program. */
int64_t glow_program_live_bytes(GlowPassRun *run);

/* Removes the offsets of all allocs: a plan has all offsets or none. */
void glow_program_drop_plan(GlowFunction *program);
/* To be called before a rewrite that changes lifetimes: drops the plan. Does not return if the
 * limit of this run is used up (glow_pass_check_limit). */
void glow_program_begin_change(GlowPassRun *run);

/* The figures of a pass over a program, as a remark: "@main: 3 copies, 96 bytes saved". */
void glow_program_saved(GlowPassRun *run, uint64_t count, const char *what, int64_t bytes);

/* Whether n has an output i that the operator can do without: Argmax of MaxPool. */
bool glow_instr_can_drop(const GlowNode *n, uint32_t i);
/* Makes that output `none`. */
void glow_instr_drop(GlowPassRun *run, GlowNode *n, uint32_t i);

/* ---- One buffer for two (coalesce.c) --------------------------------------------------------- */
/* For these the nodes of the program are numbered, and new ones have the number of their place. */

/* The last node of the writer's block that reads what `out` writes. NULL if nothing reads it, if
 * `out` is not the only use that writes the buffer, or if something may read the buffer before. */
GlowNode *glow_buffer_last_reader(GlowArena *arena, const GlowUse *out);
/* Whether all readers of the alloc that `out` alone writes can read `from` instead. */
bool glow_buffer_can_forward(GlowArena *arena, const GlowUse *out, const GlowValue *from);
/* Lets the readers of a copy's output read its input, if the input does not change before the last
 * of them. If so, removes the copy and returns true. */
bool glow_copy_forward(GlowPassRun *run, GlowNode *copy);
/* Lets the instructions that write a copy's input write the copy's output instead, if nothing else
 * uses that memory in the meantime. If so, removes the copy and returns true. */
bool glow_copy_merge(GlowPassRun *run, GlowNode *copy);

/* `base` under another type, by a view that stands before the node `before`; `base` itself where it
 * has that type. NULL: there is no memory. */
GlowValue *glow_buffer_view_as(GlowValue *base, const GlowType *type, GlowNode *before);

/* ---- Moving ---------------------------------------------------------------------------------- */
/* Whether n would read the same values at `to`, which stands behind it in the same block and not
 * too far away. */
bool glow_instr_can_move_down(const GlowNode *n, const GlowNode *to);
/* The instruction that alone writes `link`, which n alone reads. NULL unless it has one output,
 * could as well stand where n stands, and could write n's first output in place of `link`. */
GlowNode *glow_instr_producer(const GlowNode *n, GlowValue *link);
/* `fused`, which stands before n, does the work of `producer` and of n: both go. */
void glow_instr_replace_pair(GlowNode *producer, GlowNode *n, GlowNode *fused);
/* `fused`, which stands behind n, does n's work, too: n goes, and the alloc that it alone wrote. */
void glow_instr_remove_into(GlowNode *n, GlowNode *fused);

/* ---- Scalar bodies --------------------------------------------------------------------------- */
/* A buffer, and the scalar that stands for each of its elements inside of a body. */
typedef struct GlowScalarValue {
  const GlowValue *buffer;
  GlowValue *value;
} GlowScalarValue;
/* A body under construction; parameters from first_param on stand for `inputs`, one each. */
typedef struct GlowScalarBody {
  GlowBlock *body;
  GlowArena *arena;
  uint32_t first_param;
  GLOW_VEC(GlowValue *) inputs;     /* buffers */
  GLOW_VEC(GlowScalarValue) values; /* of buffers that the body computes */
} GlowScalarBody;
/* A body gets at most so many nodes: values of more would not stay in registers. */
enum { GLOW_MAX_STEPS = 64 };
/* How many nodes n's body has; 1, which n would become in a body, if it has none. */
uint32_t glow_scalar_steps(const GlowNode *n);
/* Whether n can become part of a body: element-wise, plain static types, outputs of one shape, and
 * operands that broadcast to it. */
bool glow_scalar_can_hold(const GlowNode *n);
GlowScalarBody glow_scalar_begin(GlowModule *m, GlowArena *arena, const char *label);
/* Takes the body out of a stack, to append to it; the caller then has to remove the stack. The
 * stack's outputs have values (glow_scalar_value). */
GlowScalarBody glow_scalar_continue(GlowArena *arena, GlowNode *stack);
/* The type of an element of a buffer: of rank 0, quantized as the buffer is. */
const GlowType *glow_scalar_type(GlowContext *ctx, const GlowType *t);
/* The value of a buffer that the body computes; NULL for other buffers. */
GlowValue *glow_scalar_value(const GlowScalarBody *s, const GlowValue *buffer);
/* From now on the elements of `buffer` are `value`. */
void glow_scalar_define(GlowScalarBody *s, const GlowValue *buffer, GlowValue *value);
/* Appends the nodes of another body, whose parameters are args; values[i] is what it yields. */
void glow_scalar_inline(GlowScalarBody *s, const GlowBlock *body, GlowValue *const *args,
                        GlowValue **values);
/* Appends what instruction n computes, and defines its outputs; operands without a value become
 * parameters or literals. False after a diagnostic. */
bool glow_scalar_apply(GlowScalarBody *s, const GlowNode *n);

#endif
