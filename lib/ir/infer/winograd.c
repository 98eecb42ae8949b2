/* Inference of Winograd's convolution, F(4x4, 3x3) or F(2x2, 3x3), and of its filters. */
#include "ir/infer/window.h"

enum { LARGE = 4, SMALL = 2 }; /* results of a tile along an axis */

static bool may_be(GlowDim d, int64_t size) {
  GlowDim same;
  return glow_dim_meet(d, GLOW_EXACT(size), &same);
}

static bool all_ones(GlowArray a) {
  for (uint32_t i = 0; i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) != 1)
      return false;
  return true;
}

/* Whether u may be a filter for tiles of side x side results. */
static bool may_be_filter(const GlowType *u, int64_t side) {
  return may_be(u->dims[0], side + 2) && may_be(u->dims[1], side + 2);
}

bool glow_infer_winograd(const GlowInfer *in, const GlowType **f) {
  const GlowType *x = in->in[GLOW_CONVOLUTION_IN_X], *u = *f;
  const GlowConvolutionMembers *m = in->members;
  if (m->layout != GLOW_LAYOUT_NCHW || m->group != 1 || !all_ones(m->strides) ||
      !all_ones(m->dilations))
    return glow_infer_error(in, "strategy = winograd takes layout NCHW, one group, and strides and "
                                "dilations of 1");
  if (!glow_kind_is_float(x->kind))
    return glow_infer_error(in, "strategy = winograd is for floating point, but X has %s",
                            glow_kind_info[x->kind].name);
  if (u->unranked)
    return true;
  if (u->rank != 4 || !(may_be_filter(u, LARGE) || may_be_filter(u, SMALL)) ||
      (!x->unranked && x->rank != 4))
    return glow_infer_error(in,
                            "with strategy = winograd X has four axes and W is [6, 6, out, in] or "
                            "[4, 4, out, in], but they are %s and %s",
                            glow_type_str(in->ctx, x), glow_type_str(in->ctx, u));
  GlowDim dims[] = {u->dims[2], u->dims[3], GLOW_EXACT(3), GLOW_EXACT(3)};
  *f = glow_type_with_dims(in->ctx, glow_type_with_layout(in->ctx, u, NULL), 4, dims);
  return true;
}

bool glow_infer_winograd_filter(GlowInfer *in) {
  const GlowType *w = in->in[GLOW_WINOGRAD_FILTER_IN_W];
  const GlowWinogradFilterMembers *m = in->members;
  if (m->results != LARGE && m->results != SMALL)
    return glow_infer_error(in, "results is %u, expected 4 or 2", m->results);
  GlowDim points = GLOW_EXACT(m->results + 2);
  GlowDim dims[] = {points, points, GLOW_UNKNOWN, GLOW_UNKNOWN};
  if (!w->unranked) {
    if (w->rank != 4 || !may_be(w->dims[2], 3) || !may_be(w->dims[3], 3))
      return glow_infer_error(in, "W has type %s, expected [out, in, 3, 3]",
                              glow_type_str(in->ctx, w));
    dims[2] = w->dims[0];
    dims[3] = w->dims[1];
  }
  return glow_infer_set(in, 0, w, 4, dims);
}
