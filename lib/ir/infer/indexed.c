/* Inference of operators that read or write where an operand of indices says: GatherElements,
 * GatherND, ScatterElements, ScatterND, TensorScatter, ReverseSequence. Definitions as ONNX's. */
#include "ir/infer/hooks.h"

/* ---- Shared checks --------------------------------------------------------------------------- */

/* Whether `a` is certainly larger than `b`. */
static bool exceeds(GlowDim a, GlowDim b) {
  return a.kind == GLOW_DIM_EXACT && glow_dim_has_size(b) && a.size > b.size;
}

/* Whether an operand has `rank`, the rank of X; else reports. */
static bool same_rank(const GlowInfer *in, uint32_t port, const GlowType *t, uint32_t rank) {
  return t->unranked || t->rank == rank ||
         glow_infer_error(in, "%s has rank %u, but X has %u", in->desc->in[port].name, t->rank,
                          rank);
}

/* Narrows dims[0..count) by the dims of t from `first` on; reports a contradiction. */
static bool meet_dims(const GlowInfer *in, uint32_t port, const GlowType *t, uint32_t first,
                      uint32_t count, GlowDim *dims) {
  for (uint32_t i = 0; i < count; i++) {
    GlowDim before = dims[i];
    if (!glow_dim_meet(before, t->dims[first + i], &dims[i]))
      return glow_infer_error(in, "%s has extent %s along axis %u, expected %s",
                              in->desc->in[port].name, glow_dim_str(in->ctx, t->dims[first + i]),
                              first + i, glow_dim_str(in->ctx, before));
  }
  return true;
}

/* ---- Along an axis --------------------------------------------------------------------------- */

/* Whether Indices is no longer than X along every axis but `at`; else reports. */
static bool within(const GlowInfer *in, const GlowType *x, const GlowType *indices, int64_t at) {
  uint32_t axis;
  if (x->unranked)
    return true;
  if (!glow_infer_axis(in, at, x->rank, &axis) || !same_rank(in, 1, indices, x->rank))
    return false;
  for (uint32_t i = 0; !indices->unranked && i < x->rank; i++)
    if (i != axis && exceeds(indices->dims[i], x->dims[i]))
      return glow_infer_error(in, "Indices has extent %s along axis %u, but X has %s",
                              glow_dim_str(in->ctx, indices->dims[i]), i,
                              glow_dim_str(in->ctx, x->dims[i]));
  return true;
}

bool glow_infer_gather_elements(GlowInfer *in) {
  const GlowGatherElementsMembers *m = in->members;
  const GlowType *x = in->in[GLOW_GATHER_ELEMENTS_IN_X];
  const GlowType *indices = in->in[GLOW_GATHER_ELEMENTS_IN_INDICES];
  if (!within(in, x, indices, m->axis))
    return false;
  if (indices->unranked)
    return glow_infer_set_unknown(in, 0, x, x->unranked ? -1 : (int64_t)x->rank);
  return glow_infer_set(in, 0, x, indices->rank, indices->dims);
}

bool glow_infer_scatter_elements(GlowInfer *in) {
  const GlowScatterElementsMembers *m = in->members;
  const GlowType *x = in->in[GLOW_SCATTER_ELEMENTS_IN_X];
  const GlowType *indices = in->in[GLOW_SCATTER_ELEMENTS_IN_INDICES];
  const GlowType *updates = in->in[GLOW_SCATTER_ELEMENTS_IN_UPDATES];
  glow_infer_put(in, 0, x);
  if (!within(in, x, indices, m->axis))
    return false;
  if (indices->unranked || updates->unranked)
    return true;
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, indices->dims, sizeof dims);
  return same_rank(in, GLOW_SCATTER_ELEMENTS_IN_UPDATES, updates, indices->rank) &&
         meet_dims(in, GLOW_SCATTER_ELEMENTS_IN_UPDATES, updates, 0, indices->rank, dims);
}

/* ---- By vectors of indices ------------------------------------------------------------------- */

/* The length of the vectors in Indices; -1: not known; -2: after a diagnostic. */
static int64_t vector_length(const GlowInfer *in, const GlowType *x, const GlowType *indices,
                             uint32_t batches) {
  if (indices->unranked)
    return -1;
  if (indices->rank == 0) {
    glow_infer_error(in, "Indices is a scalar");
    return -2;
  }
  GlowDim last = indices->dims[indices->rank - 1];
  if (last.kind != GLOW_DIM_EXACT || x->unranked)
    return -1;
  if (last.size <= (int64_t)x->rank - batches)
    return last.size;
  glow_infer_error(in, "Indices has vectors of %lld, but X has %u axes%s", (long long)last.size,
                   x->rank - batches, batches ? " behind those of the batch" : "");
  return -2;
}

bool glow_infer_gather_nd(GlowInfer *in) {
  const GlowGatherNDMembers *m = in->members;
  const GlowType *x = in->in[GLOW_GATHER_ND_IN_X], *indices = in->in[GLOW_GATHER_ND_IN_INDICES];
  uint32_t batches = m->batch_dims;
  if ((!x->unranked && batches > x->rank) ||
      (!indices->unranked && batches && batches >= indices->rank))
    return glow_infer_error(in, "batch_dims is %u, but X is %s and Indices %s", batches,
                            glow_type_str(in->ctx, x), glow_type_str(in->ctx, indices));
  int64_t length = vector_length(in, x, indices, batches);
  if (length < 0)
    return length == -1 && glow_infer_set_unknown(in, 0, x, -1);
  GlowDim dims[2 * GLOW_MAX_RANK];
  uint32_t outer = indices->rank - 1, from = batches + (uint32_t)length;
  memcpy(dims, indices->dims, outer * sizeof *dims);
  if (!meet_dims(in, GLOW_GATHER_ND_IN_X, x, 0, batches, dims))
    return false;
  memcpy(dims + outer, x->dims + from, (x->rank - from) * sizeof *dims);
  return glow_infer_set(in, 0, x, outer + x->rank - from, dims);
}

bool glow_infer_scatter_nd(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_SCATTER_ND_IN_X], *indices = in->in[GLOW_SCATTER_ND_IN_INDICES];
  const GlowType *updates = in->in[GLOW_SCATTER_ND_IN_UPDATES];
  int64_t length = vector_length(in, x, indices, 0);
  glow_infer_put(in, 0, x);
  if (length < 0 || updates->unranked)
    return length != -2;
  GlowDim dims[2 * GLOW_MAX_RANK];
  uint32_t outer = indices->rank - 1, from = (uint32_t)length, rank = outer + x->rank - from;
  if (updates->rank != rank)
    return glow_infer_error(in, "Updates has rank %u, expected %u", updates->rank, rank);
  memcpy(dims, indices->dims, outer * sizeof *dims);
  memcpy(dims + outer, x->dims + from, (x->rank - from) * sizeof *dims);
  return meet_dims(in, GLOW_SCATTER_ND_IN_UPDATES, updates, 0, rank, dims);
}

/* ---- Reductions of scatters ------------------------------------------------------------------ */

/* Elements of strings, complex and small kinds can be stored, but not combined by a reduction. */
static bool check_reduction(const GlowNode *n, int reduction) {
  GlowKind kind = glow_node_in(n, 0)->type->kind;
  const GlowKindInfo *info = &glow_kind_info[kind];
  bool whole = info->bits >= 8 && (info->cls != GLOW_CLASS_FLOAT || info->bits > 8);
  if (reduction == GLOW_SCATTER_REDUCTION_NONE ||
      (whole && info->cls != GLOW_CLASS_STRING && info->cls != GLOW_CLASS_COMPLEX))
    return true;
  return glow_verify_error(n, "elements of %s cannot be combined", info->name);
}

bool glow_verify_scatter_elements(const GlowNode *n) {
  return check_reduction(n, ((const GlowScatterElementsMembers *)n->members)->reduction);
}
bool glow_verify_scatter_nd(const GlowNode *n) {
  return check_reduction(n, ((const GlowScatterNDMembers *)n->members)->reduction);
}

/* ---- TensorScatter and ReverseSequence ------------------------------------------------------- */

/* Checks that an operand is a list with one value for each element along an axis of X. */
static bool one_for_each(const GlowInfer *in, uint32_t port, GlowDim extent) {
  const GlowType *t = glow_infer_in(in, port);
  GlowDim unused;
  if (!t || t->unranked)
    return true;
  if (t->rank != 1)
    return glow_infer_error(in, "%s must have rank 1, but has type %s", in->desc->in[port].name,
                            glow_type_str(in->ctx, t));
  return glow_dim_meet(t->dims[0], extent, &unused) ||
         glow_infer_error(in, "%s has %s values for a batch of %s", in->desc->in[port].name,
                          glow_dim_str(in->ctx, t->dims[0]), glow_dim_str(in->ctx, extent));
}

bool glow_infer_tensor_scatter(GlowInfer *in) {
  const GlowTensorScatterMembers *m = in->members;
  const GlowType *x = in->in[GLOW_TENSOR_SCATTER_IN_X];
  const GlowType *update = in->in[GLOW_TENSOR_SCATTER_IN_UPDATE];
  uint32_t axis;
  glow_infer_put(in, 0, x);
  if (x->unranked)
    return true;
  if (!glow_infer_axis(in, m->axis, x->rank, &axis) ||
      !same_rank(in, GLOW_TENSOR_SCATTER_IN_UPDATE, update, x->rank))
    return false;
  if (axis == 0)
    return glow_infer_error(in, "axis 0 is that of the batch");
  if (!one_for_each(in, GLOW_TENSOR_SCATTER_IN_WRITE_INDICES, x->dims[0]))
    return false;
  if (update->unranked)
    return true;
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = update->dims[axis];
  if (exceeds(dims[axis], x->dims[axis]))
    return glow_infer_error(in, "Update has extent %s along axis %u, but X has %s",
                            glow_dim_str(in->ctx, dims[axis]), axis,
                            glow_dim_str(in->ctx, x->dims[axis]));
  return meet_dims(in, GLOW_TENSOR_SCATTER_IN_UPDATE, update, 0, x->rank, dims);
}

bool glow_infer_reverse_sequence(GlowInfer *in) {
  const GlowReverseSequenceMembers *m = in->members;
  const GlowType *x = in->in[GLOW_REVERSE_SEQUENCE_IN_X];
  uint32_t batch, time;
  glow_infer_put(in, 0, x);
  if (x->unranked)
    return true;
  if (!glow_infer_axis(in, m->batch_axis, x->rank, &batch) ||
      !glow_infer_axis(in, m->time_axis, x->rank, &time))
    return false;
  if (batch == time)
    return glow_infer_error(in, "axis %u is that of the batch and that of time", batch);
  return one_for_each(in, GLOW_REVERSE_SEQUENCE_IN_LENGTHS, x->dims[batch]);
}
