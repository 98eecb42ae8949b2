/* Reverse-mode differentiation of graphs.
 *
 * An operator whose description has a `grad` clause has a rule, a file for each family here:
 *
 *   bool glow_grad_<op>(GlowGrad *g)
 *
 * It builds at g->b what the derivatives of the node's results contribute to those of its operands.
 * Like lowering rules, rules are algebra: they return false without a diagnostic if extents that
 * they need are not known, and false after one if a node could not be built. */
#ifndef GLOW_AUTODIFF_AUTODIFF_H
#define GLOW_AUTODIFF_AUTODIFF_H

#include "ir/ir.h"
#include "ops/grad.h"

struct GlowGrad {
  GlowBuilder *b;
  const GlowNode *n;
  GlowValue *const *dy; /* by result, of its type; NULL: nothing depends on it */
  const bool *wanted;   /* by operand: whether its derivative is asked for */
  GlowValue **dx;       /* by operand: to fill where wanted, of its type; NULL: it is zero */
};

/* Builds at b the derivatives of the sum of y's elements by the elements of each of xs, and sets
 * results[i], of the type of xs[i]. b must stand in the body of a function; only nodes of this body
 * before b's place are differentiated. xs count as independent of each other. False after a
 * diagnostic at b's location: operators between y and xs have no rule (notes at their nodes list
 * all of them), or extents are not known. */
bool glow_differentiate(GlowBuilder *b, GlowValue *y, GlowValue *const *xs, uint32_t count,
                        GlowValue **results);

/* v summed over the axes along which an operand of these dims was repeated to v's shape. NULL if v
 * is NULL, or if these axes cannot be told. */
GlowValue *glow_grad_sum_to(const GlowGrad *g, GlowValue *v, uint32_t rank, const GlowDim *dims);
/* Sets the derivative of operand i to v, summed as above; false if v is NULL or that fails. */
bool glow_grad_set(GlowGrad *g, uint32_t i, GlowValue *v);

#endif
