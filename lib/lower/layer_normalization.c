/* LayerNormalization over the axes from `axis` on, in kind stash_type (ONNX, version 17):
 *
 *   D = X - ReduceMean(X),  InvStdDev = Reciprocal(Sqrt(ReduceMean(D * D) + epsilon))
 *   Y = D * InvStdDev * Scale + Bias,  Mean = ReduceMean(X)
 *
 * RMSNormalization (version 23) is X * Reciprocal(Sqrt(ReduceMean(X * X) + epsilon)) * Scale. The
 * first product is cast back to X's kind before Scale and Bias are applied. */
#include "lower/lower.h"
#include "ops/lower.h"

static GlowValue *axes_from(GlowBuilder *b, const GlowNode *n, int64_t axis, uint32_t rank) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; i++)
    axes[count++] = i;
  return glow_constant_ints(b->module, n, "axes", axes, count);
}

bool glow_lower_layer_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowLayerNormalizationMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_LAYER_NORMALIZATION_IN_X);
  GlowValue *scale = glow_node_in(n, GLOW_LAYER_NORMALIZATION_IN_SCALE);
  GlowValue *bias = glow_node_in(n, GLOW_LAYER_NORMALIZATION_IN_BIAS);
  if (x->type->unranked)
    return false;
  GlowValue *axes = axes_from(b, n, m->axis, x->type->rank);
  GlowValue *wide = glow_then_cast(b, x, m->stash_type);
  GlowValue *mean = glow_then2(b, GLOW_OP_REDUCE_MEAN, wide, axes);
  GlowValue *d = glow_then2(b, GLOW_OP_SUB, wide, mean);
  GlowValue *inverse = glow_build_inverse_deviation(b, d, axes, (double)m->epsilon);
  GlowValue *y = glow_then_cast(b, glow_then2(b, GLOW_OP_MUL, d, inverse), x->type->kind);
  y = scale ? glow_then2(b, GLOW_OP_MUL, y, scale) : y;
  results[0] = bias ? glow_then2(b, GLOW_OP_ADD, y, bias) : y;
  if (n->nresults > GLOW_LAYER_NORMALIZATION_OUT_MEAN)
    results[GLOW_LAYER_NORMALIZATION_OUT_MEAN] = mean;
  if (n->nresults > GLOW_LAYER_NORMALIZATION_OUT_INV_STD_DEV)
    results[GLOW_LAYER_NORMALIZATION_OUT_INV_STD_DEV] = inverse;
  return results[0] && results[n->nresults - 1];
}

bool glow_lower_rms_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowRMSNormalizationMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_RMS_NORMALIZATION_IN_X);
  GlowValue *scale = glow_node_in(n, GLOW_RMS_NORMALIZATION_IN_SCALE);
  if (x->type->unranked)
    return false;
  GlowValue *axes = axes_from(b, n, m->axis, x->type->rank);
  GlowValue *wide = glow_then_cast(b, x, m->stash_type);
  GlowValue *y = glow_then2(b, GLOW_OP_MUL, wide,
                            glow_build_inverse_deviation(b, wide, axes, (double)m->epsilon));
  y = glow_then_cast(b, y, x->type->kind);
  results[0] =
      scale ? glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, y, scale->type->kind), scale) : y;
  return results[0] != NULL;
}
