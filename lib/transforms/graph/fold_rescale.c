/* Rounding twice becomes rounding once.
 *
 *   Quantize(Dequantize(Quantize(x) : A)) : B     -> Quantize(x) : B
 *   Dequantize(Quantize(Dequantize(q)) : B)       -> Dequantize(q)
 *
 * where nothing else reads what is between, and Rescale(q) counts as Quantize(Dequantize(q)). Where
 * the type that goes holds less, Clip takes its place: a type of activations often stands for a
 * Relu.
 *
 * Requested: results move by up to half a step of the scale that goes. */
#include "transforms/quantized.h"
#include "transforms/rules.h"

static bool is_usual(const GlowValue *v) { return glow_quantization_is_usual(v->type); }

static GlowNode *plain_quantize(const GlowValue *v) {
  GlowNode *n = glow_value_def(v, GLOW_OP_QUANTIZE);
  return n && !((const GlowQuantizeMembers *)n->members)->steps && is_usual(v) ? n : NULL;
}

static GlowNode *plain_dequantize(const GlowValue *v) {
  GlowNode *n = glow_value_def(v, GLOW_OP_DEQUANTIZE);
  return n && !((const GlowDequantizeMembers *)n->members)->steps ? n : NULL;
}

/* x within what `gone` holds; x itself if `stays` holds no more. */
static GlowValue *limited(GlowBuilder *b, GlowValue *x, const GlowType *gone,
                          const GlowType *stays) {
  double low, high, least, most;
  glow_quantized_range(gone, &low, &high);
  glow_quantized_range(stays, &least, &most);
  if (low <= least && high >= most)
    return x;
  return glow_then3(b, GLOW_OP_CLIP, x, glow_build_scalar(b, x->type->kind, low),
                    glow_build_scalar(b, x->type->kind, high));
}

/* n makes of q, which is stored, the type `to`: Quantize again of what made q. */
static GlowValue *into_producer(GlowNode *n, GlowValue *q) {
  const GlowType *to = n->results[0].type;
  GlowNode *p = glow_value_has_one_use(q) ? plain_quantize(q) : NULL;
  if (!p || p->pred.value != n->pred.value || !is_usual(&n->results[0]) ||
      glow_node_in(p, 0)->type->kind != GLOW_KIND_FLOAT)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *x = limited(&b, glow_node_in(p, 0), q->type, to);
  GlowNodeSpec spec = {.op = GLOW_OP_QUANTIZE, .ins = &x, .nins = 1, .types = &to};
  GlowNode *made = x ? glow_node_create(&b, &spec) : NULL;
  return made ? &made->results[0] : NULL;
}

static GlowValue *from_quantize(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *d = plain_quantize(&n->results[0]) ? plain_dequantize(glow_node_in(n, 0)) : NULL;
  return d && glow_value_has_one_use(&d->results[0]) ? into_producer(n, glow_node_in(d, 0)) : NULL;
}

static GlowValue *from_rescale(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return into_producer(n, glow_node_in(n, 0));
}

/* n dequantizes what is rounded from q: Dequantize of q. */
static GlowValue *from_dequantize(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowValue *again = glow_node_in(n, 0);
  GlowNode *r = glow_value_def(again, GLOW_OP_RESCALE);
  GlowNode *p = r ? NULL : plain_quantize(again);
  GlowNode *d = p ? plain_dequantize(glow_node_in(p, 0)) : NULL;
  GlowValue *q = r ? glow_node_in(r, 0) : d ? glow_node_in(d, 0) : NULL;
  if (!plain_dequantize(&n->results[0]) || !q || !is_usual(q) || !is_usual(again) ||
      !glow_value_has_one_use(again) || (r ? r : p)->pred.value != n->pred.value)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *x = glow_build1(&b, GLOW_OP_DEQUANTIZE, q, n->members, NULL);
  return x ? limited(&b, x, again->type, q->type) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_QUANTIZE, from_quantize, "rounded once, as the last Quantize says"},
    {GLOW_OP_RESCALE, from_rescale, "rounded once, as Rescale says"},
    {GLOW_OP_DEQUANTIZE, from_dequantize, "rounded once, as the first Quantize says"},
};

bool glow_pass_fold_rescale(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
