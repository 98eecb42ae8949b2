/* Activation functions of one number, spelled out.
 *
 *   HardSwish     x * HardSigmoid(x) with 1/6 and 1/2; x * min(max(x + 3, 0), 6) / 6
 *   HardSigmoid   min(max(a * x + b, 0), 1); min(max(x + b, 0), l) / l
 *   Swish         x * Sigmoid(a * x); x / (1 + Exp(-x))
 *   Mish          x * Tanh(Softplus(x))
 *   PRelu         Relu(x) - s * Relu(-x), as Keras writes it, s constant
 *
 * Bounded: a spelling rounds at most six times in place of the operator; c = 16 covers both, with
 * their functions. The S of a limit is the S of the value that it limits, divided as the result of
 * the limit is. PRelu differs in the sign of zeros only. The parameters of operators are floats: a
 * spelling in double qualifies if its numbers are floats. */
#include "transforms/match.h"

#include <math.h>

/* x limited to the range 0 to `high`, in the spellings of exporters. */
#define LIMIT(x, high)                                                                             \
  "{Clip(" x ", 0, " high ") | Min(Max(" x ", 0), " high ") | Max(Min(" x ", " high                \
  "), 0) | Min(Relu(" x "), " high ") | Relu(Min(" x ", " high "))}"
#define LIMIT_X3 LIMIT("Add(x, 3)", "6")

/* The number as a member of an operator of kind k. False if it would not do. */
static bool to_member(GlowKind k, double number, float *member) {
  *member = (float)number;
  return glow_kind_is_float(k) && isfinite(*member) &&
         (k != GLOW_KIND_DOUBLE || (double)*member == number);
}

static bool is_near(GlowKind k, double a, double b) {
  return fabs(a - b) <= 2 * glow_kind_roundoff(k) * fabs(b);
}

/* ---- HardSwish ------------------------------------------------------------------------------- */

static GlowValue *build_hard_swish(GlowBuilder *b, const GlowMatch *m) {
  GlowValue *x = glow_match_value(m, 'x');
  bool narrow = glow_kind_is_float(x->type->kind) && x->type->kind != GLOW_KIND_DOUBLE;
  return narrow ? glow_build1(b, GLOW_OP_HARD_SWISH, x, NULL, NULL) : NULL;
}

static GlowValue *build_times_hard_sigmoid(GlowBuilder *b, const GlowMatch *m) {
  const GlowHardSigmoidMembers *h = glow_match_def(m, 'h')->members;
  bool sixth = is_near(GLOW_KIND_FLOAT, h->alpha, 1.0 / 6) && h->beta == 0.5f;
  return sixth ? build_hard_swish(b, m) : NULL;
}

static const GlowFormula hard_swish[] = {
    {"Mul(x, h=HardSigmoid(x))", build_times_hard_sigmoid},
    {"Div(Mul(x, " LIMIT_X3 "), 6)", build_hard_swish},
    {"Mul(x, {Div(" LIMIT_X3 ", 6) | Mul(" LIMIT_X3 ", 0.16666666666666666)})", build_hard_swish},
    {"Mul(Mul(x, " LIMIT_X3 "), 0.16666666666666666)", build_hard_swish},
    {"Mul(Mul(x, 0.16666666666666666), " LIMIT_X3 ")", build_hard_swish},
};

/* ---- HardSigmoid ----------------------------------------------------------------------------- */

/* HardSigmoid with a = p and b = q. */
static GlowValue *hard_sigmoid(GlowBuilder *b, const GlowMatch *m, double p, double q) {
  GlowValue *x = glow_match_value(m, 'x');
  GlowHardSigmoidMembers members;
  if (!to_member(x->type->kind, p, &members.alpha) || !to_member(x->type->kind, q, &members.beta))
    return NULL;
  return glow_build1(b, GLOW_OP_HARD_SIGMOID, x, &members, NULL);
}

static GlowValue *build_affine(GlowBuilder *b, const GlowMatch *m) {
  return hard_sigmoid(b, m, glow_match_number(m, 'a'), glow_match_number(m, 'b'));
}

static GlowValue *build_affine_quotient(GlowBuilder *b, const GlowMatch *m) {
  return hard_sigmoid(b, m, 1 / glow_match_number(m, 'a'), glow_match_number(m, 'b'));
}

/* min(max(x + b, 0), l) / d */
static GlowValue *build_quotient(GlowBuilder *b, const GlowMatch *m) {
  double divisor = glow_match_number(m, 'd');
  return divisor > 0 && glow_match_number(m, 'l') == divisor
             ? hard_sigmoid(b, m, 1 / divisor, glow_match_number(m, 'b') / divisor)
             : NULL;
}

/* min(max(x + b, 0), l) * a */
static GlowValue *build_product(GlowBuilder *b, const GlowMatch *m) {
  double factor = glow_match_number(m, 'a');
  return is_near(glow_match_value(m, 'x')->type->kind, factor * glow_match_number(m, 'l'), 1)
             ? hard_sigmoid(b, m, factor, factor * glow_match_number(m, 'b'))
             : NULL;
}

static const GlowFormula hard_sigmoids[] = {
    {"Div(" LIMIT("Add(x, #b)", "#l") ", #d)", build_quotient},
    {"Mul(" LIMIT("Add(x, #b)", "#l") ", #a)", build_product},
    {"Clip(Add(Mul(x, #a), #b), 0, 1)", build_affine},
    {"Clip(Add(Div(x, #a), #b), 0, 1)", build_affine_quotient},
    {"Min(Max(Add(Mul(x, #a), #b), 0), 1)", build_affine},
    {"Min(Relu(Add(Mul(x, #a), #b)), 1)", build_affine},
    {"Max(Min(Add(Mul(x, #a), #b), 1), 0)", build_affine},
};

/* ---- Swish ----------------------------------------------------------------------------------- */

static GlowValue *swish(GlowBuilder *b, const GlowMatch *m, double alpha) {
  GlowValue *x = glow_match_value(m, 'x');
  GlowSwishMembers members;
  return to_member(x->type->kind, alpha, &members.alpha)
             ? glow_build1(b, GLOW_OP_SWISH, x, &members, NULL)
             : NULL;
}

static GlowValue *build_swish(GlowBuilder *b, const GlowMatch *m) { return swish(b, m, 1); }

static GlowValue *build_scaled_swish(GlowBuilder *b, const GlowMatch *m) {
  return swish(b, m, glow_match_number(m, 'a'));
}

static const GlowFormula swishes[] = {
    {"Mul(x, Sigmoid(x))", build_swish},
    {"Mul(x, Sigmoid(Mul(x, #a)))", build_scaled_swish},
    {"Div(x, Add(Exp(Neg(x)), 1))", build_swish},
    {"Mul(x, Reciprocal(Add(Exp(Neg(x)), 1)))", build_swish},
};

/* ---- Mish ------------------------------------------------------------------------------------ */

static GlowValue *build_mish(GlowBuilder *b, const GlowMatch *m) {
  return glow_build1(b, GLOW_OP_MISH, glow_match_value(m, 'x'), NULL, NULL);
}

static const GlowFormula mish[] = {{"Mul(x, Tanh(Softplus(x)))", build_mish}};

/* ---- PRelu ----------------------------------------------------------------------------------- */

static GlowValue *build_prelu(GlowBuilder *b, const GlowMatch *m) {
  GlowValue *x = glow_match_value(m, 'x');
  if (!glow_kind_is_float(x->type->kind))
    return NULL;
  return glow_build2(b, GLOW_OP_PRELU, x, glow_match_value(m, 's'), NULL, NULL);
}

/* The same with the slope negated. */
static GlowValue *build_negated_prelu(GlowBuilder *b, const GlowMatch *m) {
  GlowValue *x = glow_match_value(m, 'x');
  if (!glow_kind_is_float(x->type->kind))
    return NULL;
  GlowValue *s = glow_build1(b, GLOW_OP_NEG, glow_match_value(m, 's'), NULL, NULL);
  return s ? glow_build2(b, GLOW_OP_PRELU, x, s, NULL, NULL) : NULL;
}

static const GlowFormula prelu[] = {
    {"Add(Relu(x), Mul(Neg(~s), Relu(Neg(x))))", build_prelu},
    {"Sub(Relu(x), Mul(~s, Relu(Neg(x))))", build_prelu},
    {"Add(Relu(x), Mul(~s, Relu(Neg(x))))", build_negated_prelu},
};

#define RECOGNIZE(run, what, formulas)                                                             \
  glow_recognize(run, what, formulas, sizeof formulas / sizeof *formulas)

bool glow_pass_recognize_activation(GlowPassRun *run) {
  return RECOGNIZE(run, "HardSwish", hard_swish) && RECOGNIZE(run, "HardSigmoid", hard_sigmoids) &&
         RECOGNIZE(run, "HardSwish", hard_swish) && RECOGNIZE(run, "Swish", swishes) &&
         RECOGNIZE(run, "Mish", mish) && RECOGNIZE(run, "PRelu", prelu);
}
