/* Inference of reductions over axes, as ONNX's of version 18, where Axes is an operand; and of
 * scans along an axis. */
#include "ir/infer/hooks.h"

/* The extent of an axis that may be reduced or not: Axes is not known. */
static GlowDim maybe_reduced(GlowDim d) {
  if (glow_dim_is_exact(d, 1) || !glow_dim_has_size(d))
    return glow_dim_is_exact(d, 1) ? d : GLOW_UNKNOWN;
  return GLOW_BOUND(d.size > 1 ? d.size : 1);
}

static bool reduce(GlowInfer *in, bool keep, bool noop) {
  const GlowType *x = in->in[0];
  bool has_axes = glow_infer_in(in, 1) != NULL;
  uint32_t count = 0, set = 0, rank = 0;
  const int64_t *axes = glow_infer_ints(in, 1, &count);
  int64_t length = axes ? count : has_axes ? glow_infer_list_length(in, 1) : 0;
  if (length == 0 && noop) {
    glow_infer_put(in, 0, x);
    return true;
  }
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, length == 0 && !keep ? 0 : -1);
  GlowDim dims[GLOW_MAX_RANK];
  if (!axes && length != 0) {
    if (length > x->rank)
      return glow_infer_error(in, "%lld axes are named, but X has %u", (long long)length, x->rank);
    if (!keep)
      return glow_infer_set_unknown(in, 0, x, length < 0 ? -1 : x->rank - length);
    for (uint32_t i = 0; i < x->rank; i++)
      dims[i] = maybe_reduced(x->dims[i]);
    return glow_infer_set(in, 0, x, x->rank, dims);
  }
  if (length == 0)
    set = (1u << x->rank) - 1u;
  else if (!glow_infer_axes(in, axes, count, x->rank, &set))
    return false;
  for (uint32_t i = 0; i < x->rank; i++)
    if (keep || !(set >> i & 1u))
      dims[rank++] = set >> i & 1u ? GLOW_EXACT(1) : x->dims[i];
  return glow_infer_set(in, 0, x, rank, dims);
}

bool glow_infer_reduce_sum(GlowInfer *in) {
  const GlowReduceSumMembers *m = in->members;
  return reduce(in, m->keep, m->noop);
}
bool glow_infer_reduce_mean(GlowInfer *in) {
  const GlowReduceMeanMembers *m = in->members;
  return reduce(in, m->keep, m->noop);
}
bool glow_infer_reduce_max(GlowInfer *in) {
  const GlowReduceMaxMembers *m = in->members;
  return reduce(in, m->keep, m->noop);
}
bool glow_infer_reduce_min(GlowInfer *in) {
  const GlowReduceMinMembers *m = in->members;
  return reduce(in, m->keep, m->noop);
}
bool glow_infer_reduce_prod(GlowInfer *in) {
  const GlowReduceProdMembers *m = in->members;
  return reduce(in, m->keep, m->noop);
}

/* ---- Scans ----------------------------------------------------------------------------------- */

static bool scan(GlowInfer *in) {
  const GlowType *x = in->in[0];
  uint32_t count, axis;
  const int64_t *axes = glow_infer_ints(in, 1, &count);
  glow_infer_put(in, 0, x);
  return x->unranked || !axes || glow_infer_axis(in, axes[0], x->rank, &axis);
}
bool glow_infer_cum_sum(GlowInfer *in) { return scan(in); }
bool glow_infer_cum_prod(GlowInfer *in) { return scan(in); }
