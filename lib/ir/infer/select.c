/* Inference of operators that select elements: NonZero, Compress, TopK, ArgMax, Unique, OneHot,
 * Hardmax. Definitions as ONNX's. */
#include "ir/infer/hooks.h"

/* The product of all extents. */
static GlowDim elements(const GlowType *t) {
  GlowDim n = GLOW_EXACT(1);
  if (t->unranked)
    return GLOW_UNKNOWN;
  for (uint32_t i = 0; i < t->rank; i++)
    n = glow_dim_mul(n, t->dims[i]);
  return n;
}

/* The result has a row for each axis of X: none for a scalar (NumPy has one). */
bool glow_infer_non_zero(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_NON_ZERO_IN_X], *base = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  GlowDim dims[2] = {x->unranked ? GLOW_BOUND(GLOW_MAX_RANK) : GLOW_EXACT(x->rank),
                     glow_dim_part(elements(x))};
  return glow_infer_set(in, 0, base, 2, dims);
}

/* At most one result for each element of Cond; the exact number if its values are known. */
static GlowDim chosen(const GlowInfer *in, GlowDim whole) {
  const GlowTensor *cond = glow_infer_known(in, GLOW_COMPRESS_IN_COND);
  const GlowType *t = in->in[GLOW_COMPRESS_IN_COND];
  GlowDim length = t->unranked || t->rank != 1 ? GLOW_UNKNOWN : t->dims[0];
  if (cond && whole.kind == GLOW_DIM_EXACT) {
    const uint8_t *values = cond->type->layout ? NULL : cond->data;
    int64_t n = glow_tensor_elements(cond), count = 0;
    for (int64_t i = 0; i < n && i < whole.size; i++)
      count += (values ? values[i] : glow_tensor_get_int(cond, i)) != 0;
    return GLOW_EXACT(count);
  }
  if (glow_dim_has_size(length) && (!glow_dim_has_size(whole) || length.size < whole.size))
    whole = length;
  return glow_dim_part(whole);
}

bool glow_infer_compress(GlowInfer *in) {
  const GlowCompressMembers *m = in->members;
  const GlowType *x = in->in[GLOW_COMPRESS_IN_X], *cond = in->in[GLOW_COMPRESS_IN_COND];
  if (!cond->unranked && cond->rank != 1)
    return glow_infer_error(in, "Cond must have rank 1, but has type %s",
                            glow_type_str(in->ctx, cond));
  GlowDim dims[GLOW_MAX_RANK];
  if (m->flat) {
    dims[0] = chosen(in, elements(x));
    return glow_infer_set(in, 0, x, 1, dims);
  }
  uint32_t axis;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = chosen(in, dims[axis]);
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- TopK ------------------------------------------------------------------------------------ */

bool glow_infer_top_k(GlowInfer *in) {
  const GlowTopKMembers *m = in->members;
  const GlowType *x = in->in[GLOW_TOP_K_IN_X], *indices = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1) && glow_infer_set_unknown(in, 1, indices, -1);
  uint32_t axis, count;
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  GlowDim dims[GLOW_MAX_RANK], k = GLOW_EXACT(m->k);
  memcpy(dims, x->dims, sizeof dims);
  if (glow_infer_in(in, GLOW_TOP_K_IN_K)) {
    int64_t length = glow_infer_list_length(in, GLOW_TOP_K_IN_K);
    if (length >= 0 && length != 1)
      return glow_infer_error(in, "K has %lld values, not 1", (long long)length);
    const int64_t *values = glow_infer_ints(in, GLOW_TOP_K_IN_K, &count);
    if (values && values[0] < 0)
      return glow_infer_error(in, "k is %lld", (long long)values[0]);
    k = values ? GLOW_EXACT(values[0]) : glow_dim_part(dims[axis]);
  }
  if (k.kind == GLOW_DIM_EXACT && glow_dim_has_size(dims[axis]) && k.size > dims[axis].size)
    return glow_infer_error(in, "k is %lld, but axis %u has extent %s", (long long)k.size, axis,
                            glow_dim_str(in->ctx, dims[axis]));
  dims[axis] = k;
  return glow_infer_set(in, GLOW_TOP_K_OUT_VALUES, x, x->rank, dims) &&
         glow_infer_set(in, GLOW_TOP_K_OUT_INDICES, indices, x->rank, dims);
}

bool glow_verify_top_k(const GlowNode *n) {
  const GlowTopKMembers *m = n->members;
  if (m->k && glow_node_in(n, GLOW_TOP_K_IN_K))
    return glow_verify_error(n, "k is given as a member and as an operand");
  return true;
}

bool glow_infer_arg_max(GlowInfer *in) {
  const GlowArgMaxMembers *m = in->members;
  const GlowType *x = in->in[GLOW_ARG_MAX_IN_X], *base = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, base, -1);
  uint32_t axis, rank = 0;
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  if (glow_dim_is_exact(x->dims[axis], 0))
    return glow_infer_error(in, "axis %u has no elements", axis);
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != axis || m->keep)
      dims[rank++] = i == axis ? GLOW_EXACT(1) : x->dims[i];
  return glow_infer_set(in, 0, base, rank, dims);
}

/* ---- Unique ---------------------------------------------------------------------------------- */

bool glow_infer_unique(GlowInfer *in) {
  const GlowUniqueMembers *m = in->members;
  const GlowType *x = in->in[GLOW_UNIQUE_IN_X], *list = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  GlowDim dims[GLOW_MAX_RANK], whole;
  uint32_t axis = 0, rank = m->flat ? 1 : x->rank;
  if (m->flat) {
    whole = elements(x);
  } else if (x->unranked) {
    whole = GLOW_UNKNOWN;
  } else {
    if (!glow_infer_axis(in, m->axis, x->rank, &axis))
      return false;
    whole = x->dims[axis];
    memcpy(dims, x->dims, sizeof dims);
  }
  GlowDim found = glow_dim_is_exact(whole, 1) ? whole : glow_dim_part(whole);
  dims[axis] = found;
  if (!m->flat && x->unranked)
    glow_infer_set_unknown(in, GLOW_UNIQUE_OUT_Y, x, -1);
  else if (!glow_infer_set(in, GLOW_UNIQUE_OUT_Y, x, rank, dims))
    return false;
  return glow_infer_set(in, GLOW_UNIQUE_OUT_INDICES, list, 1, &found) &&
         glow_infer_set(in, GLOW_UNIQUE_OUT_INVERSE, list, 1, &whole) &&
         glow_infer_set(in, GLOW_UNIQUE_OUT_COUNTS, list, 1, &found);
}

/* ---- OneHot ---------------------------------------------------------------------------------- */

/* Reads the extent that Depth gives. */
static bool read_depth(const GlowInfer *in, GlowDim *depth) {
  int64_t length = glow_infer_list_length(in, GLOW_ONE_HOT_IN_DEPTH);
  const GlowType *t = in->in[GLOW_ONE_HOT_IN_DEPTH];
  *depth = GLOW_UNKNOWN;
  if ((!t->unranked && t->rank > 1) || (length >= 0 && length != 1))
    return glow_infer_error(in, "Depth must have one element, but has type %s",
                            glow_type_str(in->ctx, t));
  const GlowTensor *known = glow_infer_known(in, GLOW_ONE_HOT_IN_DEPTH);
  if (!known || glow_tensor_elements(known) != 1)
    return true;
  int64_t value = glow_tensor_get_int(known, 0);
  *depth = GLOW_EXACT(value);
  return value >= 0 || glow_infer_error(in, "Depth is %lld", (long long)value);
}

bool glow_infer_one_hot(GlowInfer *in) {
  const GlowOneHotMembers *m = in->members;
  const GlowType *indices = in->in[GLOW_ONE_HOT_IN_INDICES];
  const GlowType *values = in->in[GLOW_ONE_HOT_IN_VALUES];
  GlowDim dims[GLOW_MAX_RANK + 1], two;
  if (!values->unranked &&
      (values->rank != 1 || !glow_dim_meet(values->dims[0], GLOW_EXACT(2), &two)))
    return glow_infer_error(in, "Values must be two values, but has type %s",
                            glow_type_str(in->ctx, values));
  if (indices->unranked)
    return read_depth(in, dims) && glow_infer_set_unknown(in, 0, values, -1);
  uint32_t axis, rank = indices->rank + 1;
  if (!glow_infer_axis(in, m->axis, rank, &axis) || !read_depth(in, &dims[axis]))
    return false;
  for (uint32_t i = 0, k = 0; i < rank; i++)
    if (i != axis)
      dims[i] = indices->dims[k++];
  return glow_infer_set(in, 0, values, rank, dims);
}

bool glow_infer_hardmax(GlowInfer *in) {
  const GlowHardmaxMembers *m = in->members;
  const GlowType *x = in->in[GLOW_HARDMAX_IN_X];
  uint32_t axis;
  glow_infer_put(in, 0, x);
  return x->unranked || glow_infer_axis(in, m->axis, x->rank, &axis);
}
