/* Functions that build nodes for the rules in `grad` clauses (docs/OperatorDescriptions.md).
 *
 * A value is NULL if it is zero, as the derivative by a result that nothing depends on: sums leave
 * it out, and every other operation of it is zero. It is NULL as well after a node was refused, or
 * if extents are not known: then `failed` is set. */
#ifndef GLOW_AUTODIFF_RULE_H
#define GLOW_AUTODIFF_RULE_H

#include "autodiff/autodiff.h"

typedef struct GlowRule {
  GlowGrad *g;
  bool failed;
} GlowRule;

/* op of these operands. Bit i of `optional`: operand i may be absent, which is not zero: it is left
 * out of a product. */
GlowValue *glow_rule_apply(GlowRule *r, GlowOp op, GlowValue *const *ins, uint32_t count,
                           uint32_t optional, const void *members);
/* A number in the kind of the derivatives. */
GlowValue *glow_rule_number(GlowRule *r, double v);
/* Sets the derivative of operand i as glow_grad_set does; false if the rule failed. */
bool glow_rule_set(GlowRule *r, uint32_t i, GlowValue *v);

/* The helpers. v in the shape of x. */
GlowValue *glow_rule_like(GlowRule *r, GlowValue *v, GlowValue *x);
/* v, in the shape of the result of a reduction, with the axes that were reduced as extents of 1;
 * and repeated along them to the shape of the operand. */
GlowValue *glow_rule_kept(GlowRule *r, GlowValue *v);
GlowValue *glow_rule_spread(GlowRule *r, GlowValue *v);
/* The sum of v along an axis, which stays with extent 1; and of all elements, of rank 0. */
GlowValue *glow_rule_summed(GlowRule *r, GlowValue *v, int64_t axis);
GlowValue *glow_rule_total(GlowRule *r, GlowValue *v);
/* How many elements of x there are for one of y, in the kind of the derivatives. */
GlowValue *glow_rule_ratio(GlowRule *r, GlowValue *x, GlowValue *y);
/* 0 or 1 in the shape and kind of x. */
GlowValue *glow_rule_zeros(GlowRule *r, GlowValue *x);
GlowValue *glow_rule_ones(GlowRule *r, GlowValue *x);
/* v with its last two axes swapped; v in the kind of x. */
GlowValue *glow_rule_swap(GlowRule *r, GlowValue *v);
GlowValue *glow_rule_cast(GlowRule *r, GlowValue *v, GlowValue *x);
/* The permutation that undoes perm (u32[]; empty: all axes reversed); not `flag`. */
GlowArray glow_rule_inverse(GlowRule *r, GlowArray perm);
bool glow_rule_opposite(GlowRule *r, bool flag);

#endif
