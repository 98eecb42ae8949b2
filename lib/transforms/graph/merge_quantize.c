/* Conversions that follow each other.
 *
 *   Quantize(Dequantize(q)) to q's own type   -> q
 *   Quantize(BitCast(x))                      stays: x holds other numbers
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

static const GlowRule rules[] = {
    {GLOW_OP_QUANTIZE, merge, "dropped Quantize of what was dequantized"},
};

bool glow_pass_merge_quantize(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
