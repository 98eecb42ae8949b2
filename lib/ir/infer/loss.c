/* Inference of losses: X is [N, C, ...], Target [N, ...], Weight [C]. */
#include "ir/infer/hooks.h"

static bool check_target(const GlowInfer *in, const GlowType *x, const GlowType *target,
                         GlowDim *dims) {
  bool fits = target->rank + 1 == x->rank;
  for (uint32_t i = 0; fits && i < target->rank; i++)
    fits = glow_dim_meet(target->dims[i], x->dims[i ? i + 1 : 0], &dims[i]);
  return fits ||
         glow_infer_error(in, "Target has type %s, which is not that of X without its classes, %s",
                          glow_type_str(in->ctx, target), glow_type_str(in->ctx, x));
}

/* Both losses have the same operands. */
static bool loss(GlowInfer *in, int reduction) {
  const GlowType *x = in->in[0], *target = in->in[1], *weight = glow_infer_in(in, 2);
  GlowDim dims[GLOW_MAX_RANK], classes;
  if (!x->unranked && x->rank < 2)
    return glow_infer_error(in, "X must have rank 2 at least, but has type %s",
                            glow_type_str(in->ctx, x));
  if (weight && !weight->unranked &&
      (weight->rank != 1 ||
       (!x->unranked && !glow_dim_meet(weight->dims[0], x->dims[1], &classes))))
    return glow_infer_error(in, "Weight has type %s, expected one number for each class of X, %s",
                            glow_type_str(in->ctx, weight), glow_type_str(in->ctx, x));
  bool known = !x->unranked && !target->unranked;
  if (known && !check_target(in, x, target, dims))
    return false;
  if (reduction != GLOW_LOSS_REDUCTION_NONE)
    return glow_infer_set(in, 0, x, 0, NULL);
  return known ? glow_infer_set(in, 0, x, target->rank, dims)
               : glow_infer_set_unknown(in, 0, x, -1);
}

bool glow_infer_negative_log_likelihood_loss(GlowInfer *in) {
  const GlowNegativeLogLikelihoodLossMembers *m = in->members;
  return loss(in, m->reduction);
}

bool glow_infer_softmax_cross_entropy_loss(GlowInfer *in) {
  const GlowSoftmaxCrossEntropyLossMembers *m = in->members;
  glow_infer_put(in, GLOW_SOFTMAX_CROSS_ENTROPY_LOSS_OUT_LOG_PROB,
                 in->in[GLOW_SOFTMAX_CROSS_ENTROPY_LOSS_IN_X]);
  return loss(in, m->reduction);
}
