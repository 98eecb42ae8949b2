/* The gradient rule of TiledAttention: that of Softmax(Q K' scale + Mask) V, whole. A query whose
 * keys all have weight 0 has probabilities of 0. */
#include "autodiff/parts.h"

static GlowValue *transposed(GlowBuilder *b, GlowValue *v) {
  uint32_t perm[GLOW_MAX_RANK], rank = v ? v->type->rank : 0;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
  return glow_build_permuted(b, v, perm, rank);
}

static GlowValue *scaled(GlowBuilder *b, GlowValue *v, double by) {
  return v ? glow_then2(b, GLOW_OP_MUL, v, glow_build_scalar(b, v->type->kind, by)) : NULL;
}

/* Softmax over the last axis; zeros where all scores are -inf. */
static GlowValue *probabilities(GlowBuilder *b, const GlowNode *n, GlowValue *scores) {
  static const int64_t last = -1;
  if (!scores)
    return NULL;
  GlowKind kind = scores->type->kind;
  GlowValue *zero = glow_build_scalar(b, kind, 0);
  GlowValue *top = glow_build_reduce(b, GLOW_OP_REDUCE_MAX, scores,
                                     glow_constant_ints(b->module, n, "axis", &last, 1));
  GlowValue *any =
      glow_then2(b, GLOW_OP_GREATER, top, glow_build_scalar(b, kind, -__builtin_inf()));
  scores = glow_then3(b, GLOW_OP_WHERE, any, scores, zero);
  GlowValue *p = glow_then1(b, GLOW_OP_SOFTMAX, scores, &(GlowSoftmaxMembers){.axis = -1});
  return glow_then3(b, GLOW_OP_WHERE, any, p, zero);
}

/* The operator whole, of operands with known extents. */
static GlowValue *whole_attention(GlowBuilder *b, const GlowNode *n) {
  const GlowTiledAttentionMembers *m = n->members;
  GlowValue *q = glow_node_in(n, 0), *k = glow_node_in(n, 1), *v = glow_node_in(n, 2);
  GlowValue *mask = glow_node_in(n, GLOW_TILED_ATTENTION_IN_MASK);
  const GlowDim *qd = q->type->dims, *kd = k->type->dims;
  int64_t batch = qd[0].size, heads = qd[1].size, queries = qd[2].size, size = qd[3].size,
          shared = kd[1].size, keys = kd[2].size, values = v->type->dims[3].size,
          group = shared ? heads / shared : 0;
  int64_t grouped[] = {batch, shared, group, queries, size},
          whole[] = {batch, heads, queries, keys};
  q = glow_build_shaped(b, n, q, 5, grouped);
  k = glow_build_shaped(b, n, k, 5, (int64_t[]){batch, shared, 1, keys, size});
  v = glow_build_shaped(b, n, v, 5, (int64_t[]){batch, shared, 1, keys, values});
  GlowValue *scores = scaled(b, glow_then2(b, GLOW_OP_MAT_MUL, q, transposed(b, k)), m->scale);
  scores = glow_build_shaped(b, n, scores, 4, whole);
  scores = mask ? glow_then2(b, GLOW_OP_ADD, scores, mask) : scores;
  grouped[4] = keys;
  GlowValue *p = glow_build_shaped(b, n, probabilities(b, n, scores), 5, grouped);
  whole[3] = values;
  return glow_build_shaped(b, n, glow_then2(b, GLOW_OP_MAT_MUL, p, v), 4, whole);
}

bool glow_grad_tiled_attention(GlowGrad *g) {
  for (uint32_t i = 0; i < 3; i++)
    if (!glow_type_is_static(glow_grad_in(g, i)->type))
      return false;
  GlowValue *y = whole_attention(g->b, g->n);
  return glow_grad_through(g, &y);
}
