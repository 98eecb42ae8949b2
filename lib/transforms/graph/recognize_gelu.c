/* Gelu, spelled out in the orders that exporters use:
 *
 *   none    x * (1 + Erf(x / sqrt(2))) * 1/2
 *   tanh    x * (1 + Tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) * 1/2
 *
 * Bounded: the argument of the function f is off by at most 12 u in either form, and z * f'(z)
 * stays below 1/2 for both functions. Each function is good to two units in the last place, and at
 * most four more roundings follow: c = 24 covers the spelling and the operator. S has 1 + |Erf|, so
 * it includes the cancellation for x far below zero. */
#include "transforms/match.h"

#define ERF "Erf({Div(x, 1.4142135623730951) | Mul(x, 0.7071067811865476)})"

#define SQUARE "{Mul(x, x) | Pow(x, 2)}"
#define CUBE "{Pow(x, 3) | Mul(x, " SQUARE ")}"
/* 0.044715 x^2 and 0.044715 x^3 */
#define SMALL_SQUARE "{Mul(" SQUARE ", 0.044715) | Mul(Mul(x, 0.044715), x)}"
#define SMALL_CUBE                                                                                 \
  "{Mul(" CUBE ", 0.044715) | Mul(Mul(x, 0.044715), " SQUARE ") | Mul(x, " SMALL_SQUARE ")}"
#define SUM "{Add(x, " SMALL_CUBE ") | Mul(x, Add(" SMALL_SQUARE ", 1))}"
#define ROOT "0.7978845608028654"
#define TANH "Tanh({Mul(" SUM ", " ROOT ") | Mul(Mul(x, " ROOT "), Add(" SMALL_SQUARE ", 1))})"

/* x * (1 + f) / 2 with f in either place of every node. */
#define HALF_X "{Mul(x, 0.5) | Div(x, 2)}"
#define HALF_SUM(f) "{Mul(Add(" f ", 1), 0.5) | Div(Add(" f ", 1), 2) | Add(Mul(" f ", 0.5), 0.5)}"
#define FORMULAS(f, build)                                                                         \
  {"Mul(Mul(x, Add(" f ", 1)), 0.5)", build}, {"Div(Mul(x, Add(" f ", 1)), 2)", build},            \
      {"Mul(" HALF_X ", Add(" f ", 1))", build}, {                                                 \
    "Mul(x, " HALF_SUM(f) ")", build                                                               \
  }

static GlowValue *build(GlowBuilder *b, const GlowMatch *m, int form) {
  GlowValue *x = glow_match_value(m, 'x');
  GlowGeluMembers members = {.approximate = form};
  return glow_kind_is_float(x->type->kind) ? glow_build1(b, GLOW_OP_GELU, x, &members, NULL) : NULL;
}

static GlowValue *build_erf(GlowBuilder *b, const GlowMatch *m) {
  return build(b, m, GLOW_GELU_FORM_NONE);
}

static GlowValue *build_tanh(GlowBuilder *b, const GlowMatch *m) {
  return build(b, m, GLOW_GELU_FORM_TANH);
}

bool glow_pass_recognize_gelu(GlowPassRun *run) {
  static const GlowFormula formulas[] = {FORMULAS(ERF, build_erf), FORMULAS(TANH, build_tanh)};
  return glow_recognize(run, "Gelu", formulas, sizeof formulas / sizeof *formulas);
}
