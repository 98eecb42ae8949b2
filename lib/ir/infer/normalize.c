/* Inference and verification of normalization and softmax. */
#include "ir/infer/hooks.h"

/* ---- Over the last axes ---------------------------------------------------------------------- */

/* Whether operand i is absent or broadcasts to the dims of x; else reports. */
static bool check_factor(const GlowInfer *in, uint32_t i, const GlowType *x) {
  const GlowType *t = glow_infer_in(in, i);
  if (!t || t->unranked || x->unranked)
    return true;
  bool ok = t->rank <= x->rank;
  for (uint32_t k = 0; ok && k < t->rank; k++) {
    GlowDim d = t->dims[k], same;
    ok = glow_dim_is_exact(d, 1) || glow_dim_meet(x->dims[k + x->rank - t->rank], d, &same);
  }
  return ok || glow_infer_error(in, "%s has type %s, which does not broadcast to X, %s",
                                in->desc->in[i].name, glow_type_str(in->ctx, t),
                                glow_type_str(in->ctx, x));
}

static bool check_first_stage(const GlowInfer *in, const GlowType *x, int64_t axis, GlowKind kind) {
  uint32_t first;
  if (!glow_kind_is_float(kind))
    return glow_infer_error(in, "stash_type is %s, which is no floating point kind",
                            glow_kind_info[kind].name);
  return x->unranked || glow_infer_axis(in, axis, x->rank, &first);
}

bool glow_infer_layer_normalization(GlowInfer *in) {
  const GlowLayerNormalizationMembers *m = in->members;
  const GlowType *x = in->in[GLOW_LAYER_NORMALIZATION_IN_X];
  if (!check_first_stage(in, x, m->axis, m->stash_type) ||
      !check_factor(in, GLOW_LAYER_NORMALIZATION_IN_SCALE, x) ||
      !check_factor(in, GLOW_LAYER_NORMALIZATION_IN_BIAS, x))
    return false;
  glow_infer_put(in, GLOW_LAYER_NORMALIZATION_OUT_Y, x);
  const GlowType *stash = glow_type_with_kind(in->ctx, x, m->stash_type);
  if (x->unranked)
    return glow_infer_set_unknown(in, GLOW_LAYER_NORMALIZATION_OUT_MEAN, stash, -1) &&
           glow_infer_set_unknown(in, GLOW_LAYER_NORMALIZATION_OUT_INV_STD_DEV, stash, -1);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t axis = (uint32_t)(m->axis < 0 ? m->axis + x->rank : m->axis);
  for (uint32_t i = 0; i < x->rank; i++)
    dims[i] = i < axis ? x->dims[i] : GLOW_EXACT(1);
  return glow_infer_set(in, GLOW_LAYER_NORMALIZATION_OUT_MEAN, stash, x->rank, dims) &&
         glow_infer_set(in, GLOW_LAYER_NORMALIZATION_OUT_INV_STD_DEV, stash, x->rank, dims);
}

bool glow_infer_rms_normalization(GlowInfer *in) {
  const GlowRMSNormalizationMembers *m = in->members;
  const GlowType *x = in->in[GLOW_RMS_NORMALIZATION_IN_X];
  const GlowType *scale = glow_infer_in(in, GLOW_RMS_NORMALIZATION_IN_SCALE);
  if (!check_first_stage(in, x, m->axis, m->stash_type) ||
      !check_factor(in, GLOW_RMS_NORMALIZATION_IN_SCALE, x))
    return false;
  glow_infer_put(in, 0, scale ? glow_type_with_kind(in->ctx, x, scale->kind) : x);
  return true;
}

/* ---- Along channels and along one axis ------------------------------------------------------- */

/* Operands first..last of n, if given, must have an element for each channel (axis 1). */
static bool check_channels(const GlowNode *n, uint32_t first, uint32_t last) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, 0)->type;
  GlowDim channels = x->unranked || x->rank < 2 ? GLOW_UNKNOWN : x->dims[1];
  if (!x->unranked && x->rank < 2)
    return glow_verify_error(n, "X must have rank 2 at least, but has type %s",
                             glow_type_str(ctx, x));
  for (uint32_t i = first; i <= last; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (!v || v->type->unranked ||
        (v->type->rank == 1 && glow_dim_meet(channels, v->type->dims[0], &channels)))
      continue;
    return glow_verify_error(n, "%s has type %s, expected %s elements: one for each channel",
                             glow_node_desc(n)->in[i].name, glow_type_str(ctx, v->type),
                             glow_dim_str(ctx, channels));
  }
  return true;
}

bool glow_verify_batch_normalization(const GlowNode *n) {
  return check_channels(n, GLOW_BATCH_NORMALIZATION_IN_SCALE, GLOW_BATCH_NORMALIZATION_IN_VAR);
}

bool glow_verify_instance_normalization(const GlowNode *n) {
  return check_channels(n, GLOW_INSTANCE_NORMALIZATION_IN_SCALE,
                        GLOW_INSTANCE_NORMALIZATION_IN_BIAS);
}

bool glow_verify_group_normalization(const GlowNode *n) {
  const GlowGroupNormalizationMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_GROUP_NORMALIZATION_IN_X)->type;
  if (!check_channels(n, GLOW_GROUP_NORMALIZATION_IN_SCALE, GLOW_GROUP_NORMALIZATION_IN_BIAS))
    return false;
  if (!glow_kind_is_float(m->stash_type))
    return glow_verify_error(n, "stash_type is %s, which is no floating point kind",
                             glow_kind_info[m->stash_type].name);
  if (m->num_groups == 0)
    return glow_verify_error(n, "num_groups is 0");
  if (!x->unranked && x->dims[1].kind == GLOW_DIM_EXACT && x->dims[1].size % m->num_groups)
    return glow_verify_error(n, "%lld channels cannot be divided into %u groups",
                             (long long)x->dims[1].size, m->num_groups);
  return true;
}

bool glow_verify_lrn(const GlowNode *n) {
  const GlowLRNMembers *m = n->members;
  if (m->size == 0)
    return glow_verify_error(n, "size is 0");
  return check_channels(n, 1, 0);
}

bool glow_verify_mean_variance_normalization(const GlowNode *n) {
  const GlowMeanVarianceNormalizationMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type;
  uint32_t seen = 0;
  for (uint32_t i = 0; !x->unranked && i < m->axes.count; i++) {
    int64_t axis = glow_array_at(m->axes, int64_t, i), rank = x->rank;
    if (axis < -rank || axis >= rank)
      return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis,
                               x->rank);
    uint32_t bit = 1u << (axis < 0 ? axis + rank : axis);
    if (seen & bit)
      return glow_verify_error(n, "axis %lld is named twice", (long long)axis);
    seen |= bit;
  }
  return true;
}

static bool check_axis(const GlowNode *n, int64_t axis) {
  const GlowType *x = glow_node_in(n, 0)->type;
  if (x->unranked || (axis >= -(int64_t)x->rank && axis < (int64_t)x->rank))
    return true;
  return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis, x->rank);
}

bool glow_verify_lp_normalization(const GlowNode *n) {
  const GlowLpNormalizationMembers *m = n->members;
  if (m->p != 1 && m->p != 2)
    return glow_verify_error(n, "p is %u, expected 1 or 2", m->p);
  return check_axis(n, m->axis);
}

bool glow_verify_softmax(const GlowNode *n) {
  const GlowSoftmaxMembers *m = n->members;
  return check_axis(n, m->axis);
}

bool glow_verify_log_softmax(const GlowNode *n) {
  const GlowLogSoftmaxMembers *m = n->members;
  return check_axis(n, m->axis);
}
