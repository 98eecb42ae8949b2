/* BatchNormalization = (X - Mean) / sqrt(Var + epsilon) * Scale + Bias, in this order:
 *
 *   Add(Mul(Div(Sub(X, Mean'), Sqrt(Var + epsilon)'), Scale'), Bias')
 *
 * where ' is a Reshape of [C] to [C, 1, ...] that stands along axis 1 of X. */
#include "lower/lower.h"
#include "ops/lower.h"

/* The shape [C, 1, ...] that broadcasts along axis 1 of a tensor of that rank, or NULL if [C] does.
 */
static GlowValue *channel_shape(GlowBuilder *b, const GlowNode *n, const GlowType *x,
                                const GlowType *scale) {
  int64_t shape[GLOW_MAX_RANK];
  if (x->rank <= 2)
    return NULL;
  shape[0] = scale->dims[0].kind == GLOW_DIM_EXACT ? scale->dims[0].size : -1;
  for (uint32_t i = 1; i < x->rank - 1; i++)
    shape[i] = 1;
  return glow_constant_ints(b->module, n, "shape", shape, x->rank - 1);
}

static GlowValue *along_channels(GlowBuilder *b, GlowValue *v, GlowValue *shape) {
  GlowReshapeMembers members = {.allow_zero = v && v->type->dims[0].size == 0};
  return v && shape ? glow_build2(b, GLOW_OP_RESHAPE, v, shape, &members, NULL) : v;
}

/* op(x, y'), or NULL if one before failed. */
static GlowValue *step(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *shape) {
  y = along_channels(b, y, shape);
  return x && y ? glow_build2(b, op, x, y, NULL, NULL) : NULL;
}

bool glow_lower_batch_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowBatchNormalizationMembers *members = n->members;
  GlowValue *x = glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X);
  GlowValue *var = glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_VAR);
  const GlowType *scale = glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_SCALE)->type;
  if (x->type->unranked || var->type->unranked || scale->unranked || scale->rank != 1)
    return false;
  GlowValue *shape = channel_shape(b, n, x->type, scale);
  GlowValue *epsilon = glow_build_scalar(b, var->type->kind, members->epsilon);
  GlowValue *sum = epsilon ? glow_build2(b, GLOW_OP_ADD, var, epsilon, NULL, NULL) : NULL;
  GlowValue *deviation = sum ? glow_build1(b, GLOW_OP_SQRT, sum, NULL, NULL) : NULL;

  GlowValue *y = step(b, GLOW_OP_SUB, x, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_MEAN), shape);
  y = step(b, GLOW_OP_DIV, y, deviation, shape);
  y = step(b, GLOW_OP_MUL, y, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_SCALE), shape);
  y = step(b, GLOW_OP_ADD, y, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_BIAS), shape);
  results[0] = y;
  return y != NULL;
}
