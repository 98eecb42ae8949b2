/* The table of rules that the sweep finds in place of the generated one: each entry calls the rule
 * of the generated table, and turns the sign where one is planted. */
#include "test/autodiff/planted.h"

#include "autodiff/autodiff.h"
#define glow_grad_hooks true_hooks
#include "ops/grad.c"
#undef glow_grad_hooks
#include "lower/lower.h"

static GlowOp wrong_op = GLOW_OP_COUNT;
static uint32_t wrong_operand;

void plant(GlowOp op, uint32_t i) {
  wrong_op = op;
  wrong_operand = i;
}

bool has_rule(GlowOp op) { return true_hooks[op] != NULL; }

static bool run_rule(GlowGrad *g) {
  bool ok = true_hooks[g->n->op](g);
  uint32_t i = wrong_operand;
  if (!ok || g->n->op != wrong_op || i >= glow_node_nins(g->n) || !g->dx[i])
    return ok;
  g->dx[i] = glow_then1(g->b, GLOW_OP_NEG, g->dx[i], NULL);
  return g->dx[i] != NULL;
}

extern GlowGradFn *const glow_grad_hooks[GLOW_OP_COUNT];
GlowGradFn *const glow_grad_hooks[GLOW_OP_COUNT] = {[0 ... GLOW_OP_COUNT - 1] = run_rule};
