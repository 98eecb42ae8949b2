/* Rewrite rules: shared by passes that consist of small patterns for single nodes.
 *
 * A rule looks at one node. It returns the value that takes the place of the node's result, NULL if
 * the rule does not apply, or the result itself if the rule changed the node in place. The driver
 * (rules.c) uses the value only if its type says no less than that of the result, so a rule need
 * not ask about shapes that broadcasting changes. */
#ifndef GLOW_TRANSFORMS_RULES_H
#define GLOW_TRANSFORMS_RULES_H

#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct GlowRule {
  GlowOp op;
  GlowValue *(*apply)(GlowPassRun *run, GlowNode *n);
  const char *what; /* for remarks: what became what */
} GlowRule;

/* Applies to each node of the function the rules of its operator, in order, and applies rules again
 * to a new node that replaces it. False if a rule left a diagnostic. */
bool glow_rules_run(GlowPassRun *run, const GlowRule *rules, uint32_t count);

/* Puts `by` in the place of n's only result, or values in the place of all of its results, with a
 * remark, and removes what is dead then. */
void glow_replace_by(GlowPassRun *run, GlowNode *n, GlowValue *by, const char *what);
/* Whether the extents of n's only result have symbols, and follow from its operands for certain:
 * not because the text says so. Its elements are data in plain order. */
bool glow_extents_follow(const GlowNode *n);
void glow_replace_all(GlowPassRun *run, GlowNode *n, GlowValue *const *values, const char *what);

/* The node that defines v, if its operator is op and it has the predicate of `user`, so that both
 * may be merged. NULL otherwise. */
GlowNode *glow_match(const GlowValue *v, GlowOp op, const GlowNode *user);
/* Whether every element of v is `want`; of float kinds, with the same sign, so that 0 is not -0.
 * False for quantized types. */
bool glow_value_is_all(const GlowValue *v, double want);
/* Whether v is constant storage or a Splat. */
bool glow_value_is_constant(const GlowValue *v);
/* Whether a movement operator (Transpose, Reshape) takes values of type t. */
bool glow_op_moves(GlowOp op, const GlowType *t);
bool glow_value_has_one_use(const GlowValue *v);
/* Whether n computes each element of its one result from the elements of its operands at the same
 * place, and from nothing else. */
bool glow_node_is_elementwise(const GlowNode *n);
/* Whether a contraction or an element-wise node computes v for one user, so that both may become
 * one loop. */
bool glow_value_is_computed(const GlowValue *v);
/* A Splat of n's result type; NULL if that is not static, is quantized or has a layout. */
GlowValue *glow_splat_like(GlowNode *n, double value);

/* The operand's known integers; a constant of at most GLOW_MAX_FOLDED_BYTES. NULL if unknown. */
const int64_t *glow_known_ints(GlowPassRun *run, const GlowNode *n, uint32_t operand,
                               uint32_t *count);

#endif
