/* A Transpose before a flattened product is dropped; the rows of the matrix are reordered instead:
 *
 *   MatMul(Reshape(Transpose(x)), W)  ->  MatMul(Reshape(x), W')
 *
 * and likewise FullyConnected. The Reshape must join the last axes, the Transpose must move only
 * these, and W must be a constant. Such a Transpose is left in models whose images have the
 * channels last, but which flatten them in the order of channels first. W' is built as nodes, of
 * which -constant-fold makes an `eval` constant.
 *
 * Bounded: the chain of K products is in another order, c = 2 K + 2. */
#include "transforms/rules.h"

typedef struct Flatten {
  GlowValue *x;         /* the operand of the Transpose */
  const GlowType *t;    /* the type of its result */
  const uint32_t *perm; /* its permutation */
  uint32_t first;       /* the first of the axes that are joined */
} Flatten;

/* Whether the Reshape from t to `flat` keeps all axes but the last ones, which it joins to one. */
static bool joins_last(const GlowType *t, const GlowType *flat) {
  if (!glow_type_is_known(t) || !glow_type_is_known(flat) || t->layout || flat->rank < 2 ||
      t->rank <= flat->rank)
    return false;
  for (uint32_t k = 0; k + 1 < flat->rank; k++)
    if (!glow_dim_equals(t->dims[k], flat->dims[k]))
      return false;
  for (uint32_t k = flat->rank - 1; k < t->rank; k++)
    if (t->dims[k].kind != GLOW_DIM_EXACT)
      return false;
  return glow_type_elements(t) > 0;
}

static bool find(const GlowNode *n, const GlowValue *v, Flatten *f) {
  const GlowNode *reshape = glow_match(v, GLOW_OP_RESHAPE, n);
  GlowNode *transpose = reshape ? glow_match(glow_node_in(reshape, 0), GLOW_OP_TRANSPOSE, n) : NULL;
  if (!transpose || !glow_value_has_one_use(v) || !glow_value_has_one_use(&transpose->results[0]))
    return false;
  GlowArray perm = ((const GlowTransposeMembers *)transpose->members)->perm;
  f->x = glow_node_in(transpose, 0);
  f->t = transpose->results[0].type;
  f->first = v->type->rank - 1;
  if (!joins_last(f->t, v->type) || perm.count != f->t->rank || !glow_type_is_known(f->x->type))
    return false;
  f->perm = perm.data;
  for (uint32_t k = 0; k < f->first; k++)
    if (f->perm[k] != k)
      return false;
  return true;
}

/* W with its rows in the order of x. */
static GlowValue *reorder(GlowModule *m, GlowBuilder *b, const GlowNode *n, const Flatten *f,
                          GlowValue *w) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t perm[GLOW_MAX_RANK], joined = f->t->rank - f->first;
  for (uint32_t i = 0; i < joined; i++) {
    dims[i] = f->t->dims[f->first + i];
    perm[f->perm[f->first + i] - f->first] = i;
  }
  dims[joined] = w->type->dims[1];
  perm[joined] = joined;
  GlowTransposeMembers members = {.perm = glow_array_u32(m, perm, joined + 1)};
  GlowValue *rows = glow_build_reshape(b, n, w, joined + 1, dims);
  rows = rows ? glow_build1(b, GLOW_OP_TRANSPOSE, rows, &members, NULL) : NULL;
  return rows ? glow_build_reshape(b, n, rows, 2, w->type->dims) : NULL;
}

static bool visit(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Flatten f;
  if ((n->op != GLOW_OP_MAT_MUL && n->op != GLOW_OP_FULLY_CONNECTED) || !glow_product_is_direct(n))
    return true;
  GlowValue *v = glow_node_in(n, 0), *w = glow_node_in(n, 1);
  if (w->kind != GLOW_VALUE_STORAGE || w->def.storage->cls != GLOW_CONSTANT || w->type->rank != 2 ||
      !glow_type_is_static(w->type) || w->type->layout ||
      !glow_op_moves(GLOW_OP_TRANSPOSE, w->type) || !find(n, v, &f) ||
      f.t->rank - f.first + 1 > GLOW_MAX_RANK)
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *flat = glow_build_reshape(&b, n, f.x, v->type->rank, v->type->dims);
  GlowValue *rows = flat ? reorder(run->module, &b, n, &f, w) : NULL;
  if (!rows)
    return false;
  glow_pass_changed(run, n, "the rows of the matrix are in the order of what is flattened");
  glow_use_set(&n->operands[0], flat);
  glow_use_set(&n->operands[1], rows);
  glow_remove_dead(v->def.node);
  return true;
}

bool glow_pass_fold_flatten(GlowPassRun *run) {
  return glow_block_walk(run->function->body, visit, run);
}
