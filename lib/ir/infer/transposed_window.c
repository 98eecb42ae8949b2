/* Inference of operators that undo a sliding window: ConvTranspose, MaxUnpool and Col2Im. */
#include "ir/infer/window.h"

/* stride * (in - 1) + (kernel - 1) * dilation + 1 + extra - pads, for spatial axis i. */
static bool spread(const GlowInfer *in, const Window *w, uint32_t i, GlowDim size, GlowDim kernel,
                   int64_t extra, GlowDim *result) {
  int64_t reach, length;
  *result = GLOW_UNKNOWN;
  if (kernel.kind == GLOW_DIM_EXACT && kernel.size == 0)
    return glow_infer_error(in, "the window is empty along spatial axis %u", i);
  if (kernel.kind != GLOW_DIM_EXACT || !glow_dim_has_size(size))
    return true;
  if (__builtin_mul_overflow(kernel.size - 1, entry(w->dilations, i, 1), &reach) ||
      __builtin_mul_overflow(size.size - 1, entry(w->strides, i, 1), &length) ||
      __builtin_add_overflow(length, reach, &length) ||
      __builtin_add_overflow(length, extra + 1, &length))
    return glow_infer_error(in, "the result is too large along spatial axis %u", i);
  length -= entry(w->pads, i, 0) + entry(w->pads, w->spatial + i, 0);
  if (length < 0)
    return glow_infer_error(in, "pads are larger than the result along spatial axis %u", i);
  *result = size.kind == GLOW_DIM_EXACT ? GLOW_EXACT(length) : GLOW_BOUND(length);
  return true;
}

static bool check_transposed(const GlowInfer *in, const GlowConvTransposeMembers *m,
                             const GlowType *x, const GlowType *f) {
  if (x->rank < 3 || x->rank != f->rank)
    return glow_infer_error(in, "X has rank %u and W rank %u; they must be the same and at least 3",
                            x->rank, f->rank);
  if (m->group == 0)
    return glow_infer_error(in, "group is 0");
  if (m->output_padding.count && m->output_padding.count != x->rank - 2)
    return glow_infer_error(in, "output_padding has %u values, expected %u",
                            m->output_padding.count, x->rank - 2);
  return true;
}

bool glow_infer_conv_transpose(GlowInfer *in) {
  const GlowConvTransposeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_CONV_TRANSPOSE_IN_X], *f = in->in[GLOW_CONV_TRANSPOSE_IN_W];
  const GlowType *bias = glow_infer_in(in, GLOW_CONV_TRANSPOSE_IN_B);
  if (x->unranked || f->unranked)
    return glow_infer_set_unknown(
        in, 0, x, x->unranked ? f->unranked ? -1 : (int64_t)f->rank : (int64_t)x->rank);
  if (!check_transposed(in, m, x, f))
    return false;
  Window w = window_of(x, m->layout);
  w.strides = m->strides;
  w.pads = m->pads;
  w.dilations = m->dilations;
  GlowDim dims[GLOW_MAX_RANK], channels = x->dims[w.channel], one = f->dims[w.channel];
  GlowDim filters = glow_dim_mul(one, GLOW_EXACT(m->group));
  if (!glow_infer_window(in, &w))
    return false;
  if (!glow_dim_meet(channels, f->dims[0], &channels))
    return glow_infer_error(in, "X has %s channels, but W takes %s",
                            glow_dim_str(in->ctx, x->dims[w.channel]),
                            glow_dim_str(in->ctx, f->dims[0]));
  if (channels.kind == GLOW_DIM_EXACT && channels.size % m->group)
    return glow_infer_error(in, "%lld channels cannot be divided into %u groups",
                            (long long)channels.size, m->group);
  if (bias && !bias->unranked &&
      (bias->rank != 1 || !glow_dim_meet(filters, bias->dims[0], &filters)))
    return glow_infer_error(in, "B has type %s, expected %s elements", glow_type_str(in->ctx, bias),
                            glow_dim_str(in->ctx, filters));
  dims[0] = x->dims[0];
  dims[w.channel] = filters;
  for (uint32_t i = 0; i < w.spatial; i++)
    if (!spread(in, &w, i, x->dims[w.first + i], f->dims[w.first + i],
                entry(m->output_padding, i, 0), &dims[w.first + i]))
      return false;
  return glow_infer_set(in, 0, x, x->rank, dims);
}
