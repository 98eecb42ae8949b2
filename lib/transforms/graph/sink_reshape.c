/* Moves Reshapes below element-wise nodes. Then an element-wise node directly follows the node that
 * computes its operand, and Reshapes follow each other and can be merged:
 *
 *   f(Reshape(x), c)            -> Reshape(f(x, c)), where c broadcasts along last axes that
 *                                  both shapes have
 *   f(Reshape(x), c)            -> Reshape(f(x, Reshape(c))), where c is constant and the shapes
 *                                  differ in axes of extent 1 alone
 *   f(Reshape(x), Reshape(y))   -> Reshape(f(x, y)), x and y of one shape
 *
 * A Reshape moves only if the node is its one user. It stays where that parts the node from what
 * computes c: c has an element for each of the result and is computed by a contraction or an
 * element-wise node, as what is reshaped is not. */
#include "transforms/rules.h"

static bool same_dims(const GlowType *a, const GlowType *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Whether v broadcasts along axes that t and `from` have in common at their ends. */
static bool broadcasts_alike(const GlowType *v, const GlowType *t, const GlowType *from) {
  if (v->rank > t->rank || v->rank > from->rank)
    return false;
  for (uint32_t i = 1; i <= v->rank; i++)
    if (!glow_dim_equals(t->dims[t->rank - i], from->dims[from->rank - i]))
      return false;
  return true;
}

/* The type from which all operands of n are reshaped, but for those that broadcast. */
static const GlowType *common_source(const GlowNode *n) {
  const GlowType *t = n->results[0].type, *from = NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (!v)
      continue;
    if (!glow_type_is_known(v->type) || v->type->layout)
      return NULL;
    const GlowNode *reshape = glow_match(v, GLOW_OP_RESHAPE, n);
    const GlowType *x = reshape ? glow_node_in(reshape, 0)->type : NULL;
    if (!reshape || !same_dims(v->type, t))
      continue;
    if (!glow_type_is_known(x) || x->layout || !glow_value_has_one_use(v) ||
        (from && !same_dims(from, x)))
      return NULL;
    from = x;
  }
  return from;
}

/* Sets dims to the extents that c needs beside `from`, while it has those that it needs beside t.
 * False unless `from` and t differ in axes of extent 1 alone. */
static bool dims_above(const GlowType *c, const GlowType *t, const GlowType *from, GlowDim *dims) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < from->rank; i++) {
    dims[i] = GLOW_EXACT(1);
    if (glow_dim_is_exact(from->dims[i], 1))
      continue;
    while (k < t->rank && glow_dim_is_exact(t->dims[k], 1))
      k++;
    if (k == t->rank || !glow_dim_equals(t->dims[k], from->dims[i]))
      return false;
    if (k + c->rank >= t->rank)
      dims[i] = c->dims[k + c->rank - t->rank];
    k++;
  }
  while (k < t->rank && glow_dim_is_exact(t->dims[k], 1))
    k++;
  return k == t->rank && c->rank <= t->rank;
}

/* Whether n and what computes an operand would no longer be of one shape, with nothing gained. */
static bool parts(const GlowNode *n, const GlowType *from) {
  const GlowType *t = n->results[0].type;
  bool loses = false, gains = false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowNode *reshape = v ? glow_match(v, GLOW_OP_RESHAPE, n) : NULL;
    if (reshape)
      gains |= glow_value_is_computed(glow_node_in(reshape, 0));
    else
      loses |= v && same_dims(v->type, t) && !same_dims(t, from) && glow_value_is_computed(v);
  }
  return loses && !gains;
}

/* Operand i of the new node that will stand above the Reshape; NULL if there is none. */
static GlowValue *operand_above(GlowNode *n, uint32_t i, const GlowType *from) {
  GlowValue *v = glow_node_in(n, i);
  const GlowType *t = n->results[0].type;
  const GlowNode *reshape = glow_match(v, GLOW_OP_RESHAPE, n);
  if (reshape && same_dims(v->type, t))
    return glow_node_in(reshape, 0);
  if (broadcasts_alike(v->type, t, from))
    return v;
  GlowDim dims[GLOW_MAX_RANK];
  if (!glow_value_is_constant(v) || !glow_op_moves(GLOW_OP_RESHAPE, v->type) ||
      !dims_above(v->type, t, from, dims))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  return glow_build_reshape(&b, n, v, from->rank, dims);
}

static bool sink(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  const GlowType *t = n->results[0].type, *from;
  if (!glow_node_is_elementwise(n) || !glow_type_is_known(t) || t->layout ||
      !glow_op_moves(GLOW_OP_RESHAPE, t) || !(from = common_source(n)) || parts(n, from))
    return true;
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    ins[i] = glow_node_in(n, i) ? operand_above(n, i, from) : NULL;
    if (glow_node_in(n, i) && !ins[i])
      return true;
  }
  const GlowType *above_type = glow_type_with_dims(run->ctx, t, from->rank, from->dims);
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {
      .op = n->op, .ins = ins, .nins = n->noperands, .members = n->members, .types = &above_type};
  GlowNode *above = glow_node_create(&b, &spec);
  GlowValue *below = above ? glow_build_reshape(&b, n, &above->results[0], t->rank, t->dims) : NULL;
  if (below)
    glow_replace_by(run, n, below, "moved a Reshape down");
  return true;
}

static bool visit(GlowNode *n, void *arg) { return n->nresults != 1 || sink(n, arg); }

bool glow_pass_sink_reshape(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, visit, run);
  return glow_context_error_count(run->ctx) == errors;
}
