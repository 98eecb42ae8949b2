/* Limits: Relu, Clip, and the Max and Min that they are made of.
 *
 *   Relu(Relu(x)), Relu(Exp(x)), Relu(Sigmoid(x))     -> the operand
 *   Relu(Clip(x, a, b)), a >= 0                       -> Clip(x, a, b)
 *   Clip(Relu(x), a, b), a >= +0                      -> Clip(x, a, b)
 *   Clip(Clip(x, a, b), c, d)                         -> Clip(x, e, f)
 *   Min(Max(x, a), b);  Max(Min(x, b), a) if a <= b   -> Clip(x, a, b)
 *   Clip(x) without limits                            -> x
 *   Relu of a quantized type whose integers all stand for numbers >= 0 -> its operand
 *
 * Exact: limits are compared in the order of Max and Min, where -0 is below +0, and NaN passes
 * through all of them. Relu keeps -0, so the limit of a Clip above it must be +0, not -0. */
#include "transforms/rules.h"

#include <math.h>

/* A limit: the scalar operand and its value. An absent one has no operand. */
typedef struct Limit {
  GlowValue *value;
  GlowScalar number;
} Limit;

static bool read_limit(GlowValue *v, Limit *limit) {
  *limit = (Limit){.value = v};
  if (!v)
    return true;
  if (v->type->quantized || !glow_value_splat(v, &limit->number))
    return false;
  return glow_kind_is_float(v->type->kind) ? !isnan(limit->number.f) : limit->number.is_int;
}

static bool read_limits(const GlowNode *clip, Limit *low, Limit *high) {
  return read_limit(glow_node_in(clip, GLOW_CLIP_IN_MIN), low) &&
         read_limit(glow_node_in(clip, GLOW_CLIP_IN_MAX), high);
}

/* In the order of Max and Min. */
static bool less(const Limit *a, const Limit *b) {
  GlowKind kind = a->value->type->kind;
  const GlowScalar *x = &a->number, *y = &b->number;
  if (glow_kind_info[kind].cls == GLOW_CLASS_UINT)
    return (uint64_t)x->i < (uint64_t)y->i;
  if (!glow_kind_is_float(kind))
    return x->i < y->i;
  return x->f < y->f || (x->f == y->f && signbit(x->f) && !signbit(y->f));
}

static Limit larger(Limit a, Limit b) { return !a.value || (b.value && less(&a, &b)) ? b : a; }
static Limit smaller(Limit a, Limit b) { return !a.value || (b.value && less(&b, &a)) ? b : a; }

static bool not_below_zero(const Limit *a, bool plus_zero) {
  if (!a->value)
    return false;
  if (!glow_kind_is_float(a->value->type->kind))
    return glow_kind_info[a->value->type->kind].cls == GLOW_CLASS_UINT || a->number.i >= 0;
  return a->number.f > 0 || (a->number.f == 0 && (!plus_zero || !signbit(a->number.f)));
}

static GlowValue *build_clip(GlowNode *n, GlowValue *x, GlowValue *low, GlowValue *high) {
  GlowBuilder b = glow_builder_before(n);
  GlowNode *clip = glow_build(&b, GLOW_OP_CLIP, (GlowValue *[]){x, low, high}, 3, NULL, NULL);
  return clip ? &clip->results[0] : NULL;
}

/* The limit of a Max or Min as the scalar that Clip takes. */
static GlowValue *as_scalar(GlowNode *n, const Limit *limit) {
  const GlowType *t = limit->value->type;
  if (t->rank == 0)
    return limit->value;
  GlowBuilder b = glow_builder_before(n);
  const GlowType *scalar = glow_type_scalar(n->block->module->ctx, t->kind);
  GlowSplatMembers members = {.value = limit->number};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &scalar};
  GlowNode *splat = glow_node_create(&b, &spec);
  return splat ? &splat->results[0] : NULL;
}

/* ---- Relu ------------------------------------------------------------------------------------ */

static GlowValue *relu_of_positive(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *x = glow_node_in(n, 0);
  if (n->results[0].type->quantized)
    return NULL;
  bool positive = glow_match(x, GLOW_OP_RELU, n) || glow_match(x, GLOW_OP_EXP, n) ||
                  glow_match(x, GLOW_OP_SIGMOID, n);
  return positive ? x : NULL;
}

static GlowValue *relu_of_clip(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowNode *clip = glow_match(glow_node_in(n, 0), GLOW_OP_CLIP, n);
  Limit low, high;
  if (!clip || !read_limits(clip, &low, &high) || !not_below_zero(&low, false))
    return NULL;
  return !high.value || not_below_zero(&high, false) ? glow_node_in(n, 0) : NULL;
}

/* 8-bit integers survive the way to float and back for every scale that is a normal number. */
static GlowValue *relu_of_unsigned(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowType *t = n->results[0].type;
  const GlowKindInfo *kind = &glow_kind_info[t->kind];
  int32_t least = kind->cls == GLOW_CLASS_UINT ? 0 : -128;
  bool positive = t->quantized && kind->bits == 8 && t->offset == least && t->scale > 0x1p-100f &&
                  t->scale < 0x1p100f;
  return positive ? glow_node_in(n, 0) : NULL;
}

/* ---- Clip ------------------------------------------------------------------------------------ */

static GlowValue *clip_without_limits(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool none = !glow_node_in(n, GLOW_CLIP_IN_MIN) && !glow_node_in(n, GLOW_CLIP_IN_MAX);
  return none && !n->results[0].type->quantized ? glow_node_in(n, 0) : NULL;
}

static GlowValue *clip_of_relu(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *relu = glow_match(glow_node_in(n, 0), GLOW_OP_RELU, n);
  Limit low, high;
  if (!relu || !read_limits(n, &low, &high) || !not_below_zero(&low, true))
    return NULL;
  return build_clip(n, glow_node_in(relu, 0), low.value, high.value);
}

static GlowValue *clip_of_clip(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(glow_node_in(n, 0), GLOW_OP_CLIP, n);
  Limit a, b, c, d;
  if (!inner || !read_limits(inner, &a, &b) || !read_limits(n, &c, &d))
    return NULL;
  if ((a.value && b.value && less(&b, &a)) || (c.value && d.value && less(&d, &c)))
    return NULL;
  Limit low = larger(a, c), high = smaller(b, d);
  if (low.value && d.value) /* the inner limits, limited themselves */
    low = smaller(low, d);
  if (high.value && c.value)
    high = larger(high, c);
  return build_clip(n, glow_node_in(inner, 0), low.value, high.value);
}

/* ---- Max and Min ----------------------------------------------------------------------------- */

static GlowValue *to_clip(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool outer_min = n->op == GLOW_OP_MIN;
  const GlowNode *inner = glow_match(glow_node_in(n, 0), outer_min ? GLOW_OP_MAX : GLOW_OP_MIN, n);
  if (!inner)
    return NULL;
  Limit outer_limit, inner_limit;
  if (!read_limit(glow_node_in(n, 1), &outer_limit) ||
      !read_limit(glow_node_in(inner, 1), &inner_limit) ||
      glow_node_in(inner, 0)->type != n->results[0].type)
    return NULL;
  Limit *low = outer_min ? &inner_limit : &outer_limit,
        *high = outer_min ? &outer_limit : &inner_limit;
  if (!outer_min && less(high, low))
    return NULL;
  GlowValue *min = as_scalar(n, low), *max = as_scalar(n, high);
  return min && max ? build_clip(n, glow_node_in(inner, 0), min, max) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_RELU, relu_of_positive, "dropped Relu of what is not below 0"},
    {GLOW_OP_RELU, relu_of_clip, "dropped Relu of what is not below 0"},
    {GLOW_OP_RELU, relu_of_unsigned, "dropped Relu of a type without negative numbers"},
    {GLOW_OP_CLIP, clip_without_limits, "dropped Clip without limits"},
    {GLOW_OP_CLIP, clip_of_relu, "dropped Relu below Clip"},
    {GLOW_OP_CLIP, clip_of_clip, "merged two Clips"},
    {GLOW_OP_MAX, to_clip, "Max of Min becomes Clip"},
    {GLOW_OP_MIN, to_clip, "Min of Max becomes Clip"},
};

bool glow_pass_simplify_clip(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
