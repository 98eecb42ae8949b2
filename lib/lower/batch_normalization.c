/* BatchNormalization = (X - Mean) / sqrt(Var + epsilon) * Scale + Bias, in this order:
 *
 *   Add(Mul(Div(Sub(X, Mean'), Sqrt(Var + epsilon)'), Scale'), Bias')
 *
 * where ' is a Reshape of [C] to [C, 1, ...] that stands along axis 1 of X. */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_batch_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowBatchNormalizationMembers *members = n->members;
  static const struct {
    GlowOp op;
    uint32_t operand;
  } steps[] = {{GLOW_OP_SUB, GLOW_BATCH_NORMALIZATION_IN_MEAN},
               {GLOW_OP_DIV, GLOW_BATCH_NORMALIZATION_IN_VAR},
               {GLOW_OP_MUL, GLOW_BATCH_NORMALIZATION_IN_SCALE},
               {GLOW_OP_ADD, GLOW_BATCH_NORMALIZATION_IN_BIAS}};
  GlowValue *y = glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X);
  uint32_t rank = y->type->rank;
  if (y->type->unranked)
    return false;
  for (uint32_t i = 0; i < 4; ++i) {
    GlowValue *v = glow_node_in(n, steps[i].operand);
    if (v->type->unranked)
      return false;
    if (steps[i].op == GLOW_OP_DIV) {
      GlowValue *epsilon = glow_build_scalar(b, v->type->kind, (double)members->epsilon);
      v = glow_then1(b, GLOW_OP_SQRT, glow_then2(b, GLOW_OP_ADD, v, epsilon), NULL);
    }
    y = glow_then2(b, steps[i].op, y, glow_along_channels(b, n, v, rank));
  }
  results[0] = y;
  return y != NULL;
}
