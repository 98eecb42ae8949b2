/* Inference and verification of operators on regions and boxes. Definitions as ONNX's RoiAlign 22,
 * MaxRoiPool 22 and NonMaxSuppression 11. */
#include "ir/infer/hooks.h"

/* Checks the rank and the last extent of operand i; `last` -1: any extent. */
static bool check_dims(const GlowInfer *in, uint32_t i, uint32_t rank, int64_t last) {
  const GlowType *t = glow_infer_in(in, i);
  if (!t || t->unranked)
    return true;
  const char *name = in->desc->in[i].name;
  GlowDim same;
  if (t->rank != rank)
    return glow_infer_error(in, "%s has type %s, expected rank %u", name, glow_type_str(in->ctx, t),
                            rank);
  return last < 0 || glow_dim_meet(t->dims[rank - 1], GLOW_EXACT(last), &same) ||
         glow_infer_error(in, "%s has type %s, expected a last extent of %lld", name,
                          glow_type_str(in->ctx, t), (long long)last);
}

static GlowDim extent(const GlowType *t, uint32_t axis) {
  return t && !t->unranked && axis < t->rank ? t->dims[axis] : GLOW_UNKNOWN;
}

/* The result of pooling regions: [regions, channels, height, width]. */
static bool set_regions(GlowInfer *in, GlowDim regions, uint32_t height, uint32_t width) {
  const GlowType *x = in->in[0];
  if (height == 0 || width == 0)
    return glow_infer_error(in, "the result would have %u x %u cells", height, width);
  for (uint32_t a = 2; a < 4; a++)
    if (glow_dim_is_exact(extent(x, a), 0))
      return glow_infer_error(in, "axis %u of X has no elements", a);
  GlowDim dims[4] = {regions, extent(x, 1), GLOW_EXACT(height), GLOW_EXACT(width)};
  return glow_infer_set(in, 0, x, 4, dims);
}

bool glow_infer_roi_align(GlowInfer *in) {
  const GlowRoiAlignMembers *m = in->members;
  if (!check_dims(in, GLOW_ROI_ALIGN_IN_X, 4, -1) ||
      !check_dims(in, GLOW_ROI_ALIGN_IN_ROIS, 2, 4) ||
      !check_dims(in, GLOW_ROI_ALIGN_IN_BATCHES, 1, -1))
    return false;
  GlowDim regions, batches = extent(in->in[GLOW_ROI_ALIGN_IN_BATCHES], 0);
  GlowDim boxes = extent(in->in[GLOW_ROI_ALIGN_IN_ROIS], 0);
  if (!glow_dim_meet(boxes, batches, &regions))
    return glow_infer_error(in, "%s Rois, but %s Batches", glow_dim_str(in->ctx, boxes),
                            glow_dim_str(in->ctx, batches));
  return set_regions(in, regions, m->output_height, m->output_width);
}

static bool check_scale(const GlowNode *n, float scale) {
  return (scale > 0 && scale < __builtin_inff()) ||
         glow_verify_error(n, "spatial_scale is %g", (double)scale);
}

bool glow_verify_roi_align(const GlowNode *n) {
  const GlowRoiAlignMembers *m = n->members;
  if (m->sampling_ratio > 1024)
    return glow_verify_error(n, "sampling_ratio is %u", m->sampling_ratio);
  return check_scale(n, m->spatial_scale);
}

bool glow_infer_max_roi_pool(GlowInfer *in) {
  const GlowMaxRoiPoolMembers *m = in->members;
  if (!check_dims(in, GLOW_MAX_ROI_POOL_IN_X, 4, -1) ||
      !check_dims(in, GLOW_MAX_ROI_POOL_IN_ROIS, 2, 5))
    return false;
  if (m->pooled_shape.count != 2)
    return glow_infer_error(in, "pooled_shape has %u values, expected 2", m->pooled_shape.count);
  return set_regions(in, extent(in->in[GLOW_MAX_ROI_POOL_IN_ROIS], 0),
                     glow_array_at(m->pooled_shape, uint32_t, 0),
                     glow_array_at(m->pooled_shape, uint32_t, 1));
}

bool glow_verify_max_roi_pool(const GlowNode *n) {
  return check_scale(n, ((const GlowMaxRoiPoolMembers *)n->members)->spatial_scale);
}

/* Sets *result to the bound on selected boxes: at most `Most` of each class. */
static bool most_boxes(const GlowInfer *in, GlowDim boxes, GlowDim *result) {
  uint32_t count;
  const int64_t *most = glow_infer_ints(in, GLOW_NON_MAX_SUPPRESSION_IN_MOST, &count);
  int64_t length = glow_infer_list_length(in, GLOW_NON_MAX_SUPPRESSION_IN_MOST);
  *result = boxes;
  if (!glow_infer_in(in, GLOW_NON_MAX_SUPPRESSION_IN_MOST))
    *result = GLOW_EXACT(0);
  else if (length >= 0 && length != 1)
    return glow_infer_error(in, "Most has %lld values, expected 1", (long long)length);
  else if (most && (!glow_dim_has_size(boxes) || most[0] < boxes.size))
    *result = GLOW_EXACT(most[0] > 0 ? most[0] : 0);
  return true;
}

bool glow_infer_non_max_suppression(GlowInfer *in) {
  const GlowType *boxes = in->in[GLOW_NON_MAX_SUPPRESSION_IN_BOXES];
  const GlowType *scores = in->in[GLOW_NON_MAX_SUPPRESSION_IN_SCORES];
  GlowDim batch, count, most;
  if (!check_dims(in, GLOW_NON_MAX_SUPPRESSION_IN_BOXES, 3, 4) ||
      !check_dims(in, GLOW_NON_MAX_SUPPRESSION_IN_SCORES, 3, -1))
    return false;
  if (!glow_dim_meet(extent(boxes, 0), extent(scores, 0), &batch) ||
      !glow_dim_meet(extent(boxes, 1), extent(scores, 2), &count))
    return glow_infer_error(in, "Boxes has type %s, but Scores %s", glow_type_str(in->ctx, boxes),
                            glow_type_str(in->ctx, scores));
  for (uint32_t i = GLOW_NON_MAX_SUPPRESSION_IN_OVERLAP; i < in->nin; i++) {
    int64_t length = glow_infer_list_length(in, i);
    if (glow_infer_in(in, i) && length >= 0 && length != 1)
      return glow_infer_error(in, "%s has %lld values, expected 1", in->desc->in[i].name,
                              (long long)length);
  }
  if (!most_boxes(in, count, &most))
    return false;
  GlowDim all = glow_dim_mul(glow_dim_mul(batch, extent(scores, 1)), most);
  GlowDim dims[2] = {glow_dim_part(all), GLOW_EXACT(3)};
  return glow_infer_set(in, 0, glow_type_scalar(in->ctx, GLOW_KIND_I64), 2, dims);
}
