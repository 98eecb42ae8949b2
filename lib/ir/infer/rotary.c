/* Inference of operators that language models use near attention: RotaryEmbedding (ONNX, version
 * 23) and CausalConvWithState (version 27). */
#include "ir/infer/hooks.h"

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/* The size of a head of X. */
static bool head_size(const GlowInfer *in, const GlowType *x, GlowDim *size) {
  const GlowRotaryEmbeddingMembers *m = in->members;
  if (x->rank != 3 && x->rank != 4)
    return glow_infer_error(in, "X must have rank 3 or 4, but has type %s",
                            glow_type_str(in->ctx, x));
  *size = x->dims[x->rank - 1];
  if (x->rank == 4)
    return true;
  if (m->num_heads == 0)
    return glow_infer_error(in, "num_heads is 0, but X has rank 3");
  if (size->kind != GLOW_DIM_EXACT)
    return true;
  if (size->size % m->num_heads)
    return glow_infer_error(in, "X has size %lld, which %u heads do not divide",
                            (long long)size->size, m->num_heads);
  *size = GLOW_EXACT(size->size / m->num_heads);
  return true;
}

/* Cos or Sin: [batch, sequence, pairs], or [positions, pairs] where Positions choose. */
static bool check_angles(const GlowInfer *in, uint32_t i, const GlowType *x, GlowDim pairs) {
  const GlowType *t = glow_infer_in(in, i);
  bool chosen = glow_infer_in(in, GLOW_ROTARY_EMBEDDING_IN_POSITIONS) != NULL;
  GlowDim same;
  if (t->unranked)
    return true;
  bool fits = t->rank == (chosen ? 2 : 3) && glow_dim_meet(t->dims[t->rank - 1], pairs, &same) &&
              (chosen || (glow_dim_meet(t->dims[0], x->dims[0], &same) &&
                          glow_dim_meet(t->dims[1], x->dims[x->rank == 4 ? 2 : 1], &same)));
  return fits ||
         glow_infer_error(in, "%s has type %s, expected %s and %s pairs", in->desc->in[i].name,
                          glow_type_str(in->ctx, t), chosen ? "positions" : "batch, sequence",
                          glow_dim_str(in->ctx, pairs));
}

bool glow_infer_rotary_embedding(GlowInfer *in) {
  const GlowRotaryEmbeddingMembers *m = in->members;
  const GlowType *x = in->in[GLOW_ROTARY_EMBEDDING_IN_X];
  const GlowType *at = glow_infer_in(in, GLOW_ROTARY_EMBEDDING_IN_POSITIONS);
  GlowDim size = GLOW_UNKNOWN, rotated = GLOW_EXACT(m->rotary_embedding_dim), same;
  glow_infer_put(in, 0, x);
  if (x->unranked)
    return true;
  if (!head_size(in, x, &size))
    return false;
  rotated = m->rotary_embedding_dim ? rotated : size;
  if (rotated.kind == GLOW_DIM_EXACT && size.kind == GLOW_DIM_EXACT && rotated.size > size.size)
    return glow_infer_error(in, "rotary_embedding_dim is %lld, but heads have size %lld",
                            (long long)rotated.size, (long long)size.size);
  if (rotated.kind == GLOW_DIM_EXACT && rotated.size % 2)
    return glow_infer_error(in, "%lld elements of a head make no pairs", (long long)rotated.size);
  if (at && !at->unranked &&
      (at->rank != 2 || !glow_dim_meet(at->dims[0], x->dims[0], &same) ||
       !glow_dim_meet(at->dims[1], x->dims[x->rank == 4 ? 2 : 1], &same)))
    return glow_infer_error(in, "Positions has type %s, expected batch and sequence of X, %s",
                            glow_type_str(in->ctx, at), glow_type_str(in->ctx, x));
  GlowDim pairs = rotated.kind == GLOW_DIM_EXACT ? GLOW_EXACT(rotated.size / 2) : GLOW_UNKNOWN;
  return check_angles(in, GLOW_ROTARY_EMBEDDING_IN_COS, x, pairs) &&
         check_angles(in, GLOW_ROTARY_EMBEDDING_IN_SIN, x, pairs);
}

/* ---- CausalConvWithState --------------------------------------------------------------------- */

/* Whether operand i is absent or has these extents. */
static bool check_dims(const GlowInfer *in, uint32_t i, uint32_t rank, const GlowDim *dims) {
  const GlowType *t = glow_infer_in(in, i);
  GlowDim same;
  bool fits = !t || t->unranked || t->rank == rank;
  for (uint32_t a = 0; fits && t && !t->unranked && a < rank; a++)
    fits = glow_dim_meet(t->dims[a], dims[a], &same);
  return fits || glow_infer_error(
                     in, "%s has type %s, expected %s%s%s%s%s", in->desc->in[i].name,
                     glow_type_str(in->ctx, t), glow_dim_str(in->ctx, dims[0]),
                     rank > 1 ? " x " : "", rank > 1 ? glow_dim_str(in->ctx, dims[1]) : " elements",
                     rank > 2 ? " x " : "", rank > 2 ? glow_dim_str(in->ctx, dims[2]) : "");
}

bool glow_infer_causal_conv_with_state(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_CAUSAL_CONV_WITH_STATE_IN_X];
  const GlowType *w = in->in[GLOW_CAUSAL_CONV_WITH_STATE_IN_W];
  if (x->unranked || w->unranked)
    return glow_infer_set_unknown(in, 0, x, 3) && glow_infer_set_unknown(in, 1, x, 3);
  if (x->rank != 3 || w->rank != 3)
    return glow_infer_error(in, "X and W must have rank 3, but have types %s and %s",
                            glow_type_str(in->ctx, x), glow_type_str(in->ctx, w));
  GlowDim taps = w->dims[2];
  if (glow_dim_is_exact(taps, 0))
    return glow_infer_error(in, "the window is empty");
  GlowDim before = taps.kind == GLOW_DIM_EXACT ? GLOW_EXACT(taps.size - 1) : GLOW_UNKNOWN;
  GlowDim state[] = {x->dims[0], x->dims[1], before};
  return check_dims(in, GLOW_CAUSAL_CONV_WITH_STATE_IN_W, 3,
                    (GlowDim[]){x->dims[1], GLOW_EXACT(1), taps}) &&
         check_dims(in, GLOW_CAUSAL_CONV_WITH_STATE_IN_B, 1, &x->dims[1]) &&
         check_dims(in, GLOW_CAUSAL_CONV_WITH_STATE_IN_PAST, 3, state) &&
         glow_infer_set(in, 0, x, 3, x->dims) && glow_infer_set(in, 1, x, 3, state);
}
