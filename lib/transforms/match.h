/* Formulas: how the passes that recognize operators say what they look for.
 *
 *   Div(e=Exp(Sub(x, ReduceMax(x, a))), ReduceSum(e, b))
 *
 *   Add(p, q)   a node of this operator; operands of commutative ones match in either order
 *   x           any value; the same value wherever the letter stands
 *   e=p         a value that matches p; the same value wherever the letter stands
 *   ~x          a value that can be computed before the program runs (glow_constness_of)
 *   #a          a constant whose elements are all one number, which glow_match_number returns
 *   1.41421356  a constant whose elements are all this number, within two units of roundoff of
 *               their kind
 *   _           any value
 *   {p | q}     a value that matches p or q, tried in this order
 *
 * All nodes of a match have the root's predicate, and nothing outside of the match uses the nodes
 * below the root. Two known constants of equal bits count as the same value, since importers do not
 * share them. */
#ifndef GLOW_TRANSFORMS_MATCH_H
#define GLOW_TRANSFORMS_MATCH_H

#include "backend/interp/values.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

#define GLOW_MATCH_NODES 40

typedef struct GlowMatch {
  GlowNode *root;
  GlowConstness *constness;
  GlowValues *values;               /* of constants */
  GlowValue *value[26];             /* by letter; NULL if it does not occur */
  double number[26];                /* of #a */
  GlowNode *node[GLOW_MATCH_NODES]; /* the nodes of the match; the first is the root */
  uint32_t count;                   /* of nodes */
} GlowMatch;

/* The value of a letter. */
static inline GlowValue *glow_match_value(const GlowMatch *m, char letter) {
  return m->value[letter - 'a'];
}
static inline double glow_match_number(const GlowMatch *m, char letter) {
  return m->number[letter - 'a'];
}
/* The node that defines the value of a letter. */
static inline GlowNode *glow_match_def(const GlowMatch *m, char letter) {
  return m->value[letter - 'a']->def.node;
}

/* One formula and what is built in its place. `build` returns the value for the root's result, or
 * NULL (with nothing built) if the match does not qualify. A value of another type than the root's
 * is not used. */
typedef struct GlowFormula {
  const char *text;
  GlowValue *(*build)(GlowBuilder *b, const GlowMatch *m);
} GlowFormula;

/* Replaces what matches, from the end of the function to its start, so that the largest match wins;
 * of several formulas with the same root the first. `what` names the result in remarks. */
bool glow_recognize(GlowPassRun *run, const char *what, const GlowFormula *formulas,
                    uint32_t count);

/* Sets *number to the one number that all elements of v are; false if there is none. Looks through
 * Cast between floating-point kinds, Reshape and the like, and into small eval constants, which
 * `values` evaluates. */
bool glow_value_number(GlowValues *values, const GlowValue *v, double *number);
/* Half the distance of 1 and the next number of a floating-point kind; 0 for other kinds. */
double glow_kind_roundoff(GlowKind kind);
/* Whether both are the same value, or known constants of equal bits. */
bool glow_values_equal(const GlowValue *a, const GlowValue *b);
/* The reduced axes of a Reduce node as a mask, from its operand Axes. False if they are not known
 * or it drops the axes (keep = false). */
bool glow_reduced_axes(const GlowNode *n, uint32_t *mask);
/* The axis if the mask has one; -1 otherwise. */
int64_t glow_single_axis(uint32_t mask);
/* Whether v is NULL, or a tensor of x's kind that has extents other than 1 only along x's axes from
 * `axis` on, where they are those of x. */
bool glow_stands_along(const GlowValue *v, const GlowType *x, int64_t axis);

#endif
