/* Chains of Transpose.
 *
 *   Transpose(x) by the identity           -> x
 *   Transpose(Transpose(x))                -> Transpose(x) by the product of both
 *   Transpose that only moves axes of      -> Reshape(x)
 *   extent 1
 *   Transpose(MatMul(Transpose(x), y))     -> MatMul(Transpose(y), x), of matrices
 *
 * The last one is what a derivative by a weight is that was transposed for its product. Exact: each
 * element is the same chain over k. */
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Perm {
  uint32_t rank, axis[GLOW_MAX_RANK]; /* result axis i is axis[i] of the operand */
} Perm;

static bool read_perm(const GlowNode *n, Perm *p) {
  const GlowTransposeMembers *m = n->members;
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_tensor(t) || t->unranked)
    return false;
  p->rank = t->rank;
  for (uint32_t i = 0; i < t->rank; i++)
    p->axis[i] = m->perm.count ? glow_array_at(m->perm, uint32_t, i) : t->rank - 1 - i;
  return true;
}

static bool is_identity(const Perm *p) {
  for (uint32_t i = 0; i < p->rank; i++)
    if (p->axis[i] != i)
      return false;
  return true;
}

/* Whether all axes but those of extent 1 keep their order: such a Transpose moves no data. */
static bool moves_nothing(const Perm *p, const GlowType *x) {
  int64_t last = -1;
  if (!glow_type_is_known(x))
    return false;
  for (uint32_t i = 0; i < p->rank; i++) {
    if (glow_dim_is_exact(x->dims[p->axis[i]], 1))
      continue;
    if ((int64_t)p->axis[i] < last)
      return false;
    last = p->axis[i];
  }
  return true;
}

/* ---- Products -------------------------------------------------------------------------------- */

/* What a Transpose of a matrix transposes; NULL: v is something else. */
static GlowValue *matrix_of(GlowValue *v, const GlowNode *pred_of) {
  GlowNode *n = glow_value_def(v, GLOW_OP_TRANSPOSE);
  Perm p;
  bool swaps = n && n->pred.value == pred_of->pred.value && read_perm(n, &p) && p.rank == 2 &&
               p.axis[0] == 1;
  return swaps ? glow_node_in(n, 0) : NULL;
}

/* v transposed, by a new node unless v is a Transpose itself. */
static GlowValue *transposed(GlowBuilder *b, GlowValue *v, const GlowNode *pred_of) {
  static const uint32_t swap[] = {1, 0};
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, swap, 2)};
  GlowValue *x = matrix_of(v, pred_of);
  return x ? x : glow_build1(b, GLOW_OP_TRANSPOSE, v, &members, NULL);
}

/* Turns a transposed product around, whose factors are transposed then. NULL: n is no such product,
 * something else uses it, or no factor gets rid of a Transpose. */
static GlowValue *turn_product(GlowPassRun *run, GlowBuilder *b, GlowNode *n) {
  GlowNode *product = glow_value_def(glow_node_in(n, 0), GLOW_OP_MAT_MUL);
  if (!product || glow_node_is_narrow(product) || !glow_product_is_direct(product) ||
      !matrix_of(&n->results[0], n) || product->pred.value != n->pred.value ||
      product->results[0].uses->next)
    return NULL;
  GlowValue *left = glow_node_in(product, GLOW_MAT_MUL_IN_A);
  GlowValue *right = glow_node_in(product, GLOW_MAT_MUL_IN_B);
  if (left->type->rank != 2 || right->type->rank != 2 ||
      !(matrix_of(left, n) || matrix_of(right, n)))
    return NULL;
  glow_pass_changed(run, n, "turned a product around");
  GlowValue *first = transposed(b, right, n), *second = transposed(b, left, n);
  return first && second ? glow_build2(b, GLOW_OP_MAT_MUL, first, second, NULL, NULL) : NULL;
}

/* ---- All rewrites ---------------------------------------------------------------------------- */

/* Makes one rewrite of n. False if none applies. */
static bool rewrite(GlowPassRun *run, GlowNode *n) {
  GlowValue *x = glow_node_in(n, 0);
  GlowNode *inner = glow_value_def(x, GLOW_OP_TRANSPOSE);
  Perm p, q;
  if (!read_perm(n, &p))
    return false;
  if (is_identity(&p)) {
    glow_pass_changed(run, n, "dropped a Transpose that moves nothing");
    glow_value_replace_uses(&n->results[0], x);
    glow_remove_dead(n);
    return true;
  }
  GlowBuilder b = glow_builder_before(n);
  GlowValue *y = NULL;
  if (inner && inner->pred.value == n->pred.value && read_perm(inner, &q)) {
    uint32_t product[GLOW_MAX_RANK];
    for (uint32_t i = 0; i < p.rank; i++)
      product[i] = q.axis[p.axis[i]];
    GlowTransposeMembers members = {.perm = glow_array_u32(run->module, product, p.rank)};
    glow_pass_changed(run, n, "merged two Transposes");
    y = glow_build1(&b, GLOW_OP_TRANSPOSE, glow_node_in(inner, 0), &members, NULL);
  } else if (moves_nothing(&p, x->type)) {
    glow_pass_changed(run, n, "Transpose becomes Reshape");
    y = glow_build_reshape(&b, n, x, n->results[0].type->rank, n->results[0].type->dims);
  } else if ((y = turn_product(run, &b, n))) {
    inner = x->def.node;
  }
  if (!y)
    return false;
  glow_node_replace(n, &y, 1);
  if (inner)
    glow_remove_dead(inner);
  if (y->def.node->op == GLOW_OP_TRANSPOSE)
    rewrite(run, y->def.node);
  return true;
}

static bool simplify(GlowNode *n, void *arg) {
  if (n->op == GLOW_OP_TRANSPOSE)
    rewrite(arg, n);
  return true;
}

bool glow_pass_simplify_transpose(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, simplify, run);
  return glow_context_error_count(run->ctx) == errors;
}
