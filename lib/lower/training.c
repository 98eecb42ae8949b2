/* Updates of weights by PyTorch's formulas, and Regression, which is its operand.
 *
 *   SGD        G' = G + decay * W
 *              W' = W - rate * G'
 *   Momentum   V' = momentum * V + G'
 *              W' = W - rate * V'
 *   nesterov   W' = W - rate * (G' + momentum * V')
 *   Adam       M' = M + (G' - M) * (1 - beta1)
 *              V' = V * beta2 + (G' * G') * (1 - beta2)
 *              W' = W - rate / c1 * (M' / (Sqrt(V') / Sqrt(c2) + epsilon))
 *              where c = 1 - beta^Step
 *   hat        W' = W - rate * Sqrt(c2) / c1 * (M' / (Sqrt(V') + epsilon))
 *   decoupled  G' = G, and W * (1 - rate * decay) stands for W
 *
 * Without decay its terms are left out, so that an infinite weight gives no NaN. 16-bit floats are
 * computed in float, and each result is rounded once. What one number says for all elements (rate,
 * c, 1 - rate * decay) is computed in double and rounded to that kind. */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Update {
  GlowBuilder *b;
  const GlowNode *n;
  GlowKind kind;                /* of the computation */
  GlowValue *weight, *gradient; /* of this kind; the gradient with decay */
  GlowValue *rate;              /* as given */
} Update;

static GlowValue *two(const Update *u, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(u->b, op, x, y);
}

static GlowValue *one(const Update *u, GlowOp op, GlowValue *x) {
  return glow_then1(u->b, op, x, NULL);
}

static GlowValue *real(const Update *u, double v) {
  return glow_build_scalar(u->b, GLOW_KIND_DOUBLE, v);
}

/* x * factor */
static GlowValue *scaled(const Update *u, double factor, GlowValue *x) {
  return two(u, GLOW_OP_MUL, x, glow_build_scalar(u->b, u->kind, factor));
}

/* An operand in the kind of the computation. */
static GlowValue *operand(const Update *u, uint32_t i) {
  return glow_then_cast(u->b, glow_node_in(u->n, i), u->kind);
}

/* All optimizers have Weight and Gradient first. */
static Update begin(GlowBuilder *b, const GlowNode *n, uint32_t rate, double decay) {
  Update u = {.b = b, .n = n, .kind = glow_sum_kind(glow_node_in(n, 0)->type->kind)};
  u.weight = operand(&u, GLOW_SGD_IN_WEIGHT);
  u.gradient = operand(&u, GLOW_SGD_IN_GRADIENT);
  u.rate = glow_node_in(n, rate);
  if (decay != 0)
    u.gradient = two(&u, GLOW_OP_ADD, u.gradient, scaled(&u, decay, u.weight));
  return u;
}

/* Result i in its stored kind. */
static bool finish(const Update *u, GlowValue **results, uint32_t i, GlowValue *v) {
  results[i] = glow_then_cast(u->b, v, glow_node_in(u->n, 0)->type->kind);
  return results[i] != NULL;
}

/* W - rate * step, where `rate` is of any floating-point kind. */
static bool move(const Update *u, GlowValue **results, GlowValue *rate, GlowValue *step) {
  GlowValue *by = two(u, GLOW_OP_MUL, glow_then_cast(u->b, rate, u->kind), step);
  return finish(u, results, 0, two(u, GLOW_OP_SUB, u->weight, by));
}

bool glow_lower_sgd(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowSGDMembers *m = n->members;
  Update u = begin(b, n, GLOW_SGD_IN_RATE, m->decay.f);
  return move(&u, results, u.rate, u.gradient);
}

bool glow_lower_momentum(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowMomentumMembers *m = n->members;
  Update u = begin(b, n, GLOW_MOMENTUM_IN_RATE, m->decay.f);
  GlowValue *old = scaled(&u, m->momentum.f, operand(&u, GLOW_MOMENTUM_IN_VELOCITY));
  GlowValue *velocity = two(&u, GLOW_OP_ADD, old, u.gradient), *step = velocity;
  if (m->nesterov)
    step = two(&u, GLOW_OP_ADD, u.gradient, scaled(&u, m->momentum.f, velocity));
  return finish(&u, results, 1, velocity) && move(&u, results, u.rate, step);
}

/* 1 - beta^Step */
static GlowValue *correction(const Update *u, double beta) {
  GlowValue *power = two(u, GLOW_OP_POW, real(u, beta), glow_node_in(u->n, GLOW_ADAM_IN_STEP));
  return two(u, GLOW_OP_SUB, real(u, 1), power);
}

bool glow_lower_adam(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowAdamMembers *m = n->members;
  Update u = begin(b, n, GLOW_ADAM_IN_RATE, m->decoupled ? 0 : m->decay.f);
  GlowValue *rate = glow_then_cast(b, u.rate, GLOW_KIND_DOUBLE), *g = u.gradient;
  if (m->decoupled && m->decay.f != 0) {
    GlowValue *lost = two(&u, GLOW_OP_MUL, rate, real(&u, m->decay.f));
    GlowValue *kept = glow_then_cast(b, two(&u, GLOW_OP_SUB, real(&u, 1), lost), u.kind);
    u.weight = two(&u, GLOW_OP_MUL, u.weight, kept);
  }
  GlowValue *mean = operand(&u, GLOW_ADAM_IN_M), *squares = operand(&u, GLOW_ADAM_IN_V);
  GlowValue *more = scaled(&u, 1 - m->beta1.f, two(&u, GLOW_OP_SUB, g, mean));
  mean = two(&u, GLOW_OP_ADD, mean, more);
  squares = two(&u, GLOW_OP_ADD, scaled(&u, m->beta2.f, squares),
                scaled(&u, 1 - m->beta2.f, two(&u, GLOW_OP_MUL, g, g)));
  GlowValue *c1 = correction(&u, m->beta1.f);
  GlowValue *c2 = one(&u, GLOW_OP_SQRT, correction(&u, m->beta2.f));
  GlowValue *root = one(&u, GLOW_OP_SQRT, squares);
  if (m->hat)
    rate = two(&u, GLOW_OP_MUL, rate, c2);
  else
    root = two(&u, GLOW_OP_DIV, root, glow_then_cast(b, c2, u.kind));
  GlowValue *epsilon = glow_build_scalar(b, u.kind, m->epsilon.f);
  GlowValue *step = two(&u, GLOW_OP_DIV, mean, two(&u, GLOW_OP_ADD, root, epsilon));
  return finish(&u, results, 1, mean) && finish(&u, results, 2, squares) &&
         move(&u, results, two(&u, GLOW_OP_DIV, rate, c1), step);
}

bool glow_lower_regression(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  results[0] = glow_then1(b, GLOW_OP_IDENTITY, glow_node_in(n, GLOW_REGRESSION_IN_X), NULL);
  return results[0] != NULL;
}
