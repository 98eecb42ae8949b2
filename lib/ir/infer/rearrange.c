/* Inference of DepthToSpace, SpaceToDepth, CenterCropPad, Trilu and EyeLike. Definitions as
 * ONNX's. */
#include "ir/infer/hooks.h"

/* ---- Blocks of channels ---------------------------------------------------------------------- */

/* Divides an extent by a block size; reports an extent that is not a multiple. */
static bool divide_dim(const GlowInfer *in, uint32_t axis, int64_t by, GlowDim *d) {
  if (!glow_dim_has_size(*d)) {
    *d = GLOW_UNKNOWN;
    return true;
  }
  if (d->kind == GLOW_DIM_EXACT && d->size % by != 0)
    return glow_infer_error(in, "extent %lld of axis %u is no multiple of %lld", (long long)d->size,
                            axis, (long long)by);
  if (by != 1)
    *d = glow_dim_affine(*d, 1, 0, by, 0, d->size / by);
  return true;
}

static bool infer_blocks(GlowInfer *in, uint32_t block, bool to_space) {
  const GlowType *x = in->in[0];
  if (block == 0 || block > INT32_MAX)
    return glow_infer_error(in, "blocksize is %u", block);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, 4);
  if (x->rank != 4)
    return glow_infer_error(in, "X must have 4 axes, but has type %s", glow_type_str(in->ctx, x));
  int64_t side = block, area = side * side;
  GlowDim dims[4] = {x->dims[0], x->dims[1], x->dims[2], x->dims[3]};
  for (uint32_t i = 1; i < 4; i++) {
    int64_t factor = i == 1 ? area : side;
    if ((i == 1) == to_space) {
      if (!divide_dim(in, i, factor, &dims[i]))
        return false;
      continue;
    }
    dims[i] = glow_dim_mul(dims[i], GLOW_EXACT(factor));
    if (glow_dim_has_size(x->dims[i]) && !glow_dim_has_size(dims[i]))
      return glow_infer_error(in, "axis %u becomes too large", i);
  }
  return glow_infer_set(in, 0, x, 4, dims);
}

bool glow_infer_depth_to_space(GlowInfer *in) {
  return infer_blocks(in, ((const GlowDepthToSpaceMembers *)in->members)->blocksize, true);
}
bool glow_infer_space_to_depth(GlowInfer *in) {
  return infer_blocks(in, ((const GlowSpaceToDepthMembers *)in->members)->blocksize, false);
}

/* ---- CenterCropPad --------------------------------------------------------------------------- */

bool glow_infer_center_crop_pad(GlowInfer *in) {
  const GlowCenterCropPadMembers *m = in->members;
  const GlowType *x = in->in[GLOW_CENTER_CROP_PAD_IN_X];
  uint32_t count, seen;
  const int64_t *shape = glow_infer_ints(in, GLOW_CENTER_CROP_PAD_IN_SHAPE, &count);
  int64_t length = shape ? count : glow_infer_list_length(in, GLOW_CENTER_CROP_PAD_IN_SHAPE);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, m->axes.count ? -1 : length);
  uint32_t naxes = m->axes.count ? m->axes.count : x->rank;
  if (length >= 0 && length != naxes)
    return glow_infer_error(in, "Shape has %lld extents for %u axes", (long long)length, naxes);
  if (!glow_infer_axes(in, m->axes.data, m->axes.count, x->rank, &seen))
    return false;
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  for (uint32_t i = 0; i < naxes; i++) {
    uint32_t axis = i;
    if (m->axes.count && !glow_infer_axis(in, glow_array_at(m->axes, int64_t, i), x->rank, &axis))
      return false;
    if (shape && shape[i] < 0)
      return glow_infer_error(in, "extent %u is %lld", i, (long long)shape[i]);
    dims[axis] = shape ? GLOW_EXACT(shape[i]) : GLOW_UNKNOWN;
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- Matrices -------------------------------------------------------------------------------- */

bool glow_infer_trilu(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_TRILU_IN_X];
  if (!x->unranked && x->rank < 2)
    return glow_infer_error(in, "X must have two axes, but has type %s", glow_type_str(in->ctx, x));
  glow_infer_put(in, 0, x);
  return true;
}

bool glow_infer_eye_like(GlowInfer *in) {
  const GlowEyeLikeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_EYE_LIKE_IN_X];
  const GlowKindInfo *info = &glow_kind_info[m->kind];
  if (!x->unranked && x->rank != 2)
    return glow_infer_error(in, "X must have two axes, but has type %s", glow_type_str(in->ctx, x));
  if (info->bits < 8 || info->cls == GLOW_CLASS_STRING || info->cls == GLOW_CLASS_COMPLEX)
    return glow_infer_error(in, "there is no %s one", info->name);
  const GlowType *base = glow_type_scalar(in->ctx, m->kind);
  return x->unranked ? glow_infer_set_unknown(in, 0, base, 2)
                     : glow_infer_set(in, 0, base, 2, x->dims);
}
