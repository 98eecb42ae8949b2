/* Softmax = e / ReduceSum(e) with e = Exp(X - ReduceMax(X)), and
 * LogSoftmax = (X - ReduceMax(X)) - Log(ReduceSum(Exp(X - ReduceMax(X)))), along one axis. */
#include "lower/lower.h"
#include "ops/lower.h"

/* What both share: X - max, its exponential, and the sum of that. */
typedef struct Parts {
  GlowValue *shifted, *exponential, *sum;
} Parts;

static bool build_parts(GlowBuilder *b, const GlowNode *n, int64_t axis, Parts *p) {
  GlowValue *x = glow_node_in(n, 0);
  GlowValue *axes = glow_constant_ints(b->module, n, "axis", &axis, 1);
  GlowValue *max = glow_build_reduce(b, GLOW_OP_REDUCE_MAX, x, axes);
  p->shifted = max ? glow_build2(b, GLOW_OP_SUB, x, max, NULL, NULL) : NULL;
  p->exponential = p->shifted ? glow_build1(b, GLOW_OP_EXP, p->shifted, NULL, NULL) : NULL;
  p->sum = p->exponential ? glow_build_reduce(b, GLOW_OP_REDUCE_SUM, p->exponential, axes) : NULL;
  return p->sum != NULL;
}

bool glow_lower_softmax(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Parts p;
  if (!build_parts(b, n, ((const GlowSoftmaxMembers *)n->members)->axis, &p))
    return false;
  results[0] = glow_build2(b, GLOW_OP_DIV, p.exponential, p.sum, NULL, NULL);
  return results[0] != NULL;
}

bool glow_lower_log_softmax(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Parts p;
  if (!build_parts(b, n, ((const GlowLogSoftmaxMembers *)n->members)->axis, &p))
    return false;
  GlowValue *log = glow_build1(b, GLOW_OP_LOG, p.sum, NULL, NULL);
  results[0] = log ? glow_build2(b, GLOW_OP_SUB, p.shifted, log, NULL, NULL) : NULL;
  return results[0] != NULL;
}
