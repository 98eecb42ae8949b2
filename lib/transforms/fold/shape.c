/* Shape and Size of a tensor whose extents are all exact are integer constants. */
#include "lower/lower.h"
#include "ops/fold.h"

/* The extents of x, or false if one is open. */
static bool exact_dims(const GlowValue *x, int64_t *dims, uint32_t *rank) {
  const GlowType *t = x->type;
  if (!glow_type_is_static(t))
    return false;
  *rank = t->rank;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  return true;
}

/* A position counted from the end if negative, limited to [0, rank]. */
static uint32_t clamp_axis(int64_t at, uint32_t rank) {
  if (at < 0)
    at += rank;
  return at < 0 ? 0 : at > rank ? rank : (uint32_t)at;
}

bool glow_fold_shape(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowShapeMembers *members = n->members;
  int64_t dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (!exact_dims(glow_node_in(n, 0), dims, &rank))
    return false;
  uint32_t start = clamp_axis(members->start, rank), end = clamp_axis(members->end, rank);
  results[0] =
      glow_constant_ints(b->module, n, "value", dims + start, end > start ? end - start : 0);
  return true;
}

bool glow_fold_size(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  int64_t dims[GLOW_MAX_RANK], size = 1;
  uint32_t rank;
  if (!exact_dims(glow_node_in(n, 0), dims, &rank))
    return false;
  for (uint32_t i = 0; i < rank; i++)
    size *= dims[i]; /* types limit the product */
  results[0] = glow_constant_int(b->module, n, "value", size);
  return true;
}
