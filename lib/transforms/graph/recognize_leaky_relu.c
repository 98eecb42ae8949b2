/* LeakyRelu, spelled out:
 *
 *   Max(x, a * x)                                    for 0 < a <= 1
 *   Where(x < 0, a * x, x), Where(x > 0, x, a * x)   for a > 0; also with <= and >=
 *   PRelu(x, a)                                      for any a
 *
 * where a is one number that a float holds. Exact: all forms round a * x in the same way. In the
 * form with Max, a * x is never above x for x > 0, nor below x for x < 0. Zeros keep their sign,
 * and infinities give infinities. */
#include "transforms/match.h"

static GlowValue *build(GlowBuilder *b, const GlowMatch *m, double low, double high) {
  double a = glow_match_number(m, 'a');
  GlowValue *x = glow_match_value(m, 'x');
  if (!(a > low) || a > high || (double)(float)a != a || !glow_kind_is_float(x->type->kind))
    return NULL;
  GlowLeakyReluMembers members = {.alpha = (float)a};
  return glow_build1(b, GLOW_OP_LEAKY_RELU, x, &members, NULL);
}

static GlowValue *build_max(GlowBuilder *b, const GlowMatch *m) { return build(b, m, 0, 1); }

static GlowValue *build_where(GlowBuilder *b, const GlowMatch *m) {
  return build(b, m, 0, (double)INT32_MAX);
}

static GlowValue *build_prelu(GlowBuilder *b, const GlowMatch *m) {
  return build(b, m, -(double)INT32_MAX, (double)INT32_MAX);
}

bool glow_pass_recognize_leaky_relu(GlowPassRun *run) {
  static const GlowFormula formulas[] = {
      {"Max(x, Mul(x, #a))", build_max},
      {"Where(Less(x, 0), Mul(x, #a), x)", build_where},
      {"Where(LessOrEqual(x, 0), Mul(x, #a), x)", build_where},
      {"Where(Greater(x, 0), x, Mul(x, #a))", build_where},
      {"Where(GreaterOrEqual(x, 0), x, Mul(x, #a))", build_where},
      {"PRelu(x, #a)", build_prelu},
  };
  return glow_recognize(run, "LeakyRelu", formulas, sizeof formulas / sizeof *formulas);
}
