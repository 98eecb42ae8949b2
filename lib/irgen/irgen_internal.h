/* The state of irgen, and what hooks of operators use:
 *
 *   bool glow_irgen_<op>(GlowIrgen *g, const GlowNode *n)
 *
 * emits the instructions for a node that does not simply become the instruction of its name, and
 * says where its results are (glow_irgen_set). */
#ifndef GLOW_IRGEN_IRGEN_INTERNAL_H
#define GLOW_IRGEN_IRGEN_INTERNAL_H

#include "ops/irgen.h"
#include "pass/pass.h"

#define PASS(name, function, ...) bool glow_pass_##function(GlowPassRun *run);
#include "irgen/passes.def"
#undef PASS

struct GlowIrgen {
  GlowPassRun *run;
  GlowContext *ctx;
  GlowModule *module;
  GlowArena *arena;
  GlowFunction *func, *program;
  GlowBuilder b;    /* where instructions go */
  GlowMap *buffers; /* values of the func to their buffers */
  GlowMap *targets; /* values to the buffer that they should be computed into */
  GlowMap *appends; /* Concats that add rows to a variable, to the view of all of these */
};

/* The buffer of a value; storage is its own. NULL for NULL. */
GlowValue *glow_irgen_get(const GlowIrgen *g, const GlowValue *v);
void glow_irgen_set(GlowIrgen *g, const GlowValue *v, GlowValue *buffer);
/* A new alloc at the current place; `like` gives name, location and origin, and may be NULL. */
GlowValue *glow_irgen_alloc(GlowIrgen *g, const GlowValue *like, const GlowType *type);
/* The dense view of a buffer under another type of as many elements. NULL after a diagnostic. */
GlowValue *glow_irgen_view(GlowIrgen *g, const GlowValue *like, GlowValue *base,
                           const GlowType *type);
/* Call it after the instruction that fills v's buffer. If the buffer has v's type, it is v's buffer
 * from now on. Otherwise v becomes a view of it; if v's type is a claim, which `proved` (the
 * inferred type) does not confirm, `expect_shape` checks it before. False after a diagnostic. */
bool glow_irgen_finish(GlowIrgen *g, const GlowValue *v, GlowValue *buffer, const GlowType *proved);
bool glow_irgen_copy(GlowIrgen *g, GlowValue *to, GlowValue *from);
/* Makes the instruction of n's name, with allocs for its results: the rule for most nodes. */
bool glow_irgen_default(GlowIrgen *g, const GlowNode *n);
/* All nodes of a block but its terminator, at the current place. */
bool glow_irgen_block(GlowIrgen *g, const GlowBlock *b);

/* grow.c: the buffer for a value that is saved: the variable, or a view of it with more rows. */
GlowValue *glow_irgen_grown(GlowIrgen *g, GlowValue *variable, const GlowValue *v);
/* Writes the rows that a Concat in g->appends adds. False after a diagnostic. */
bool glow_irgen_append(GlowIrgen *g, const GlowNode *n);
/* Says how many rows a variable has from the next run on, if `grown` is a view with more of them.
 */
bool glow_irgen_set_rows(GlowIrgen *g, GlowValue *grown);
/* control.c */
bool glow_irgen_if(GlowIrgen *g, const GlowNode *n);
bool glow_irgen_loop(GlowIrgen *g, const GlowNode *n);
/* check.c: reports everything in the func that has no form as a program. */
bool glow_irgen_check(GlowIrgen *g);
/* lifetimes.c: ends every buffer after its last use; drops those without any. */
void glow_irgen_deallocs(GlowIrgen *g);

#endif
