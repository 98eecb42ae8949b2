/* Limits on the integers of quantized types.
 *
 *   Quantize(Relu(x)), Quantize(Clip(x, a, b))   -> Quantize(x), where its own limits are not wider
 *                                                -> Clip(Quantize(x), a', b') otherwise
 *
 * with a' and b' the limits as Quantize rounds them, or none where they are the ends of the kind.
 * Exact: rounding keeps the order of numbers, so it may come before a limit. NaN becomes the
 * offset, which must lie within the limits. */
#include <math.h>

#include "transforms/quantized.h"
#include "transforms/rules.h"

typedef struct Limits {
  int32_t low, high; /* stored integers */
} Limits;

/* A limit of Clip as a stored integer; `none` if it is absent. */
static bool read_limit(const GlowType *t, const GlowValue *v, int32_t none, int32_t *limit) {
  GlowScalar s;
  *limit = none;
  if (!v)
    return true;
  if (!glow_value_splat(v, &s) || isnan(s.f))
    return false;
  *limit = glow_stored_of(t, (float)s.f);
  return true;
}

/* The limits of n, Relu or Clip, as integers of the type t. */
static bool read_limits(const GlowNode *n, const GlowType *t, Limits *l) {
  glow_stored_limits(t->kind, &l->low, &l->high);
  if (n->op == GLOW_OP_RELU) {
    l->low = t->offset;
    return true;
  }
  Limits ends = *l;
  return read_limit(t, glow_node_in(n, GLOW_CLIP_IN_MIN), ends.low, &l->low) &&
         read_limit(t, glow_node_in(n, GLOW_CLIP_IN_MAX), ends.high, &l->high);
}

/* A scalar of the type that is stored as v; NULL if v is the end of its kind, no limit at all. */
static GlowValue *limit(GlowBuilder *b, const GlowType *t, int32_t v, int32_t end) {
  GlowContext *ctx = b->module->ctx;
  if (v == end)
    return NULL;
  const GlowType *scalar =
      glow_type_with_quant(ctx, glow_type_scalar(ctx, t->kind), true, t->scale, t->offset);
  GlowSplatMembers m = {.value = {.f = (double)((float)(v - t->offset) * t->scale)}};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &m, .types = &scalar};
  GlowNode *splat = glow_node_create(b, &spec);
  return splat ? &splat->results[0] : NULL;
}

static GlowValue *clip(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = n->results[0].type;
  const GlowNode *limited = glow_match(x, GLOW_OP_RELU, n);
  if (!limited)
    limited = glow_match(x, GLOW_OP_CLIP, n);
  Limits l, ends;
  if (!limited || ((const GlowQuantizeMembers *)n->members)->steps || x->type->quantized ||
      x->type->kind == GLOW_KIND_DOUBLE || !glow_quantization_is_usual(t) ||
      !read_limits(limited, t, &l) || t->offset < l.low || t->offset > l.high)
    return NULL;
  glow_stored_limits(t->kind, &ends.low, &ends.high);
  GlowBuilder b = glow_builder_before(n);
  GlowValue *in = glow_node_in(limited, 0);
  GlowNodeSpec spec = {
      .op = GLOW_OP_QUANTIZE, .ins = &in, .nins = 1, .members = n->members, .types = &t};
  GlowNode *q = glow_node_create(&b, &spec);
  if (!q)
    return NULL;
  GlowValue *ins[] = {&q->results[0], limit(&b, t, l.low, ends.low),
                      limit(&b, t, l.high, ends.high)};
  if (!ins[1] && !ins[2])
    return ins[0];
  GlowNode *clip = glow_build(&b, GLOW_OP_CLIP, ins, 3, NULL, NULL);
  return clip ? &clip->results[0] : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_QUANTIZE, clip, "moved limits below Quantize"},
};

bool glow_pass_clip_in_steps(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
