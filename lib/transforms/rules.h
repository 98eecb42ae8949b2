/* Rewrite rules: what passes share that consist of small patterns for single nodes.
 *
 * A rule looks at one node and returns the value that takes the place of its result, NULL if it
 * does not apply, or the result itself if it changed the node in place. The driver checks that the
 * value's type says no less than that of the result, so a rule need not ask about shapes that
 * broadcasting changes. */
#ifndef GLOW_TRANSFORMS_RULES_H
#define GLOW_TRANSFORMS_RULES_H

#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct GlowRule {
  GlowOp op;
  GlowValue *(*apply)(GlowPassRun *run, GlowNode *n);
  const char *what; /* for remarks: what became what */
} GlowRule;

/* Applies the rules of each node's operator in order, again to what replaces it, over the whole
 * function. False if a rule left a diagnostic. */
bool glow_rules_run(GlowPassRun *run, const GlowRule *rules, uint32_t count);

/* Puts `by` in the place of n's only result, with a remark, and removes what is dead then. */
void glow_replace_by(GlowPassRun *run, GlowNode *n, GlowValue *by, const char *what);

/* The node of operator op that defines v, if values may be merged between it and `user`: their
 * predicates are equal. */
GlowNode *glow_match(const GlowValue *v, GlowOp op, const GlowNode *user);
/* Whether every element of v is `want`, which float kinds compare with its sign. Never for
 * quantized types. */
bool glow_value_is_all(const GlowValue *v, double want);
/* Whether v is constant storage or a Splat. */
bool glow_value_is_constant(const GlowValue *v);
/* Whether a movement operator (Transpose, Reshape) takes values of type t. */
bool glow_op_moves(GlowOp op, const GlowType *t);
bool glow_value_has_one_use(const GlowValue *v);
/* A Splat of n's result type. */
GlowValue *glow_splat_like(GlowNode *n, double value);

/* The operand's known integers; a constant of at most GLOW_MAX_FOLDED_BYTES. NULL if unknown. */
const int64_t *glow_known_ints(GlowPassRun *run, const GlowNode *n, uint32_t operand,
                               uint32_t *count);

#endif
