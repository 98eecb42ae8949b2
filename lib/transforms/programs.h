/* What passes on programs share: who uses a buffer, moving instructions, scalar bodies. */
#ifndef GLOW_TRANSFORMS_PROGRAMS_H
#define GLOW_TRANSFORMS_PROGRAMS_H

#include "pass/pass.h"
#include "transforms/transforms.h"

/* ---- Buffers --------------------------------------------------------------------------------- */
bool glow_buffer_is_plain_alloc(const GlowValue *v);
GlowNode *glow_buffer_dealloc(const GlowValue *alloc); /* NULL if it has none */

/* The uses of an alloc besides its dealloc. */
typedef struct GlowBufferUses {
  GlowUse *writer; /* the only @out use; others is set if there are more */
  GlowUse *reader; /* the only @in use */
  bool others;     /* any use besides these: views, @inout, predicates */
} GlowBufferUses;
GlowBufferUses glow_buffer_uses(GlowValue *alloc);

/* Forgets offsets: lifetimes have changed, and a plan has all or none. */
void glow_program_drop_plan(GlowFunction *program);

/* ---- Moving ---------------------------------------------------------------------------------- */
/* Whether n would read the same values at `to`, which stands behind it in the same block and not
 * too far away. */
bool glow_instr_can_move_down(const GlowNode *n, const GlowNode *to);
/* Whether n reads nothing of the buffer `out` but through `link`. With `body`, it may read `out`
 * itself, element by element: in place. */
bool glow_instr_reads_apart(const GlowNode *n, const GlowValue *link, GlowValue *out, bool body);
/* `fused`, which stands before n, does the work of `producer` and of n: both go, and with them the
 * alloc `link` between them. */
void glow_instr_replace_pair(GlowNode *producer, GlowNode *n, GlowValue *link, GlowNode *fused);

/* ---- Scalar bodies --------------------------------------------------------------------------- */
/* A body under construction; parameters from first_param on stand for `inputs`, one each. */
typedef struct GlowScalarBody {
  GlowBlock *body;
  GlowArena *arena;
  uint32_t first_param;
  GLOW_VEC(GlowValue *) inputs; /* buffers */
} GlowScalarBody;
/* Whether n can become part of a body: element-wise, one output, plain static types. */
bool glow_scalar_can_hold(const GlowNode *n);
GlowScalarBody glow_scalar_begin(GlowModule *m, GlowArena *arena, const char *label);
/* Appends the nodes of another body with one yield; its parameters are args. */
GlowValue *glow_scalar_inline(GlowScalarBody *s, const GlowBlock *body, GlowValue *const *args);
/* Appends what instruction n computes; its operand `from` is `value` already, others become
 * parameters or literals. NULL after a diagnostic. */
GlowValue *glow_scalar_apply(GlowScalarBody *s, const GlowNode *n, const GlowValue *from,
                             GlowValue *value);

#endif
