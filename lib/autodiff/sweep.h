/* The inside of lib/autodiff: a sweep over the nodes of one block, which the rules of control flow
 * call again for the blocks of regions. */
#ifndef GLOW_AUTODIFF_SWEEP_H
#define GLOW_AUTODIFF_SWEEP_H

#include "autodiff/autodiff.h"

typedef struct GlowSweep {
  GlowBuilder *b;
  GlowLoc where; /* for diagnostics */
  GlowArena *arena;
  GlowMap *active;      /* values that depend on xs, as keys; those in regions too */
  GlowMap *whole;       /* integers that are computed of active values -> GlowWhole */
  GlowMap *independent; /* xs, as keys */
  GlowMap *adjoint;     /* values -> the derivative of the ys by them, so far */
  GlowMap *reached;     /* active values that the ys depend on, as keys */
  bool checks;          /* whether to look for operators without a rule first */
  const GlowDerivatives *asked;
} GlowSweep;

/* What integers have of active values: nothing, a number that Cast has rounded, or a number in
 * other form, as its bits are. Numbers that are computed of the latter have no derivative. */
typedef enum GlowWhole { GLOW_WHOLE_NONE, GLOW_WHOLE_ROUNDED, GLOW_WHOLE_ENCODED } GlowWhole;

bool glow_sweep_is_active(const GlowSweep *s, const GlowValue *v);
/* Marks `to` as what `from` is marked as; true if that is news. */
bool glow_sweep_flow(GlowSweep *s, const GlowValue *from, GlowValue *to);
/* Marks the active values in the regions of an If or Loop, and its active results. */
void glow_sweep_mark_regions(GlowSweep *s, GlowNode *n);
void glow_sweep_mark_block(GlowSweep *s, GlowBlock *b, const GlowNode *end);
/* Adds dx, which n contributes, to the derivative by x. False after a diagnostic, or if dx is
 * NULL. */
bool glow_sweep_add(GlowSweep *s, const GlowNode *n, GlowValue *x, GlowValue *dx);
/* Differentiates the nodes of another block, at b, as glow_differentiate does. */
bool glow_sweep_block(const GlowSweep *s, GlowBuilder *b, const GlowDerivatives *d);

/* Whether n has a rule in control.c. */
static inline bool glow_sweep_has_regions(const GlowNode *n) {
  return n->op == GLOW_OP_IF || n->op == GLOW_OP_LOOP;
}
/* Adds what the derivatives dy of the results of an If or Loop contribute to those of the values
 * that it reads and captures. */
bool glow_sweep_visit_regions(GlowSweep *s, GlowNode *n, GlowValue *const *dy);

/* Whether n is a Call of a function that reads active storage. */
bool glow_sweep_calls_active(const GlowSweep *s, const GlowNode *n);
/* Adds what the derivatives dy of the results of a Call contribute to those of its operands, and of
 * storage that the callee reads: a Call of the callee's gradient. */
bool glow_sweep_visit_call(GlowSweep *s, GlowNode *n, GlowValue *const *dy);

#endif
