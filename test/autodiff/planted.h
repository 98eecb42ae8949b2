/* A wrong sign in one rule. */
#ifndef GLOW_TEST_AUTODIFF_PLANTED_H
#define GLOW_TEST_AUTODIFF_PLANTED_H

#include "ops/op.h"

/* The rule of `op` gives the derivative by operand i with the other sign. GLOW_OP_COUNT: no rule
 * is wrong. */
void plant(GlowOp op, uint32_t i);
/* Whether the operator has a rule of its own. */
bool has_rule(GlowOp op);

#endif
