/* Inference and verification of operators that resample. Definitions as ONNX's Resize 19. */
#include <math.h>

#include "ir/infer/hooks.h"

/* ---- Resize ---------------------------------------------------------------------------------- */

/* Operand i with elements; ONNX models give empty tensors for operands that they leave out. */
static bool has_values(const GlowInfer *in, uint32_t i) {
  return glow_infer_in(in, i) && glow_infer_list_length(in, i) != 0;
}

/* Axis number k of those that are resized, and how many there are. */
static uint32_t axis_at(const GlowResizeMembers *m, uint32_t rank, uint32_t k) {
  if (!m->axes.count)
    return k;
  int64_t axis = glow_array_at(m->axes, int64_t, k);
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static bool check_length(const GlowInfer *in, uint32_t i, int64_t expected) {
  int64_t length = glow_infer_list_length(in, i);
  if (length < 0 || length == expected)
    return true;
  return glow_infer_error(in, "%s has %lld values, expected %lld", in->desc->in[i].name,
                          (long long)length, (long long)expected);
}

/* The part of axis k (of n) that the crop keeps; 1 without a crop, negative if not known. */
static double crop_part(const GlowInfer *in, const GlowResizeMembers *m, uint32_t k, uint32_t n) {
  const GlowTensor *roi = glow_infer_known(in, GLOW_RESIZE_IN_ROI);
  if (m->coordinate_transformation_mode != GLOW_COORDINATES_TF_CROP_AND_RESIZE)
    return 1;
  if (!roi || glow_tensor_elements(roi) != 2 * (int64_t)n)
    return -1;
  return glow_tensor_get_double(roi, k + n) - glow_tensor_get_double(roi, k);
}

/* floor(extent * scale), in float as ONNX's own inference computes it. */
static bool scale_extent(const GlowInfer *in, GlowDim d, double part, float scale,
                         GlowDim *result) {
  if (!(scale > 0) || !(scale < INFINITY))
    return glow_infer_error(in, "a scale is %g", (double)scale);
  *result = part == 1 && scale == 1 ? d : GLOW_UNKNOWN;
  if ((part == 1 && scale == 1) || part < 0 || !glow_dim_has_size(d))
    return true;
  float size = floorf((float)((double)(float)d.size * part) * scale);
  if (!(size <= (float)GLOW_MAX_ELEMENTS))
    return glow_infer_error(in, "the result has too many elements");
  *result = d.kind == GLOW_DIM_EXACT ? GLOW_EXACT((int64_t)size) : GLOW_BOUND((int64_t)size);
  return true;
}

static bool by_scales(const GlowInfer *in, const GlowType *x, uint32_t n, GlowDim *dims) {
  const GlowResizeMembers *m = in->members;
  const GlowTensor *scales = glow_infer_known(in, GLOW_RESIZE_IN_SCALES);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t axis = axis_at(m, x->rank, k);
    dims[axis] = GLOW_UNKNOWN;
    if (scales && !scale_extent(in, x->dims[axis], crop_part(in, m, k, n),
                                (float)glow_tensor_get_double(scales, k), &dims[axis]))
      return false;
  }
  return true;
}

/* The scale that all axes get so that none is larger (or smaller) than its size says. */
static double common_scale(const GlowResizeMembers *m, const GlowType *x, const int64_t *sizes,
                           uint32_t n) {
  double scale = 0;
  for (uint32_t k = 0; k < n; k++) {
    double s = (double)sizes[k] / (double)x->dims[axis_at(m, x->rank, k)].size;
    bool better =
        m->keep_aspect_ratio_policy == GLOW_ASPECT_POLICY_NOT_LARGER ? s < scale : s > scale;
    scale = k == 0 || better ? s : scale;
  }
  return scale;
}

static bool by_sizes(const GlowInfer *in, const GlowType *x, uint32_t n, GlowDim *dims) {
  const GlowResizeMembers *m = in->members;
  uint32_t count;
  const int64_t *sizes = glow_infer_ints(in, GLOW_RESIZE_IN_SIZES, &count);
  bool keep = m->keep_aspect_ratio_policy != GLOW_ASPECT_POLICY_STRETCH, known = sizes != NULL;
  for (uint32_t k = 0; k < n; k++) {
    GlowDim d = x->dims[axis_at(m, x->rank, k)];
    if (sizes && sizes[k] < 0)
      return glow_infer_error(in, "size %u is %lld", k, (long long)sizes[k]);
    known &= !keep || (d.kind == GLOW_DIM_EXACT && d.size > 0);
  }
  double scale = known && keep ? common_scale(m, x, sizes, n) : 1;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t axis = axis_at(m, x->rank, k);
    dims[axis] = !known ? GLOW_UNKNOWN
                 : keep ? GLOW_EXACT((int64_t)floor(scale * (double)x->dims[axis].size + 0.5))
                        : GLOW_EXACT(sizes[k]);
  }
  return true;
}

bool glow_infer_resize(GlowInfer *in) {
  const GlowResizeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_RESIZE_IN_X];
  bool scales = has_values(in, GLOW_RESIZE_IN_SCALES), sizes = has_values(in, GLOW_RESIZE_IN_SIZES);
  bool crop = m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  uint32_t set;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  uint32_t n = m->axes.count ? m->axes.count : x->rank;
  if (scales == sizes && n)
    return glow_infer_error(in, "Scales and Sizes are both %s", scales ? "given" : "missing");
  if (!glow_infer_axes(in, m->axes.data, m->axes.count, x->rank, &set) ||
      (scales && !check_length(in, GLOW_RESIZE_IN_SCALES, n)) ||
      (sizes && !check_length(in, GLOW_RESIZE_IN_SIZES, n)))
    return false;
  if (crop && n && !has_values(in, GLOW_RESIZE_IN_ROI))
    return glow_infer_error(in, "tf_crop_and_resize needs Roi");
  if (crop && n && !check_length(in, GLOW_RESIZE_IN_ROI, 2 * (int64_t)n))
    return false;
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  if (!(scales ? by_scales(in, x, n, dims) : by_sizes(in, x, n, dims)))
    return false;
  for (uint32_t a = 0; a < x->rank; a++)
    if (glow_dim_is_exact(x->dims[a], 0) && glow_dim_has_size(dims[a]) && dims[a].size > 0)
      return glow_infer_error(in, "axis %u has no elements to make %s from", a,
                              glow_dim_str(in->ctx, dims[a]));
  return glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_verify_resize(const GlowNode *n) {
  const GlowResizeMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_RESIZE_IN_X)->type;
  bool crop = m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  bool number = glow_kind_is_integer(x->kind) || x->kind == GLOW_KIND_FLOAT ||
                x->kind == GLOW_KIND_DOUBLE || x->kind == GLOW_KIND_FLOAT16 ||
                x->kind == GLOW_KIND_BFLOAT16;
  if ((crop || m->mode != GLOW_RESIZE_MODE_NEAREST) && !number)
    return glow_verify_error(n, "elements of kind %s cannot be interpolated",
                             glow_kind_info[x->kind].name);
  if (m->antialias && m->mode == GLOW_RESIZE_MODE_NEAREST)
    return glow_verify_error(n, "antialias goes with linear and cubic only");
  return true;
}
