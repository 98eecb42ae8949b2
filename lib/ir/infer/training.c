/* Verification of training operators: what goes with a weight has its shape, a rate is one number,
 * and members are in the ranges in which the formulas mean something. */
#include "ir/infer/hooks.h"

/* Operands first..last of n must have the shape of operand 0. */
static bool check_shapes(const GlowNode *n, uint32_t first, uint32_t last) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, 0)->type;
  for (uint32_t i = first; i <= last; i++) {
    const GlowType *t = glow_node_in(n, i)->type;
    bool fits = x->unranked || t->unranked || x->rank == t->rank;
    for (uint32_t k = 0; fits && !x->unranked && !t->unranked && k < x->rank; k++) {
      GlowDim same;
      fits = glow_dim_meet(x->dims[k], t->dims[k], &same);
    }
    if (!fits)
      return glow_verify_error(n, "%s has type %s, expected the shape of %s, %s",
                               glow_node_desc(n)->in[i].name, glow_type_str(ctx, t),
                               glow_node_desc(n)->in[0].name, glow_type_str(ctx, x));
  }
  return true;
}

static bool check_rate(const GlowNode *n, uint32_t i) {
  const GlowType *t = glow_node_in(n, i)->type;
  return t->unranked || t->rank == 0 ||
         glow_verify_error(n, "Rate has type %s, expected one number of rank 0",
                           glow_type_str(n->block->module->ctx, t));
}

/* NaN is in no range. */
static bool check_range(const GlowNode *n, const char *name, GlowScalar v, bool below_one) {
  if (v.f >= 0 && (below_one ? v.f < 1 : v.f <= 1.7976931348623157e308))
    return true;
  return glow_verify_error(n, "%s is %g, expected %s", name, v.f,
                           below_one ? "at least 0 and less than 1" : "a number of at least 0");
}

bool glow_verify_sgd(const GlowNode *n) {
  const GlowSGDMembers *m = n->members;
  return check_shapes(n, GLOW_SGD_IN_GRADIENT, GLOW_SGD_IN_GRADIENT) &&
         check_rate(n, GLOW_SGD_IN_RATE) && check_range(n, "decay", m->decay, false);
}

bool glow_verify_momentum(const GlowNode *n) {
  const GlowMomentumMembers *m = n->members;
  return check_shapes(n, GLOW_MOMENTUM_IN_GRADIENT, GLOW_MOMENTUM_IN_VELOCITY) &&
         check_rate(n, GLOW_MOMENTUM_IN_RATE) && check_range(n, "momentum", m->momentum, true) &&
         check_range(n, "decay", m->decay, false);
}

bool glow_verify_adam(const GlowNode *n) {
  const GlowAdamMembers *m = n->members;
  return check_shapes(n, GLOW_ADAM_IN_GRADIENT, GLOW_ADAM_IN_V) &&
         check_rate(n, GLOW_ADAM_IN_RATE) && check_range(n, "beta1", m->beta1, true) &&
         check_range(n, "beta2", m->beta2, true) && check_range(n, "epsilon", m->epsilon, false) &&
         check_range(n, "decay", m->decay, false);
}

bool glow_verify_regression(const GlowNode *n) {
  return check_shapes(n, GLOW_REGRESSION_IN_EXPECTED, GLOW_REGRESSION_IN_EXPECTED);
}
