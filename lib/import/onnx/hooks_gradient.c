/* Gradient (ai.onnx.preview.training) names values of the graph around it, which is differentiated
 * where it stands. The operands of the node must be the values of `xs`, then of `zs`. The
 * definition also allows other operands, at which the graph would have to be computed anew. */
#include "autodiff/autodiff.h"
#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* Checks that the tensors that attribute `attr` names are n's operands from `first` on. */
static bool check_names(GlowOnnxNode *n, const char *attr, GlowArray names, uint32_t first) {
  for (uint32_t i = 0; i < names.count; i++) {
    GlowStr name = glow_array_at(names, GlowStr, i);
    const GlowValue *v = glow_onnx_find(n->scope, name);
    if (!v)
      return glow_onnx_fail(n, "'%s', which attribute '%s' names, is not defined", name, attr);
    if (v != n->ins[first + i])
      return glow_onnx_unsupported(n, "an operand that is not the tensor '%s' that it stands for",
                                   name);
  }
  return true;
}

bool glow_onnx_gradient(GlowOnnxNode *n) {
  GlowArray xs = {0}, zs = {0};
  GlowStr y = NULL;
  if (!glow_onnx_strings(n, "xs", &xs) || !glow_onnx_strings(n, "zs", &zs) ||
      !glow_onnx_string(n, "y", &y))
    return false;
  if (n->scope->region->outer)
    return glow_onnx_unsupported(n, "inside a subgraph");
  if (!xs.count || !y)
    return glow_onnx_fail(n, "attribute '%s' is missing", y ? "xs" : "y");
  if (!glow_onnx_check_ins(n, xs.count + zs.count, xs.count + zs.count) ||
      !check_names(n, "xs", xs, 0) || !check_names(n, "zs", zs, xs.count))
    return false;
  GlowValue *target = glow_onnx_find(n->scope, y);
  if (!target || target == &glow_onnx_absent)
    return glow_onnx_fail(n, "'%s', which attribute 'y' names, is not defined", y);
  if (target == &glow_onnx_failed)
    return false;
  if (n->nouts > xs.count)
    return glow_onnx_fail(n, "%u results where there are at most %u", n->nouts, xs.count);
  GlowValue **results = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, xs.count);
  if (!glow_differentiate(
          &n->b, &(GlowDerivatives){
                     .ys = &target, .nys = 1, .xs = n->ins, .nxs = xs.count, .results = results}))
    return false;
  for (uint32_t i = 0; i < n->nouts; i++) {
    GlowValue *dx = results[i] ? results[i] : glow_grad_filled(&n->b, n->ins[i], 0);
    if (!dx || (n->outs[i] && !glow_onnx_result(n, i, GLOW_OP_IDENTITY, &dx, 1, NULL)))
      return false;
  }
  return true;
}
