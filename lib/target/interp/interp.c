/* The family `interp`: the interpreter, which runs everything, in the plain layout. */
#include "target/target.h"

static const GlowTarget interp = {"interp", &glow_target_family_interp, NULL};

/* It has all elements of a map before it pools the first. */
static bool fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why) {
  (void)t, (void)into;
  *why = "the interpreter stores what it pools";
  return n->op != GLOW_OP_MAX_POOL;
}

const GlowTargetFamily glow_target_family_interp = {
    .about = "the interpreter",
    .targets = &interp,
    .count = 1,
    .passes = {NULL, "shrink-lifetimes,plan-memory"},
    .fuses = fuses};
