/* Products of a batch of matrices with one matrix become one product:
 *
 *   MatMul(a : B x M x K, w : K x N)  -> Reshape(MatMul(Reshape(a) : BM x K, w))
 *
 * Exact: each element is the same chain over k. In no -O pipeline: kernels take the rows of a batch
 * as those of one matrix anyway. */
#include "transforms/rules.h"

static GlowValue *flatten(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *x = glow_node_in(n, GLOW_MAT_MUL_IN_A), *w = glow_node_in(n, GLOW_MAT_MUL_IN_B);
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_static(x->type) || !glow_type_is_static(w->type) || !glow_type_is_static(t) ||
      x->type->layout || w->type->layout || x->type->rank < 3 || w->type->rank != 2)
    return NULL;
  int64_t rows = 1;
  uint32_t last = x->type->rank - 1;
  for (uint32_t i = 0; i < last; i++)
    rows *= x->type->dims[i].size;
  GlowBuilder b = glow_builder_before(n);
  GlowDim dims[] = {GLOW_EXACT(rows), x->type->dims[last]};
  GlowValue *flat = glow_build_reshape(&b, n, x, 2, dims);
  GlowValue *product = flat ? glow_build2(&b, GLOW_OP_MAT_MUL, flat, w, n->members, NULL) : NULL;
  return product ? glow_build_reshape(&b, n, product, t->rank, t->dims) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_MAT_MUL, flatten, "a batch of products with one matrix becomes one"},
};

bool glow_pass_flatten_matmul(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
