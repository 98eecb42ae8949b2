/* Inference of matrix products and of normalization: MatMul, FullyConnected, BatchNormalization,
 * Softmax. MatMul is NumPy's. */
#include "ir/infer/hooks.h"

/* The product's dims: batch axes broadcast, then rows of A (unless a vector), columns of B (unless
 * a vector). Both are ranked. */
static bool product(const GlowInfer *in, const GlowType *a, const GlowType *b, GlowDim *dims,
                    uint32_t *rank) {
  if (a->rank == 0 || b->rank == 0)
    return glow_infer_error(in, "%s has rank 0", a->rank ? "B" : "A");
  uint32_t abatch = a->rank > 2 ? a->rank - 2 : 0, bbatch = b->rank > 2 ? b->rank - 2 : 0;
  uint32_t batch = abatch > bbatch ? abatch : bbatch;
  GlowDim depth, ka = a->dims[a->rank - 1], kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
  if (!glow_dim_meet(ka, kb, &depth))
    return glow_infer_error(in, "A has %s columns, but B %s rows", glow_dim_str(in->ctx, ka),
                            glow_dim_str(in->ctx, kb));
  for (uint32_t i = 0; i < batch; i++) {
    GlowDim da = i + abatch >= batch ? a->dims[i + abatch - batch] : GLOW_EXACT(1);
    GlowDim db = i + bbatch >= batch ? b->dims[i + bbatch - batch] : GLOW_EXACT(1);
    if (!glow_dim_broadcast(da, db, &dims[i]))
      return glow_infer_error(in, "batch extents %s and %s do not broadcast",
                              glow_dim_str(in->ctx, da), glow_dim_str(in->ctx, db));
  }
  *rank = batch;
  if (a->rank > 1)
    dims[(*rank)++] = a->dims[a->rank - 2];
  if (b->rank > 1)
    dims[(*rank)++] = b->dims[b->rank - 1];
  return true;
}

bool glow_infer_mat_mul(GlowInfer *in) {
  const GlowType *a = in->in[GLOW_MAT_MUL_IN_A], *b = in->in[GLOW_MAT_MUL_IN_B];
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (a->unranked || b->unranked)
    return glow_infer_set_unknown(in, 0, a, -1);
  return product(in, a, b, dims, &rank) && glow_infer_set(in, 0, a, rank, dims);
}

bool glow_infer_fully_connected(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_FULLY_CONNECTED_IN_X], *w = in->in[GLOW_FULLY_CONNECTED_IN_W];
  const GlowType *b = glow_infer_in(in, GLOW_FULLY_CONNECTED_IN_B);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (x->unranked || w->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!product(in, x, w, dims, &rank))
    return false;
  for (uint32_t i = 0; b && !b->unranked && i < b->rank; i++) {
    GlowDim d = b->dims[i], sum;
    if (b->rank > rank)
      return glow_infer_error(in, "B has rank %u, the product %u", b->rank, rank);
    GlowDim p = dims[i + rank - b->rank];
    if (!glow_dim_broadcast(p, d, &sum) || (glow_dim_is_exact(p, 1) && !glow_dim_is_exact(d, 1)))
      return glow_infer_error(in, "B has type %s, the product has extent %s there",
                              glow_type_str(in->ctx, b), glow_dim_str(in->ctx, p));
    dims[i + rank - b->rank] = sum;
  }
  return glow_infer_set(in, 0, x, rank, dims);
}

/* ---- Normalization -----------------------------------------------------------------------------
 */

bool glow_verify_batch_normalization(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X)->type;
  GlowDim channels = x->unranked || x->rank < 2 ? GLOW_UNKNOWN : x->dims[1];
  if (!x->unranked && x->rank < 2)
    return glow_verify_error(n, "X must have rank 2 at least, but has type %s",
                             glow_type_str(ctx, x));
  for (uint32_t i = GLOW_BATCH_NORMALIZATION_IN_SCALE; i <= GLOW_BATCH_NORMALIZATION_IN_VAR; i++) {
    const GlowType *t = glow_node_in(n, i)->type;
    if (t->unranked || (t->rank == 1 && glow_dim_meet(channels, t->dims[0], &channels)))
      continue;
    return glow_verify_error(n, "%s has type %s, expected %s elements: one for each channel",
                             glow_node_desc(n)->in[i].name, glow_type_str(ctx, t),
                             glow_dim_str(ctx, channels));
  }
  return true;
}

static bool check_softmax_axis(const GlowNode *n, int64_t axis) {
  const GlowType *x = glow_node_in(n, 0)->type;
  if (x->unranked || (axis >= -(int64_t)x->rank && axis < (int64_t)x->rank))
    return true;
  return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis, x->rank);
}

bool glow_verify_softmax(const GlowNode *n) {
  const GlowSoftmaxMembers *m = n->members;
  return check_softmax_axis(n, m->axis);
}

bool glow_verify_log_softmax(const GlowNode *n) {
  const GlowLogSoftmaxMembers *m = n->members;
  return check_softmax_axis(n, m->axis);
}
