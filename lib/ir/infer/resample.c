/* Inference and verification of operators that resample. Definitions as ONNX's Resize 19. */
#include <math.h>

#include "ir/infer/hooks.h"

/* ---- Resize ---------------------------------------------------------------------------------- */

/* Whether operand i is present. ONNX models pass empty tensors for operands that they leave out. */
static bool has_values(const GlowInfer *in, uint32_t i) {
  return glow_infer_in(in, i) && glow_infer_list_length(in, i) != 0;
}

/* The axis of X that is number k of the resized axes. */
static uint32_t axis_at(const GlowResizeMembers *m, uint32_t rank, uint32_t k) {
  if (!m->axes.count)
    return k;
  int64_t axis = glow_array_at(m->axes, int64_t, k);
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static bool check_length(const GlowInfer *in, uint32_t i, int64_t expected) {
  int64_t length = glow_infer_list_length(in, i);
  const GlowType *t = in->in[i];
  if (glow_type_is_ranked(t) && t->rank > 1)
    return glow_infer_error(in, "%s must be a list, but has type %s", in->desc->in[i].name,
                            glow_type_str(in->ctx, t));
  if (length < 0 || length == expected)
    return true;
  return glow_infer_error(in, "%s has %lld values, expected %lld", in->desc->in[i].name,
                          (long long)length, (long long)expected);
}

/* floor(extent * scale), in float as ONNX's own inference computes it. */
static bool scale_extent(const GlowInfer *in, GlowDim d, float scale, GlowDim *result) {
  if (!(scale > 0) || !(scale < INFINITY))
    return glow_infer_error(in, "a scale is %g", (double)scale);
  *result = scale == 1 ? d : GLOW_UNKNOWN;
  if (scale == 1 || !glow_dim_has_size(d))
    return true;
  float size = floorf((float)d.size * scale);
  if (!(size <= (float)GLOW_MAX_ELEMENTS))
    return glow_infer_error(in, "the result has too many elements");
  bool whole = scale == floorf(scale) && size < 16777216; /* no product is rounded */
  if (d.extent && whole)
    *result = glow_dim_affine(d, (int64_t)scale, 0, 1, 0, (int64_t)size);
  else
    *result = d.kind == GLOW_DIM_EXACT ? GLOW_EXACT((int64_t)size) : GLOW_BOUND((int64_t)size);
  return true;
}

static bool by_scales(const GlowInfer *in, const GlowType *x, uint32_t n, GlowDim *dims) {
  const GlowResizeMembers *m = in->members;
  const GlowTensor *scales = glow_infer_known(in, GLOW_RESIZE_IN_SCALES);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t axis = axis_at(m, x->rank, k);
    dims[axis] = GLOW_UNKNOWN;
    if (scales &&
        !scale_extent(in, x->dims[axis], (float)glow_tensor_get_double(scales, k), &dims[axis]))
      return false;
  }
  return true;
}

/* The one scale for all axes by which no axis becomes larger (or smaller) than its given size. */
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
    double size = known && keep ? floor(scale * (double)x->dims[axis].size + 0.5) : 0;
    if (size > (double)GLOW_MAX_ELEMENTS)
      return glow_infer_error(in, "the result has too many elements");
    dims[axis] = !known ? GLOW_UNKNOWN : GLOW_EXACT(keep ? (int64_t)size : sizes[k]);
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

static bool check_interpolates(const GlowNode *n, const GlowType *x) {
  static const GlowKindSet floats =
      GLOW_KIND_BIT(GLOW_KIND_FLOAT) | GLOW_KIND_BIT(GLOW_KIND_DOUBLE) |
      GLOW_KIND_BIT(GLOW_KIND_FLOAT16) | GLOW_KIND_BIT(GLOW_KIND_BFLOAT16);
  if (glow_kind_is_integer(x->kind) || (floats & GLOW_KIND_BIT(x->kind)))
    return true;
  return glow_verify_error(n, "elements of kind %s cannot be interpolated",
                           glow_kind_info[x->kind].name);
}

/* A blocked layout passes through: X and Y have the same one, of axes that are not resized. */
static bool check_blocks(const GlowNode *n) {
  const GlowType *x = glow_node_in(n, GLOW_RESIZE_IN_X)->type, *y = glow_node_out(n, 0)->type;
  if (x->layout != y->layout)
    return glow_verify_error(n, "its input and result have different layouts");
  for (uint32_t i = 0; x->layout && i < x->layout->nblocks; i++) {
    uint8_t axis = x->layout->blocks[i].axis;
    if (x->dims[axis].size != y->dims[axis].size)
      return glow_verify_error(n, "it changes axis %u, which has blocks", axis);
  }
  return true;
}

bool glow_verify_resize(const GlowNode *n) {
  const GlowResizeMembers *m = n->members;
  if (!check_blocks(n))
    return false;
  bool crop = m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  if ((crop || m->mode != GLOW_RESIZE_MODE_NEAREST) &&
      !check_interpolates(n, glow_node_in(n, GLOW_RESIZE_IN_X)->type))
    return false;
  if (m->antialias && m->mode == GLOW_RESIZE_MODE_NEAREST)
    return glow_verify_error(n, "antialias goes with linear and cubic only");
  return true;
}

/* ---- GridSample and AffineGrid --------------------------------------------------------------- */

bool glow_infer_grid_sample(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_GRID_SAMPLE_IN_X], *grid = in->in[GLOW_GRID_SAMPLE_IN_GRID];
  if (x->unranked || grid->unranked)
    return glow_infer_set_unknown(in, 0, x,
                                  !x->unranked      ? (int64_t)x->rank
                                  : !grid->unranked ? (int64_t)grid->rank
                                                    : -1);
  if (x->rank < 3 || grid->rank != x->rank)
    return glow_infer_error(in,
                            "X has rank %u and Grid rank %u; they must be the same and at least 3",
                            x->rank, grid->rank);
  GlowDim dims[GLOW_MAX_RANK], last = grid->dims[x->rank - 1];
  if (last.kind == GLOW_DIM_EXACT && last.size != x->rank - 2)
    return glow_infer_error(in, "Grid has %lld coordinates for %u spatial axes",
                            (long long)last.size, x->rank - 2);
  if (!glow_dim_meet(x->dims[0], grid->dims[0], &dims[0]))
    return glow_infer_error(in, "X has a batch of %s, but Grid of %s",
                            glow_dim_str(in->ctx, x->dims[0]),
                            glow_dim_str(in->ctx, grid->dims[0]));
  dims[1] = x->dims[1];
  for (uint32_t a = 2; a < x->rank; a++) {
    dims[a] = grid->dims[a - 1];
    if (glow_dim_is_exact(x->dims[a], 0))
      return glow_infer_error(in, "axis %u of X has no elements", a);
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_verify_grid_sample(const GlowNode *n) {
  const GlowGridSampleMembers *m = n->members;
  return m->mode == GLOW_RESIZE_MODE_NEAREST ||
         check_interpolates(n, glow_node_in(n, GLOW_GRID_SAMPLE_IN_X)->type);
}

bool glow_infer_affine_grid(GlowInfer *in) {
  const GlowType *theta = in->in[GLOW_AFFINE_GRID_IN_THETA];
  uint32_t count;
  const int64_t *size = glow_infer_ints(in, GLOW_AFFINE_GRID_IN_SIZE, &count);
  int64_t length = glow_infer_list_length(in, GLOW_AFFINE_GRID_IN_SIZE);
  const GlowType *list = in->in[GLOW_AFFINE_GRID_IN_SIZE];
  if (glow_type_is_ranked(list) && list->rank != 1)
    return glow_infer_error(in, "Size must be a list, but has type %s",
                            glow_type_str(in->ctx, list));
  if (length >= 0 && (length < 3 || length > GLOW_MAX_RANK))
    return glow_infer_error(in, "Size has %lld values", (long long)length);
  GlowDim batch = GLOW_UNKNOWN, r = length < 0 ? GLOW_UNKNOWN : GLOW_EXACT(length - 2);
  GlowDim wider = length < 0 ? GLOW_UNKNOWN : GLOW_EXACT(length - 1);
  if (!theta->unranked) {
    batch = theta->dims[0];
    if (theta->rank != 3 || !glow_dim_meet(theta->dims[1], r, &r) ||
        !glow_dim_meet(theta->dims[2], wider, &wider) ||
        (r.kind == GLOW_DIM_EXACT && !glow_dim_meet(GLOW_EXACT(r.size + 1), wider, &wider)))
      return glow_infer_error(in, "Theta must have type [batch, n, n + 1], but is %s for %lld axes",
                              glow_type_str(in->ctx, theta), (long long)(length - 2));
  }
  if (r.kind != GLOW_DIM_EXACT || r.size > GLOW_MAX_RANK - 2 || r.size < 1)
    return glow_infer_set_unknown(in, 0, theta, -1);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = (uint32_t)r.size + 2;
  for (uint32_t a = 0; a < rank; a++)
    dims[a] = GLOW_UNKNOWN;
  for (uint32_t i = 0; size && i < count; i++)
    if (size[i] < 0)
      return glow_infer_error(in, "size %u is %lld", i, (long long)size[i]);
  dims[0] = batch;
  if (size && !glow_dim_meet(batch, GLOW_EXACT(size[0]), &dims[0]))
    return glow_infer_error(in, "Theta has a batch of %s, but Size says %lld",
                            glow_dim_str(in->ctx, batch), (long long)size[0]);
  for (uint32_t a = 1; size && a < rank - 1; a++)
    dims[a] = GLOW_EXACT(size[a + 1]);
  dims[rank - 1] = r;
  return glow_infer_set(in, 0, theta, rank, dims);
}
