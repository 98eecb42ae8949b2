/* Reshape and Identity that change nothing.
 *
 *   Identity(x)                      -> x
 *   Reshape(x), same known type      -> x
 *   Reshape(Reshape(x)), known       -> Reshape(x)
 *
 * A Reshape to a known type by a computed shape gets a constant shape, so that the nodes that
 * compute the shape can be deleted. */
#include "lower/lower.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

static bool replace(GlowPassRun *run, GlowNode *n, GlowValue *by, const char *what) {
  glow_pass_changed(run, n, "%s", what);
  glow_value_replace_uses(&n->results[0], by);
  glow_remove_dead(n);
  return true;
}

/* The value that n reshapes in the end: its operand, or the operand of Reshapes before it that have
 * the same predicate. */
static GlowValue *source(const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_RESHAPE_IN_X);
  for (GlowNode *inner; (inner = glow_value_def(x, GLOW_OP_RESHAPE));) {
    if (inner->pred.value != n->pred.value)
      break;
    x = glow_node_in(inner, GLOW_RESHAPE_IN_X);
  }
  return x;
}

/* Makes the shape operand this list of the result's extents. */
static void make_shape_constant(GlowPassRun *run, GlowNode *n, const int64_t *shape,
                                bool allow_zero) {
  const GlowType *t = n->results[0].type;
  GlowNode *def = NULL;
  GlowValue *old = glow_node_in(n, GLOW_RESHAPE_IN_SHAPE);
  if (old->kind == GLOW_VALUE_RESULT)
    def = old->def.node;
  GlowReshapeMembers *members = n->members;
  members->allow_zero = allow_zero;
  glow_use_set(&n->operands[GLOW_RESHAPE_IN_SHAPE],
               glow_constant_ints(run->module, n, "shape", shape, t->rank));
  if (def)
    glow_remove_dead(def);
}

static bool simplify(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (n->op == GLOW_OP_IDENTITY)
    return replace(run, n, glow_node_in(n, 0), "dropped Identity");
  if (n->op != GLOW_OP_RESHAPE || !glow_type_is_known(n->results[0].type))
    return true;
  GlowValue *direct = glow_node_in(n, GLOW_RESHAPE_IN_X), *x = source(n);
  if (x->type == n->results[0].type)
    return replace(run, n, x, "dropped a Reshape to the same shape");
  bool constant = glow_node_in(n, GLOW_RESHAPE_IN_SHAPE)->kind == GLOW_VALUE_STORAGE;
  const GlowType *t = n->results[0].type;
  int64_t shape[GLOW_MAX_RANK];
  bool allow_zero;
  if ((x == direct && constant) ||
      !glow_reshape_list(x->type, t->rank, t->dims, shape, &allow_zero))
    return true;
  glow_pass_changed(run, n, "%s", x == direct ? "made the shape constant" : "merged two Reshapes");
  make_shape_constant(run, n, shape, allow_zero);
  if (x != direct) {
    GlowNode *inner = direct->def.node;
    glow_use_set(&n->operands[GLOW_RESHAPE_IN_X], x);
    glow_remove_dead(inner);
  }
  return true;
}

bool glow_pass_simplify_reshape(GlowPassRun *run) {
  return glow_block_walk(run->function->body, simplify, run);
}
