/* Algebraic identities that keep every bit, of -0, infinities and NaN too:
 *
 *   x + -0, x - 0, x * 1, x / 1, x ^ 1             -> x        integers: x + 0 as well
 *   x * -1, x / -1, -0 - x                          -> Neg(x)
 *   x + Neg(y), x - Neg(y), Neg(x) * Neg(y)         -> one node
 *   x / 2^k                                         -> x * 2^-k, floating point
 *   x ^ 0, 1 ^ x                                    -> 1        of NaN, too
 *   x ^ 2, x ^ -1                                   -> x * x, Reciprocal(x)
 *   Celu(x) with alpha 1                            -> Elu(x)
 *   Neg(Neg(x)), Not(Not(x)), Abs(Neg(x)), Floor(Ceil(x)), ...
 *   Max(x, x), And(x, true), x * 0 of integers, ...
 *   Where on a constant condition, of equal branches, on Not
 *   (x op c) op d                                   -> x op (c op d) where op is associative
 *   c op x                                          -> x op c where op commutes
 *
 * x + 0 is not among them (-0 + 0 is +0), nor x * 0 and x - x (NaN): see fast-algebraic. Quantized
 * types are left alone. */
#include "transforms/rules.h"

#include <math.h>
#include <stdlib.h>

static GlowKind kind_of(const GlowNode *n) { return n->results[0].type->kind; }
static bool is_float(const GlowNode *n) { return glow_kind_is_float(kind_of(n)); }

/* Of a kind that Neg takes. */
static bool has_sign(const GlowNode *n) {
  return is_float(n) || glow_kind_info[kind_of(n)].cls == GLOW_CLASS_SINT;
}

static GlowValue *build1(GlowNode *n, GlowOp op, GlowValue *x) {
  GlowBuilder b = glow_builder_before(n);
  return glow_build1(&b, op, x, NULL, NULL);
}

static GlowValue *build2(GlowNode *n, GlowOp op, GlowValue *x, GlowValue *y) {
  GlowBuilder b = glow_builder_before(n);
  return glow_build2(&b, op, x, y, NULL, NULL);
}

static GlowValue *x_of(const GlowNode *n) { return glow_node_in(n, 0); }
static GlowValue *y_of(const GlowNode *n) { return glow_node_in(n, 1); }

static GlowValue *first_if_all(const GlowNode *n, double y) {
  return glow_value_is_all(y_of(n), y) ? x_of(n) : NULL;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static GlowValue *add_nothing(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return first_if_all(n, is_float(n) ? -0.0 : 0.0);
}

static GlowValue *add_neg(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *y = glow_match(y_of(n), GLOW_OP_NEG, n), *x = glow_match(x_of(n), GLOW_OP_NEG, n);
  if (y)
    return build2(n, GLOW_OP_SUB, x_of(n), x_of(y));
  return x ? build2(n, GLOW_OP_SUB, y_of(n), x_of(x)) : NULL;
}

static GlowValue *sub_nothing(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return first_if_all(n, 0.0);
}

static GlowValue *sub_neg(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *y = glow_match(y_of(n), GLOW_OP_NEG, n);
  return y ? build2(n, GLOW_OP_ADD, x_of(n), x_of(y)) : NULL;
}

static GlowValue *sub_from_nothing(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool negates = has_sign(n) && glow_value_is_all(x_of(n), is_float(n) ? -0.0 : 0.0);
  return negates ? build1(n, GLOW_OP_NEG, y_of(n)) : NULL;
}

static GlowValue *sub_itself(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool zero = x_of(n) == y_of(n) && glow_kind_is_integer(kind_of(n));
  return zero ? glow_splat_like(n, 0) : NULL;
}

/* ---- Products -------------------------------------------------------------------------------- */

static GlowValue *times_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return first_if_all(n, 1.0);
}

static GlowValue *times_minus_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool negates = has_sign(n) && glow_value_is_all(y_of(n), -1.0);
  return negates ? build1(n, GLOW_OP_NEG, x_of(n)) : NULL;
}

static GlowValue *times_zero(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool zero = glow_kind_is_integer(kind_of(n)) && glow_value_is_all(y_of(n), 0.0);
  return zero ? glow_splat_like(n, 0) : NULL;
}

static GlowValue *mul_negs(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *x = glow_match(x_of(n), GLOW_OP_NEG, n), *y = glow_match(y_of(n), GLOW_OP_NEG, n);
  return x && y ? build2(n, GLOW_OP_MUL, x_of(x), x_of(y)) : NULL;
}

/* The reciprocal of a power of two that the kind holds exactly as a normal number. */
static bool exact_reciprocal(GlowKind kind, double v, double *reciprocal) {
  int exponent;
  if (fabs(frexp(v, &exponent)) != 0.5)
    return false;
  int most = kind == GLOW_KIND_DOUBLE ? 1020 : kind == GLOW_KIND_FLOAT16 ? 13 : 124;
  *reciprocal = 1.0 / v;
  return abs(exponent) <= most;
}

static GlowValue *div_by_power(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowType *t = y_of(n)->type;
  GlowScalar s;
  double reciprocal;
  if (!is_float(n) || t->quantized || !glow_type_is_static(t) || !glow_value_splat(y_of(n), &s) ||
      !exact_reciprocal(t->kind, s.f, &reciprocal))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowSplatMembers members = {.value = {.f = reciprocal}};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &t};
  GlowNode *splat = glow_node_create(&b, &spec);
  return splat ? build2(n, GLOW_OP_MUL, x_of(n), &splat->results[0]) : NULL;
}

/* Whether Pow of n's kinds is exact for the exponents of the rules below. Integers multiply. Pow of
 * float is computed in double and rounded: for -1, 1 and 2 it was compared with 1 / x, x and
 * x * x for every float. Narrower floats compute as float, unless the exponent is wide. */
static bool pow_is_exact(const GlowNode *n) {
  GlowKind base = kind_of(n), exponent = y_of(n)->type->kind;
  uint32_t bits = glow_kind_info[exponent].bits;
  if (!is_float(n) || base == GLOW_KIND_DOUBLE)
    return glow_kind_is_integer(base) && glow_kind_is_integer(exponent);
  return base == GLOW_KIND_FLOAT || (glow_kind_is_float(exponent) ? bits <= 32 : bits <= 16);
}

/* C's Annex F has pow(NaN, 0) = pow(1, NaN) = 1. */
static GlowValue *pow_is_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowValue *y = y_of(n);
  bool one =
      glow_value_is_all(y, 0.0) || glow_value_is_all(y, -0.0) || glow_value_is_all(x_of(n), 1.0);
  return one ? glow_splat_like(n, 1) : NULL;
}

static GlowValue *pow_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return pow_is_exact(n) ? first_if_all(n, 1.0) : NULL;
}

static GlowValue *pow_minus_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool inverts = is_float(n) && pow_is_exact(n) && glow_value_is_all(y_of(n), -1.0);
  return inverts ? build1(n, GLOW_OP_RECIPROCAL, x_of(n)) : NULL;
}

static GlowValue *pow_two(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool square = pow_is_exact(n) && glow_value_is_all(y_of(n), 2.0);
  return square ? build2(n, GLOW_OP_MUL, x_of(n), x_of(n)) : NULL;
}

static GlowValue *as_kind(GlowNode *n, GlowValue *v, GlowKind kind) {
  GlowBuilder b = glow_builder_before(n);
  GlowCastMembers members = {.to = kind};
  return v && v->type->kind != kind ? glow_build1(&b, GLOW_OP_CAST, v, &members, NULL) : v;
}

/* Pow of float is two products in double there, if the exponent is a float, too. */
static GlowValue *pow_three(GlowPassRun *run, GlowNode *n) {
  const GlowKind base = kind_of(n), exponent = y_of(n)->type->kind;
  (void)run;
  if (!glow_value_is_all(y_of(n), 3.0) ||
      (base == GLOW_KIND_FLOAT ? !glow_kind_is_float(exponent) || glow_kind_info[exponent].bits > 32
                               : !pow_is_exact(n) || is_float(n)))
    return NULL;
  GlowValue *x = as_kind(n, x_of(n), base == GLOW_KIND_FLOAT ? GLOW_KIND_DOUBLE : base);
  GlowValue *square = x ? build2(n, GLOW_OP_MUL, x, x) : NULL;
  return as_kind(n, square ? build2(n, GLOW_OP_MUL, square, x) : NULL, base);
}

/* ---- One operand ----------------------------------------------------------------------------- */

/* Both divisions by 1 and products with 1 are exact. */
static GlowValue *celu_one(GlowPassRun *run, GlowNode *n) {
  GlowBuilder b = glow_builder_before(n);
  const GlowEluMembers members = {.alpha = 1};
  (void)run;
  if (((const GlowCeluMembers *)n->members)->alpha != 1)
    return NULL;
  return glow_build1(&b, GLOW_OP_ELU, x_of(n), &members, NULL);
}

/* f(f(x)) -> x */
static GlowValue *cancel(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(x_of(n), n->op, n);
  return inner ? x_of(inner) : NULL;
}

/* f(f(x)) -> f(x) */
static GlowValue *idempotent(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return glow_match(x_of(n), n->op, n) ? x_of(n) : NULL;
}

static GlowValue *abs_neg(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(x_of(n), GLOW_OP_NEG, n);
  return inner ? build1(n, GLOW_OP_ABS, x_of(inner)) : NULL;
}

static GlowValue *round_rounded(GlowPassRun *run, GlowNode *n) {
  (void)run;
  bool whole = glow_match(x_of(n), GLOW_OP_FLOOR, n) || glow_match(x_of(n), GLOW_OP_CEIL, n) ||
               glow_match(x_of(n), GLOW_OP_ROUND, n);
  return whole ? x_of(n) : NULL;
}

/* ---- Selection ------------------------------------------------------------------------------- */

static GlowValue *same_twice(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return x_of(n) == y_of(n) && !x_of(n)->type->quantized ? x_of(n) : NULL;
}

static GlowValue *with_true(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return first_if_all(n, 1.0);
}

static GlowValue *with_false(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return first_if_all(n, 0.0);
}

static GlowValue *and_false(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return glow_value_is_all(y_of(n), 0.0) ? glow_splat_like(n, 0) : NULL;
}

static GlowValue *or_true(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return glow_value_is_all(y_of(n), 1.0) ? glow_splat_like(n, 1) : NULL;
}

static GlowValue *where_known(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *cond = glow_node_in(n, GLOW_WHERE_IN_COND), *x = glow_node_in(n, GLOW_WHERE_IN_X),
            *y = glow_node_in(n, GLOW_WHERE_IN_Y);
  return x == y || glow_value_is_all(cond, 1.0) ? x : glow_value_is_all(cond, 0.0) ? y : NULL;
}

static GlowValue *where_not(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *negated = glow_match(glow_node_in(n, GLOW_WHERE_IN_COND), GLOW_OP_NOT, n);
  if (!negated)
    return NULL;
  GlowValue *ins[] = {x_of(negated), glow_node_in(n, GLOW_WHERE_IN_Y),
                      glow_node_in(n, GLOW_WHERE_IN_X)};
  GlowBuilder b = glow_builder_before(n);
  GlowNode *swapped = glow_build(&b, GLOW_OP_WHERE, ins, 3, NULL, NULL);
  return swapped ? &swapped->results[0] : NULL;
}

/* ---- Constants ------------------------------------------------------------------------------- */

/* Max and Min are IEEE 754-2019's, which are associative; wrapping sums and products are too. */
static GlowValue *join_constants(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *inner = glow_match(x_of(n), n->op, n);
  bool any_kind = n->op != GLOW_OP_ADD && n->op != GLOW_OP_MUL;
  if (!inner || n->results[0].type->quantized || (is_float(n) && !any_kind) ||
      !glow_value_is_constant(y_of(n)) || !glow_value_is_constant(y_of(inner)) ||
      !glow_value_has_one_use(x_of(n)))
    return NULL;
  GlowValue *both = build2(n, n->op, y_of(inner), y_of(n));
  return both ? build2(n, n->op, x_of(inner), both) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_ADD, add_nothing, "dropped the addition of nothing"},
    {GLOW_OP_ADD, add_neg, "Add of Neg becomes Sub"},
    {GLOW_OP_ADD, join_constants, "joined two constants"},
    {GLOW_OP_SUB, sub_nothing, "dropped the subtraction of nothing"},
    {GLOW_OP_SUB, sub_from_nothing, "Sub from zero becomes Neg"},
    {GLOW_OP_SUB, sub_neg, "Sub of Neg becomes Add"},
    {GLOW_OP_SUB, sub_itself, "x - x is 0"},
    {GLOW_OP_MUL, times_one, "dropped a factor of 1"},
    {GLOW_OP_MUL, times_minus_one, "a factor of -1 becomes Neg"},
    {GLOW_OP_MUL, times_zero, "x * 0 is 0"},
    {GLOW_OP_MUL, mul_negs, "the signs of both factors cancel out"},
    {GLOW_OP_MUL, join_constants, "joined two constants"},
    {GLOW_OP_DIV, times_one, "dropped a division by 1"},
    {GLOW_OP_DIV, times_minus_one, "a division by -1 becomes Neg"},
    {GLOW_OP_DIV, div_by_power, "a division by a power of two becomes Mul"},
    {GLOW_OP_POW, pow_is_one, "a power of 0, or of 1, is 1"},
    {GLOW_OP_POW, pow_one, "dropped a power of 1"},
    {GLOW_OP_POW, pow_minus_one, "a power of -1 becomes Reciprocal"},
    {GLOW_OP_POW, pow_two, "a square becomes Mul"},
    {GLOW_OP_POW, pow_three, "a cube becomes two Muls"},
    {GLOW_OP_CELU, celu_one, "Celu with alpha 1 is Elu"},
    {GLOW_OP_NEG, cancel, "two Neg cancel out"},
    {GLOW_OP_NOT, cancel, "two Not cancel out"},
    {GLOW_OP_ABS, idempotent, "dropped the second Abs"},
    {GLOW_OP_ABS, abs_neg, "dropped Neg below Abs"},
    {GLOW_OP_SIGN, idempotent, "dropped the second Sign"},
    {GLOW_OP_FLOOR, round_rounded, "dropped a second rounding"},
    {GLOW_OP_CEIL, round_rounded, "dropped a second rounding"},
    {GLOW_OP_ROUND, round_rounded, "dropped a second rounding"},
    {GLOW_OP_MAX, same_twice, "dropped Max of a value and itself"},
    {GLOW_OP_MAX, join_constants, "joined two constants"},
    {GLOW_OP_MIN, same_twice, "dropped Min of a value and itself"},
    {GLOW_OP_MIN, join_constants, "joined two constants"},
    {GLOW_OP_AND, same_twice, "dropped And of a value and itself"},
    {GLOW_OP_AND, with_true, "dropped And with true"},
    {GLOW_OP_AND, and_false, "And with false is false"},
    {GLOW_OP_AND, join_constants, "joined two constants"},
    {GLOW_OP_OR, same_twice, "dropped Or of a value and itself"},
    {GLOW_OP_OR, with_false, "dropped Or with false"},
    {GLOW_OP_OR, or_true, "Or with true is true"},
    {GLOW_OP_OR, join_constants, "joined two constants"},
    {GLOW_OP_XOR, with_false, "dropped Xor with false"},
    {GLOW_OP_XOR, join_constants, "joined two constants"},
    {GLOW_OP_WHERE, where_known, "dropped a Where whose choice is known"},
    {GLOW_OP_WHERE, where_not, "Where on Not takes its branches the other way round"},
};

/* Constants of operators that commute go to the right, where the rules look for them. */
static bool constant_right(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (!GLOW_HAS(glow_node_desc(n), COMMUTATIVE) || n->noperands < 2)
    return true;
  GlowValue *x = x_of(n), *y = y_of(n);
  if (!glow_value_is_constant(x) || glow_value_is_constant(y))
    return true;
  glow_pass_changed(run, n, "moved the constant of %s to the right", glow_node_desc(n)->node);
  glow_use_set(&n->operands[0], y);
  glow_use_set(&n->operands[1], x);
  return true;
}

bool glow_pass_algebraic(GlowPassRun *run) {
  glow_block_walk(run->function->body, constant_right, run);
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
