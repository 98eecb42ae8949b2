/* Gradient rules of element-wise operators. Where a function has a corner, one side counts: equal
 * operands of Max and Min pass to X, Relu has slope 0 at 0, Clip slope 1 at its limits. */
#include "autodiff/autodiff.h"
#include "lower/lower.h"

static GlowValue *in(const GlowGrad *g, uint32_t i) { return glow_node_in(g->n, i); }

/* The result of the node, which some derivatives are written in. */
static GlowValue *out(const GlowGrad *g) { return glow_node_out(g->n, 0); }

static GlowValue *two(const GlowGrad *g, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(g->b, op, x, y);
}

static GlowValue *one(const GlowGrad *g, GlowOp op, GlowValue *x) {
  return glow_then1(g->b, op, x, NULL);
}

static GlowValue *number(const GlowGrad *g, double v) {
  return glow_build_scalar(g->b, out(g)->type->kind, v);
}

/* dY where cond is `where_true`, else 0. */
static GlowValue *chosen(const GlowGrad *g, GlowValue *cond, bool where_true) {
  GlowValue *zero = number(g, 0);
  return glow_then3(g->b, GLOW_OP_WHERE, cond, where_true ? g->dy[0] : zero,
                    where_true ? zero : g->dy[0]);
}

/* ---- Two operands ---------------------------------------------------------------------------- */

bool glow_grad_add(GlowGrad *g) {
  for (uint32_t i = 0; i < 2; i++)
    if (g->wanted[i] && !glow_grad_set(g, i, g->dy[0]))
      return false;
  return true;
}

bool glow_grad_sub(GlowGrad *g) {
  return (!g->wanted[0] || glow_grad_set(g, 0, g->dy[0])) &&
         (!g->wanted[1] || glow_grad_set(g, 1, one(g, GLOW_OP_NEG, g->dy[0])));
}

bool glow_grad_mul(GlowGrad *g) {
  for (uint32_t i = 0; i < 2; i++)
    if (g->wanted[i] && !glow_grad_set(g, i, two(g, GLOW_OP_MUL, g->dy[0], in(g, 1 - i))))
      return false;
  return true;
}

/* dX = dZ / Y, dY = -dZ Z / Y */
bool glow_grad_div(GlowGrad *g) {
  GlowValue *y = in(g, 1);
  if (g->wanted[0] && !glow_grad_set(g, 0, two(g, GLOW_OP_DIV, g->dy[0], y)))
    return false;
  if (!g->wanted[1])
    return true;
  GlowValue *part = two(g, GLOW_OP_DIV, two(g, GLOW_OP_MUL, g->dy[0], out(g)), y);
  return glow_grad_set(g, 1, one(g, GLOW_OP_NEG, part));
}

static bool larger_or_smaller(GlowGrad *g, GlowOp first_wins) {
  GlowValue *first = two(g, first_wins, in(g, 0), in(g, 1));
  return (!g->wanted[0] || glow_grad_set(g, 0, chosen(g, first, true))) &&
         (!g->wanted[1] || glow_grad_set(g, 1, chosen(g, first, false)));
}
bool glow_grad_max(GlowGrad *g) { return larger_or_smaller(g, GLOW_OP_GREATER_OR_EQUAL); }
bool glow_grad_min(GlowGrad *g) { return larger_or_smaller(g, GLOW_OP_LESS_OR_EQUAL); }

/* ---- One operand ----------------------------------------------------------------------------- */

bool glow_grad_identity(GlowGrad *g) { return glow_grad_set(g, 0, g->dy[0]); }

bool glow_grad_neg(GlowGrad *g) { return glow_grad_set(g, 0, one(g, GLOW_OP_NEG, g->dy[0])); }

/* dY / (2 Y) */
bool glow_grad_sqrt(GlowGrad *g) {
  return glow_grad_set(g, 0, two(g, GLOW_OP_DIV, g->dy[0], two(g, GLOW_OP_ADD, out(g), out(g))));
}

bool glow_grad_exp(GlowGrad *g) {
  return glow_grad_set(g, 0, two(g, GLOW_OP_MUL, g->dy[0], out(g)));
}

bool glow_grad_log(GlowGrad *g) {
  return glow_grad_set(g, 0, two(g, GLOW_OP_DIV, g->dy[0], in(g, 0)));
}

/* dY (1 - Y Y) */
bool glow_grad_tanh(GlowGrad *g) {
  GlowValue *square = two(g, GLOW_OP_MUL, out(g), out(g));
  GlowValue *slope = two(g, GLOW_OP_SUB, number(g, 1), square);
  return glow_grad_set(g, 0, two(g, GLOW_OP_MUL, g->dy[0], slope));
}

/* dY (Y (1 - Y)) */
bool glow_grad_sigmoid(GlowGrad *g) {
  GlowValue *rest = two(g, GLOW_OP_SUB, number(g, 1), out(g));
  GlowValue *slope = two(g, GLOW_OP_MUL, out(g), rest);
  return glow_grad_set(g, 0, two(g, GLOW_OP_MUL, g->dy[0], slope));
}

bool glow_grad_relu(GlowGrad *g) {
  GlowValue *above = two(g, GLOW_OP_GREATER, in(g, 0), number(g, 0));
  return glow_grad_set(g, 0, chosen(g, above, true));
}

bool glow_grad_clip(GlowGrad *g) {
  GlowValue *x = in(g, 0), *inside = NULL;
  static const GlowOp within[] = {GLOW_OP_GREATER_OR_EQUAL, GLOW_OP_LESS_OR_EQUAL};
  for (uint32_t i = 1; i <= 2; i++) {
    GlowValue *limit = glow_node_in(g->n, i);
    if (!limit)
      continue;
    GlowValue *fits = two(g, within[i - 1], x, limit);
    inside = inside ? two(g, GLOW_OP_AND, inside, fits) : fits;
    if (!inside)
      return false;
  }
  return glow_grad_set(g, 0, inside ? chosen(g, inside, true) : g->dy[0]);
}
