/* Losses by classes, as the functions in ONNX's definitions compute them, but for classes below 0.
 * GatherElements would count these from the end; here they are moved out of range, so that they are
 * refused at run time.
 *
 *   loss = -GatherElements(X, class) * Gather(Weight, class), 0 where the class is ignored
 *   mean = sum(loss) / sum of the weights that took part */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Loss {
  GlowBuilder *b;
  const GlowNode *n;
  GlowValue *x, *weight;
  GlowValue *ignored; /* where the class is the ignored one; NULL: nowhere */
  GlowValue *classes; /* i64, in range or refused later */
  GlowValue *zero;    /* of X's kind */
} Loss;

static bool find_classes(Loss *l, GlowValue *target, int64_t ignore) {
  GlowBuilder *b = l->b;
  GlowDim count = l->x->type->dims[1];
  if (count.kind != GLOW_DIM_EXACT)
    return false;
  GlowValue *none = glow_constant_int(b->module, l->n, "zero", 0);
  target = glow_then_cast(b, target, GLOW_KIND_I64);
  if (ignore != INT64_MIN) {
    GlowValue *index = glow_constant_int(b->module, l->n, "ignore", ignore);
    l->ignored = glow_then2(b, GLOW_OP_EQUAL, target, index);
    target = glow_then3(b, GLOW_OP_WHERE, l->ignored, none, target);
  }
  GlowValue *end = glow_constant_int(b->module, l->n, "classes", count.size);
  GlowValue *below = glow_then2(b, GLOW_OP_LESS, target, none);
  GlowValue *outside = glow_then2(b, GLOW_OP_SUB, target, end);
  l->classes = glow_then3(b, GLOW_OP_WHERE, below, outside, target);
  return l->classes != NULL;
}

/* -X at each place's class. */
static GlowValue *unweighted(const Loss *l) {
  GlowBuilder *b = l->b;
  GlowValue *axis = glow_constant_ints(b->module, l->n, "axis", (int64_t[]){1}, 1);
  GlowValue *index = glow_then2(b, GLOW_OP_UNSQUEEZE, l->classes, axis);
  GlowGatherElementsMembers m = {.axis = 1};
  GlowValue *picked = index ? glow_build2(b, GLOW_OP_GATHER_ELEMENTS, l->x, index, &m, NULL) : NULL;
  GlowValue *plain = glow_then2(b, GLOW_OP_SQUEEZE, picked, axis);
  return plain ? glow_build1(b, GLOW_OP_NEG, plain, NULL, NULL) : NULL;
}

/* The weight of each place; *none if all are 1. */
static GlowValue *weights(const Loss *l, bool *none) {
  GlowValue *w = NULL;
  *none = !l->weight && !l->ignored;
  if (*none)
    return NULL;
  if (l->weight)
    w = glow_build2(l->b, GLOW_OP_GATHER, l->weight, l->classes, &(GlowGatherMembers){.axis = 0},
                    NULL);
  else
    w = glow_build_scalar(l->b, l->x->type->kind, 1);
  return l->ignored ? glow_then3(l->b, GLOW_OP_WHERE, l->ignored, l->zero, w) : w;
}

static GlowValue *reduced(GlowBuilder *b, GlowOp op, GlowValue *x) {
  /* All reductions have the same members. */
  GlowReduceSumMembers all = {.keep = false, .noop = false};
  return x ? glow_build1(b, op, x, &all, NULL) : NULL;
}

static GlowValue *build_loss(Loss *l, GlowValue *target, int reduction, int64_t ignore) {
  GlowBuilder *b = l->b;
  bool unit;
  if (l->x->type->unranked || !find_classes(l, target, ignore))
    return NULL;
  l->zero = glow_build_scalar(b, l->x->type->kind, 0);
  GlowValue *loss = unweighted(l);
  GlowValue *w = weights(l, &unit);
  if (!loss || (!unit && !w))
    return NULL;
  if (l->weight)
    loss = glow_then2(b, GLOW_OP_MUL, loss, w);
  if (l->ignored)
    loss = glow_then3(b, GLOW_OP_WHERE, l->ignored, l->zero, loss);
  if (reduction == GLOW_LOSS_REDUCTION_NONE)
    return loss;
  if (reduction == GLOW_LOSS_REDUCTION_MEAN && unit)
    return reduced(b, GLOW_OP_REDUCE_MEAN, loss);
  GlowValue *sum = reduced(b, GLOW_OP_REDUCE_SUM, loss);
  if (reduction == GLOW_LOSS_REDUCTION_SUM)
    return sum;
  GlowValue *total = reduced(b, GLOW_OP_REDUCE_SUM, w);
  return glow_then2(b, GLOW_OP_DIV, sum, total);
}

bool glow_lower_negative_log_likelihood_loss(GlowBuilder *b, const GlowNode *n,
                                             GlowValue **results) {
  const GlowNegativeLogLikelihoodLossMembers *m = n->members;
  Loss l = {.b = b,
            .n = n,
            .x = glow_node_in(n, GLOW_NEGATIVE_LOG_LIKELIHOOD_LOSS_IN_X),
            .weight = glow_node_in(n, GLOW_NEGATIVE_LOG_LIKELIHOOD_LOSS_IN_WEIGHT)};
  results[0] = build_loss(&l, glow_node_in(n, GLOW_NEGATIVE_LOG_LIKELIHOOD_LOSS_IN_TARGET),
                          m->reduction, m->ignore_index);
  return results[0] != NULL;
}

bool glow_lower_softmax_cross_entropy_loss(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowSoftmaxCrossEntropyLossMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_SOFTMAX_CROSS_ENTROPY_LOSS_IN_X);
  GlowValue *log =
      glow_build1(b, GLOW_OP_LOG_SOFTMAX, x, &(GlowLogSoftmaxMembers){.axis = 1}, NULL);
  GlowNegativeLogLikelihoodLossMembers nll = {.reduction = m->reduction,
                                              .ignore_index = m->ignore_index};
  GlowValue *ins[] = {log, glow_node_in(n, GLOW_SOFTMAX_CROSS_ENTROPY_LOSS_IN_TARGET),
                      glow_node_in(n, GLOW_SOFTMAX_CROSS_ENTROPY_LOSS_IN_WEIGHT)};
  GlowNode *loss =
      log ? glow_build(b, GLOW_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS, ins, ins[2] ? 3 : 2, &nll, NULL)
          : NULL;
  if (!loss)
    return false;
  results[0] = &loss->results[0];
  if (n->nresults > 1)
    results[1] = log;
  return true;
}
