/* Normalization by a norm:
 *
 *   LpNormalization = X / N,  N = ReduceSum(Abs(X)) or Sqrt(ReduceSum(X * X)), 1 where that is 0
 *   LRN = X / Pow(bias + alpha * A, beta),  A the AveragePool of X * X along channels, in which
 *         padding counts; with the beta that everybody has, 0.75, the power is
 *         Sqrt(V) * Sqrt(Sqrt(V))
 *
 * 16-bit floats are computed in float. */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_lp_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowLpNormalizationMembers *m = n->members;
  GlowKind kind = glow_node_in(n, 0)->type->kind;
  GlowValue *x = glow_then_cast(b, glow_node_in(n, 0), glow_sum_kind(kind));
  GlowValue *axes = glow_constant_ints(b->module, n, "axis", &m->axis, 1);
  GlowValue *size =
      m->p == 1 ? glow_then1(b, GLOW_OP_ABS, x, NULL) : glow_then2(b, GLOW_OP_MUL, x, x);
  GlowValue *norm = glow_then2(b, GLOW_OP_REDUCE_SUM, size, axes);
  norm = m->p == 1 ? norm : glow_then1(b, GLOW_OP_SQRT, norm, NULL);
  GlowValue *zero = glow_build_scalar(b, glow_sum_kind(kind), 0);
  GlowValue *one = glow_build_scalar(b, glow_sum_kind(kind), 1);
  GlowValue *is_zero = glow_then2(b, GLOW_OP_EQUAL, norm, zero);
  if (!is_zero || !one)
    return false;
  GlowNode *safe = glow_build(b, GLOW_OP_WHERE, (GlowValue *[]){is_zero, one, norm}, 3, NULL, NULL);
  GlowValue *y = safe ? glow_then2(b, GLOW_OP_DIV, x, &safe->results[0]) : NULL;
  results[0] = glow_then_cast(b, y, kind);
  return results[0] != NULL;
}

/* The mean of the squares of neighbouring channels: an AveragePool in which the channels are one
 * spatial axis, and all axes behind them another. */
static GlowValue *mean_square(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t size) {
  const GlowType *t = x->type;
  int64_t rest = 1;
  for (uint32_t i = 2; i < t->rank; i++) {
    if (t->dims[i].kind != GLOW_DIM_EXACT)
      return NULL;
    rest *= t->dims[i].size;
  }
  uint32_t before = (size - 1) / 2;
  GlowAveragePoolMembers pool =
      *(const GlowAveragePoolMembers *)glow_op_desc[GLOW_OP_AVERAGE_POOL].member_defaults;
  pool.count_include_pad = true;
  pool.kernels = glow_array_u32(b->module, (const uint32_t[]){size, 1}, 2);
  pool.pads = glow_array_u32(b->module, (const uint32_t[]){before, 0, size - 1 - before, 0}, 4);
  GlowDim flat[] = {t->dims[0], GLOW_EXACT(1), t->dims[1], GLOW_EXACT(rest)};
  GlowValue *square = glow_then2(b, GLOW_OP_MUL, x, x);
  square = square ? glow_build_reshape(b, n, square, 4, flat) : NULL;
  GlowValue *mean = glow_then1(b, GLOW_OP_AVERAGE_POOL, square, &pool);
  return mean ? glow_build_reshape(b, n, mean, t->rank, t->dims) : NULL;
}

/* v to the power of beta. */
static GlowValue *power(GlowBuilder *b, GlowValue *v, GlowKind kind, float beta) {
  if (beta != 0.75f)
    return glow_then2(b, GLOW_OP_POW, v, glow_build_scalar(b, kind, (double)beta));
  GlowValue *root = glow_then1(b, GLOW_OP_SQRT, v, NULL);
  return glow_then2(b, GLOW_OP_MUL, root, glow_then1(b, GLOW_OP_SQRT, root, NULL));
}

bool glow_lower_lrn(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowLRNMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_LRN_IN_X);
  GlowKind kind = x->type->kind, wide = glow_sum_kind(kind);
  if (x->type->unranked || x->type->dims[1].kind != GLOW_DIM_EXACT)
    return false;
  if (glow_type_elements(x->type) == 0) {
    results[0] = glow_then1(b, GLOW_OP_IDENTITY, x, NULL);
    return results[0] != NULL;
  }
  x = glow_then_cast(b, x, wide);
  GlowValue *alpha = glow_build_scalar(b, wide, (double)m->alpha);
  GlowValue *bias = glow_build_scalar(b, wide, (double)m->bias);
  GlowValue *y = x ? mean_square(b, n, x, m->size) : NULL;
  y = glow_then2(b, GLOW_OP_ADD, glow_then2(b, GLOW_OP_MUL, y, alpha), bias);
  y = glow_then2(b, GLOW_OP_DIV, x, power(b, y, wide, m->beta));
  results[0] = glow_then_cast(b, y, kind);
  return results[0] != NULL;
}
