/* The family `interp`: the interpreter, which runs everything, in the plain layout. */
#include "target/target.h"

static const GlowTarget interp = {"interp", &glow_target_family_interp, NULL};

/* It has all elements of a map before it pools the first. */
static bool fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why) {
  (void)t, (void)into;
  *why = "the interpreter stores what it pools";
  return n->op != GLOW_OP_MAX_POOL;
}

/* Kernels convert what they load and store, but for strategies with numbers of their own; weights
 * are better converted once. */
static bool stores(const GlowTarget *t, const GlowNode *n, uint32_t i, GlowKind kind) {
  const GlowConvolutionMembers *m = n->op == GLOW_OP_CONVOLUTION ? n->members : NULL;
  (void)t, (void)kind;
  if ((n->op == GLOW_OP_MAT_MUL && i == n->nouts + GLOW_MAT_MUL_IN_B) ||
      (m && i == n->nouts + GLOW_CONVOLUTION_IN_W))
    return false;
  return !m || (m->strategy == GLOW_CONV_STRATEGY_DIRECT && !m->pool_kernels.count);
}

const GlowTargetFamily glow_target_family_interp = {
    .about = "the interpreter",
    .targets = &interp,
    .count = 1,
    .passes = {NULL, "shrink-lifetimes,plan-memory"},
    .fuses = fuses,
    .stores = stores};
