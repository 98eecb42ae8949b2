/* Normalization of groups of elements by their mean and deviation:
 *
 *   InstanceNormalization      D * Reciprocal(Sqrt(ReduceMean(D * D) + epsilon)) * Scale' + Bias'
 *                              over axes 2, 3, ...
 *   GroupNormalization         the same over the last axis of [batch, groups, the rest]
 *   MeanVarianceNormalization  D * Reciprocal(Sqrt(ReduceMean(D * D)) + 1e-9)
 *
 * with D = X - ReduceMean(X). 16-bit floats are computed in float up to that product
 * (GroupNormalization: in the kind stash_type). ' means that the list stands along axis 1. */
#include "lower/lower.h"
#include "ops/lower.h"

/* D over its deviation in x's kind. */
static GlowValue *normalized(GlowBuilder *b, GlowValue *x, GlowValue *axes, double epsilon) {
  GlowValue *d = glow_then2(b, GLOW_OP_SUB, x, glow_then2(b, GLOW_OP_REDUCE_MEAN, x, axes));
  return glow_then2(b, GLOW_OP_MUL, d, glow_build_inverse_deviation(b, d, axes, epsilon));
}

static GlowValue *axes_from(GlowBuilder *b, const GlowNode *n, uint32_t first, uint32_t rank) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = first; i < rank; i++)
    axes[count++] = i;
  return glow_constant_ints(b->module, n, "axes", axes, count);
}

/* y * scale + bias along axis 1, where they are given. */
static GlowValue *scaled(GlowBuilder *b, const GlowNode *n, GlowValue *y, GlowValue *scale,
                         GlowValue *bias) {
  uint32_t rank = y ? y->type->rank : 0;
  if ((scale && scale->type->unranked) || (bias && bias->type->unranked))
    return NULL;
  y = scale ? glow_then2(b, GLOW_OP_MUL, y, glow_along_channels(b, n, scale, rank)) : y;
  return bias ? glow_then2(b, GLOW_OP_ADD, y, glow_along_channels(b, n, bias, rank)) : y;
}

bool glow_lower_instance_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowInstanceNormalizationMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_INSTANCE_NORMALIZATION_IN_X);
  if (x->type->unranked)
    return false;
  GlowKind kind = x->type->kind;
  /* Without spatial axes each element is its own mean; an empty list would mean all axes. */
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->type->dims, sizeof dims);
  uint32_t rank = x->type->rank;
  bool flat = rank == 2;
  if (flat) {
    dims[rank++] = GLOW_EXACT(1);
    x = glow_build_reshape(b, n, x, rank, dims);
  }
  GlowValue *y = x ? normalized(b, glow_then_cast(b, x, glow_sum_kind(kind)),
                                axes_from(b, n, 2, rank), (double)m->epsilon)
                   : NULL;
  y = glow_then_cast(b, y, kind);
  y = y && flat ? glow_build_reshape(b, n, y, 2, dims) : y;
  results[0] = scaled(b, n, y, glow_node_in(n, GLOW_INSTANCE_NORMALIZATION_IN_SCALE),
                      glow_node_in(n, GLOW_INSTANCE_NORMALIZATION_IN_BIAS));
  return results[0] != NULL;
}

bool glow_lower_group_normalization(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGroupNormalizationMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_GROUP_NORMALIZATION_IN_X);
  const GlowType *t = x->type;
  if (t->unranked)
    return false;
  int64_t rest = 1;
  for (uint32_t i = 1; i < t->rank; i++) {
    if (t->dims[i].kind != GLOW_DIM_EXACT)
      return false;
    rest *= t->dims[i].size;
  }
  GlowDim groups[] = {t->dims[0], GLOW_EXACT(m->num_groups), GLOW_EXACT(rest / m->num_groups)};
  GlowValue *y = glow_build_reshape(b, n, glow_then_cast(b, x, m->stash_type), 3, groups);
  y = y ? normalized(b, y, axes_from(b, n, 2, 3), (double)m->epsilon) : NULL;
  y = glow_then_cast(b, y, t->kind);
  y = y ? glow_build_reshape(b, n, y, t->rank, t->dims) : NULL;
  results[0] = scaled(b, n, y, glow_node_in(n, GLOW_GROUP_NORMALIZATION_IN_SCALE),
                      glow_node_in(n, GLOW_GROUP_NORMALIZATION_IN_BIAS));
  return results[0] != NULL;
}

/* The axes of a list that have more than one element: a batch of one image is reduced over its last
 * axes, in lanes. If there are none, the list. */
static GlowValue *long_axes(GlowBuilder *b, const GlowNode *n, const GlowType *t, GlowArray axes) {
  int64_t list[GLOW_MAX_RANK], all[GLOW_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < axes.count; i++) {
    all[i] = glow_array_at(axes, int64_t, i);
    const GlowDim *d = t->unranked ? NULL : &t->dims[all[i] < 0 ? all[i] + t->rank : all[i]];
    if (!d || d->kind != GLOW_DIM_EXACT || d->size != 1)
      list[count++] = all[i];
  }
  return glow_constant_ints(b->module, n, "axes", count ? list : all, count ? count : axes.count);
}

bool glow_lower_mean_variance_normalization(GlowBuilder *b, const GlowNode *n,
                                            GlowValue **results) {
  const GlowMeanVarianceNormalizationMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_MEAN_VARIANCE_NORMALIZATION_IN_X);
  GlowKind kind = x->type->kind;
  GlowValue *axes = long_axes(b, n, x->type, m->axes);
  GlowValue *wide = glow_then_cast(b, x, glow_sum_kind(kind));
  GlowValue *d = glow_then2(b, GLOW_OP_SUB, wide, glow_then2(b, GLOW_OP_REDUCE_MEAN, wide, axes));
  GlowValue *s = glow_build_deviation(b, d, axes, 0);
  GlowValue *small = glow_build_scalar(b, glow_sum_kind(kind), 1e-9);
  GlowValue *inverse =
      glow_then1(b, GLOW_OP_RECIPROCAL, glow_then2(b, GLOW_OP_ADD, s, small), NULL);
  GlowValue *y = glow_then2(b, GLOW_OP_MUL, d, inverse);
  results[0] = glow_then_cast(b, y, kind);
  return results[0] != NULL;
}
