/* Conversions that follow each other.
 *
 *   Quantize(Dequantize(q)) to q's own type   -> q
 *   Quantize(BitCast(x))                      stays: x holds other numbers
 *   BitCast(BitCast(x))                       -> BitCast(x), or x if the type is that of x
 *
 * Exact for usual types (quantized.h). Dequantize(Quantize(x)) stays as well, since it rounds. */
#include "transforms/quantized.h"
#include "transforms/rules.h"

static GlowValue *merge(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(glow_node_in(n, 0), GLOW_OP_DEQUANTIZE, n);
  GlowValue *q = inner ? glow_node_in(inner, 0) : NULL;
  const GlowType *t = n->results[0].type;
  /* 16-bit floats lack digits that integers have. */
  bool exact = q && glow_kind_info[glow_node_in(n, 0)->type->kind].bits >= 32;
  if (((const GlowQuantizeMembers *)n->members)->steps ||
      (inner && ((const GlowDequantizeMembers *)inner->members)->steps))
    return NULL;
  return exact && glow_quantization_is_usual(t) && glow_quantization_is_same(q->type, t) ? q : NULL;
}

static GlowValue *merge_casts(GlowPassRun *run, GlowNode *n) {
  const GlowNode *inner = glow_match(glow_node_in(n, 0), GLOW_OP_BIT_CAST, n);
  GlowBuilder b = glow_builder_before(n);
  (void)run;
  if (!inner)
    return NULL;
  GlowValue *x = glow_node_in(inner, 0);
  return x->type == n->results[0].type ? x : glow_build_bit_cast(&b, x, n->results[0].type);
}

static const GlowRule rules[] = {
    {GLOW_OP_BIT_CAST, merge_casts, "merged BitCasts"},
    {GLOW_OP_QUANTIZE, merge, "dropped Quantize of what was dequantized"},
};

bool glow_pass_merge_quantize(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
