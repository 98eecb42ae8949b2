/* Shrink = Where(X < -lambd, X + bias, Where(lambd < X, X - bias, 0)), of integers in double; the
 * Cast back truncates and saturates. */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_shrink(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowShrinkMembers *m = n->members;
  GlowKind kind = glow_node_in(n, 0)->type->kind;
  GlowKind wide = glow_kind_is_float(kind) ? glow_sum_kind(kind) : GLOW_KIND_DOUBLE;
  GlowValue *x = glow_then_cast(b, glow_node_in(n, 0), wide);
  GlowValue *bias = glow_build_scalar(b, wide, m->bias), *zero = glow_build_scalar(b, wide, 0);
  GlowValue *below = glow_then2(b, GLOW_OP_LESS, x, glow_build_scalar(b, wide, -m->lambd));
  GlowValue *above = glow_then2(b, GLOW_OP_LESS, glow_build_scalar(b, wide, m->lambd), x);
  GlowValue *y = glow_then3(b, GLOW_OP_WHERE, above, glow_then2(b, GLOW_OP_SUB, x, bias), zero);
  y = glow_then3(b, GLOW_OP_WHERE, below, glow_then2(b, GLOW_OP_ADD, x, bias), y);
  results[0] = glow_then_cast(b, y, kind);
  return results[0] != NULL;
}
