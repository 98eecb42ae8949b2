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

/* The arrays have an entry for each port as well, of operands and results that the node leaves
 * out. */
struct GlowGrad {
  GlowBuilder *b;
  const GlowNode *n;
  GlowValue *const *dy; /* by result, of its type; NULL: nothing depends on it */
  const bool *wanted;   /* by operand: whether its derivative is asked for */
  GlowValue **dx;       /* by operand: to fill where wanted, of its type; NULL: it is zero */
};

/* The gradient of a function that is called, by references as in a declaration, with seeds. */
typedef struct GlowCallGradient {
  const GlowFunction *callee;
  GlowGradientRef *from, *wrt;
  uint32_t nfrom, nwrt;
} GlowCallGradient;

/* What to differentiate. All values are floating-point tensors. */
typedef struct GlowDerivatives {
  GlowValue *const *ys;    /* what to differentiate */
  GlowValue *const *seeds; /* by y, of its type: the derivative by it; NULL entries: ones */
  uint32_t nys;
  GlowValue *const *xs; /* by what; they count as independent of each other */
  uint32_t nxs;
  GlowValue **results; /* by x: to fill. NULL: no y depends on the x */
  /* Blocks around b's, from the inside out, whose nodes are differentiated, too: all that they have
   * so far. */
  GlowBlock *const *around;
  uint32_t naround;
  /* Gives a function, or a declaration, that computes the gradient; NULL after a diagnostic. NULL
   * here: Calls have no derivatives. */
  GlowFunction *(*gradient_of)(void *user, const GlowCallGradient *call);
  /* Is told of each operand whose derivative by a node is zero, as by Floor; may be NULL. */
  void (*ends)(void *user, const GlowNode *n, uint32_t operand);
  void *user; /* of both */
} GlowDerivatives;

/* Builds at b the derivatives of the sum of the ys, each times its seed, by the elements of each of
 * the xs. results[i] has the type of xs[i]. b must stand in a block; only nodes of this block
 * before b's place are differentiated, and those of the blocks `around`. The nodes built carry the locations of the nodes whose
 * derivatives they compute. The derivative of %v is called %v.grad, unless v has a number for a
 * name. A node whose derivatives come from its lowering loses its uses to what the lowering rule
 * builds before it. The field `scratch` of each node that a rule has built at b is the node that it
 * stands for. False after a diagnostic at b's location: operators between have no rule (notes at
 * their nodes list all of them), or extents are not known. */
bool glow_differentiate(GlowBuilder *b, const GlowDerivatives *d);
/* A tensor of the type of v with one value everywhere. NULL after a diagnostic. */
GlowValue *glow_grad_filled(GlowBuilder *b, GlowValue *v, double value);

/* v where the predicate of n holds, else 0; v itself if n has none. A vector predicate holds for
 * rows of v. NULL if v is NULL, or after a diagnostic. */
GlowValue *glow_grad_where(GlowBuilder *b, const GlowNode *n, GlowValue *v);

/* v summed over the axes along which an operand of these dims was repeated to v's shape. NULL if v
 * is NULL, or if these axes cannot be told. */
GlowValue *glow_grad_sum_to(const GlowGrad *g, GlowValue *v, uint32_t rank, const GlowDim *dims);
/* Sets the derivative of operand i to v, summed as above, in the operand's kind; false if v is NULL
 * or that fails. */
bool glow_grad_set(GlowGrad *g, uint32_t i, GlowValue *v);

#endif
