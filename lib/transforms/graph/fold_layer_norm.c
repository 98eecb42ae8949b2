/* Constant arithmetic behind LayerNormalization and RMSNormalization moves into Scale and Bias:
 *
 *   LayerNormalization(x, s, t) * c  -> LayerNormalization(x, s * c, t * c)
 *   LayerNormalization(x, s, t) + c  -> LayerNormalization(x, s, t + c)
 *   RMSNormalization(x, s) * c       -> RMSNormalization(x, s * c)
 *
 * where s and t are constant or absent, and c stands along the normalized axes. The arithmetic on
 * constants is left to -constant-fold. Bounded: one rounding for two, c = 4. */
#include "transforms/match.h"

/* The normalization n with another Scale and Bias; both may be NULL. */
static GlowValue *rebuild(GlowBuilder *b, const GlowNode *n, GlowValue *scale, GlowValue *bias) {
  GlowValue *ins[] = {glow_node_in(n, 0), scale, bias};
  uint32_t count = n->op == GLOW_OP_LAYER_NORMALIZATION ? 3 : 2;
  GlowNode *fresh = glow_build(b, n->op, ins, count, n->members, NULL);
  return fresh ? &fresh->results[0] : NULL;
}

/* Whether c stands along the normalized axes, so that it can be combined with s and t. */
static bool qualifies(const GlowMatch *m, int64_t axis) {
  const GlowType *x = glow_node_in(glow_match_def(m, 'n'), 0)->type;
  return !x->unranked &&
         glow_stands_along(glow_match_value(m, 'c'), x, axis < 0 ? axis + x->rank : axis);
}

/* op(v, c), or c where v is absent. */
static GlowValue *combine(GlowBuilder *b, GlowOp op, GlowValue *v, GlowValue *c) {
  return v ? glow_build2(b, op, v, c, NULL, NULL) : c;
}

static GlowValue *build_scaled(GlowBuilder *b, const GlowMatch *m) {
  const GlowNode *n = glow_match_def(m, 'n');
  if (!qualifies(m, ((const GlowLayerNormalizationMembers *)n->members)->axis))
    return NULL;
  GlowValue *c = glow_match_value(m, 'c'), *t = glow_match_value(m, 't');
  GlowValue *scale = combine(b, GLOW_OP_MUL, glow_match_value(m, 's'), c);
  t = t ? combine(b, GLOW_OP_MUL, t, c) : NULL;
  return scale ? rebuild(b, n, scale, t) : NULL;
}

static GlowValue *build_shifted(GlowBuilder *b, const GlowMatch *m) {
  const GlowNode *n = glow_match_def(m, 'n');
  if (!qualifies(m, ((const GlowLayerNormalizationMembers *)n->members)->axis))
    return NULL;
  GlowValue *t = combine(b, GLOW_OP_ADD, glow_match_value(m, 't'), glow_match_value(m, 'c'));
  return t ? rebuild(b, n, glow_node_in(n, GLOW_LAYER_NORMALIZATION_IN_SCALE), t) : NULL;
}

static GlowValue *build_rms(GlowBuilder *b, const GlowMatch *m) {
  const GlowNode *n = glow_match_def(m, 'n');
  if (!qualifies(m, ((const GlowRMSNormalizationMembers *)n->members)->axis))
    return NULL;
  GlowValue *scale = combine(b, GLOW_OP_MUL, glow_match_value(m, 's'), glow_match_value(m, 'c'));
  return scale ? rebuild(b, n, scale, NULL) : NULL;
}

bool glow_pass_fold_layer_norm(GlowPassRun *run) {
  static const GlowFormula layer[] = {
      {"Mul(n=LayerNormalization(_, ~s, ~t), ~c)", build_scaled},
      {"Mul(n=LayerNormalization(_, ~s), ~c)", build_scaled},
      {"Mul(n=LayerNormalization(_), ~c)", build_scaled},
      {"Add(n=LayerNormalization(_, _, ~t), ~c)", build_shifted},
      {"Add(n=LayerNormalization(_, _), ~c)", build_shifted},
      {"Add(n=LayerNormalization(_), ~c)", build_shifted},
  };
  static const GlowFormula rms[] = {
      {"Mul(n=RMSNormalization(_, ~s), ~c)", build_rms},
      {"Mul(n=RMSNormalization(_), ~c)", build_rms},
  };
  return glow_recognize(run, "LayerNormalization", layer, sizeof layer / sizeof *layer) &&
         glow_recognize(run, "RMSNormalization", rms, sizeof rms / sizeof *rms);
}
