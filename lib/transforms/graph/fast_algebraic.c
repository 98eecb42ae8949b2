/* Identities of real numbers that floating point does not have: they lose -0, NaN, infinities or
 * the last bits, and so belong to no -O pipeline.
 *
 *   x + 0                      -> x            -0 + 0 is +0
 *   x * 0, x - x               -> 0            NaN and infinities give NaN
 *   x / x                      -> 1            of 0 too
 *   x / c                      -> x * (1 / c)  two roundings
 *   (x op c) op d              -> x op (c op d) for Add and Mul
 *   x ^ 0.5                    -> Sqrt(x)      -0, -inf
 *   Exp(Log(x)), Log(Exp(x))   -> x
 *   Sqrt(x) * Sqrt(x)          -> x
 *   AveragePool by windows of one element -> x */
#include "transforms/rules.h"

static GlowValue *x_of(const GlowNode *n) { return glow_node_in(n, 0); }
static GlowValue *y_of(const GlowNode *n) { return glow_node_in(n, 1); }

static bool is_float(const GlowNode *n) {
  const GlowType *t = n->results[0].type;
  return glow_kind_is_float(t->kind) && !t->quantized;
}

static bool is_zero(const GlowNode *n, const GlowValue *v) {
  return is_float(n) && (glow_value_is_all(v, 0.0) || glow_value_is_all(v, -0.0));
}

static GlowValue *add_zero(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return is_zero(n, y_of(n)) ? x_of(n) : is_zero(n, x_of(n)) ? y_of(n) : NULL;
}

static GlowValue *sub_zero(GlowPassRun *run, GlowNode *n) {
  (void)run;
  if (is_float(n) && x_of(n) == y_of(n))
    return glow_splat_like(n, 0);
  return is_zero(n, y_of(n)) ? x_of(n) : NULL;
}

static GlowValue *mul_zero(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return is_zero(n, y_of(n)) || is_zero(n, x_of(n)) ? glow_splat_like(n, 0) : NULL;
}

static GlowValue *mul_roots(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *root = glow_match(x_of(n), GLOW_OP_SQRT, n);
  return root && x_of(n) == y_of(n) ? x_of(root) : NULL;
}

static GlowValue *join_constants(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(x_of(n), n->op, n);
  if (!inner || !is_float(n) || !glow_value_is_constant(y_of(n)) ||
      !glow_value_is_constant(y_of(inner)) || !glow_value_has_one_use(x_of(n)))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *both = glow_build2(&b, n->op, y_of(inner), y_of(n), NULL, NULL);
  return both ? glow_build2(&b, n->op, x_of(inner), both, NULL, NULL) : NULL;
}

static GlowValue *div_itself(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return is_float(n) && x_of(n) == y_of(n) ? glow_splat_like(n, 1) : NULL;
}

static GlowValue *div_constant(GlowPassRun *run, GlowNode *n) {
  (void)run;
  if (!is_float(n) || !glow_value_is_constant(y_of(n)) || glow_value_is_constant(x_of(n)))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *reciprocal = glow_build1(&b, GLOW_OP_RECIPROCAL, y_of(n), NULL, NULL);
  return reciprocal ? glow_build2(&b, GLOW_OP_MUL, x_of(n), reciprocal, NULL, NULL) : NULL;
}

static GlowValue *pow_half(GlowPassRun *run, GlowNode *n) {
  (void)run;
  if (!is_float(n) || !glow_value_is_all(y_of(n), 0.5))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  return glow_build1(&b, GLOW_OP_SQRT, x_of(n), NULL, NULL);
}

static GlowValue *inverse(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowOp other = n->op == GLOW_OP_EXP ? GLOW_OP_LOG : GLOW_OP_EXP;
  const GlowNode *inner = glow_match(x_of(n), other, n);
  return inner ? x_of(inner) : NULL;
}

static bool all_are(GlowArray a, uint32_t want) {
  for (uint32_t i = 0; i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) != want)
      return false;
  return true;
}

static GlowValue *pool_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowAveragePoolMembers *m = n->members;
  bool one = all_are(m->kernels, 1) && all_are(m->strides, 1) && all_are(m->pads, 0);
  return one && is_float(n) ? x_of(n) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_ADD, add_zero, "dropped the addition of 0"},
    {GLOW_OP_ADD, join_constants, "joined two constants"},
    {GLOW_OP_SUB, sub_zero, "dropped the subtraction of 0, or x - x"},
    {GLOW_OP_MUL, mul_zero, "x * 0 is 0"},
    {GLOW_OP_MUL, mul_roots, "a squared Sqrt is its operand"},
    {GLOW_OP_MUL, join_constants, "joined two constants"},
    {GLOW_OP_DIV, div_itself, "x / x is 1"},
    {GLOW_OP_DIV, div_constant, "a division by a constant becomes Mul"},
    {GLOW_OP_POW, pow_half, "a power of 0.5 becomes Sqrt"},
    {GLOW_OP_EXP, inverse, "Exp and Log cancel out"},
    {GLOW_OP_LOG, inverse, "Log and Exp cancel out"},
    {GLOW_OP_AVERAGE_POOL, pool_one, "dropped a mean over one element"},
};

bool glow_pass_fast_algebraic(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
