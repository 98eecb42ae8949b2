/* MatMul with one matrix, and what is added to each of its columns, becomes FullyConnected:
 *
 *   MatMul(x, W) + b        -> FullyConnected(x, W, b)     b: [n], or one value
 *
 * The product has no other use. Exact: FullyConnected is defined as these two nodes, so -lower
 * gives them back; what is in between (quantization, partitioning, other backends) sees one
 * operator. */
#include "transforms/match.h"

static GlowValue *build(GlowBuilder *b, const GlowMatch *m) {
  GlowValue *ins[] = {glow_match_value(m, 'x'), glow_match_value(m, 'w'), glow_match_value(m, 'b')};
  const GlowType *w = ins[1]->type, *bias = ins[2]->type, *y = m->root->results[0].type;
  bool fits = glow_kind_is_float(y->kind) && !y->unranked && glow_type_is_static(w) &&
              w->rank == 2 && glow_type_is_static(bias) && bias->rank <= 1 &&
              (bias->rank == 0 || bias->dims[0].size == w->dims[1].size);
  GlowNode *n = fits ? glow_build(b, GLOW_OP_FULLY_CONNECTED, ins, 3, NULL, NULL) : NULL;
  return n ? &n->results[0] : NULL;
}

bool glow_pass_fold_mul_add(GlowPassRun *run) {
  static const GlowFormula formulas[] = {{"Add(MatMul(x, w), b)", build}};
  return glow_recognize(run, "FullyConnected", formulas, 1);
}
