/* Resampling and regions. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* A constant of floats, named after n's first result and `tag`. */
static GlowValue *make_floats(GlowOnnxNode *n, const char *tag, const float *values,
                              uint32_t count) {
  GlowTensor *t = GLOW_NEW(n->im->m->arena, GlowTensor);
  t->type = glow_type_exact(n->im->ctx, GLOW_KIND_FLOAT, 1, &(int64_t){count});
  t->bytes = count * sizeof *values;
  t->data = glow_arena_copy(n->im->m->arena, values, t->bytes);
  GlowStorage *s = glow_storage_create(n->im->m, GLOW_CONSTANT, glow_onnx_part_name(n, tag),
                                       t->type, (GlowInit){.kind = GLOW_INIT_LIST, .tensor = t});
  s->origin = n->b.origin;
  return &s->value;
}

/* The scales of Upsample 1 and 7, which are attributes. */
static bool attribute_scales(GlowOnnxNode *n, GlowValue **scales) {
  float plane[4] = {1, 1, 0, 0};
  GlowArray list = {4, plane};
  if (n->version == 1) {
    if (!glow_onnx_float(n, "height_scale", &plane[2]) ||
        !glow_onnx_float(n, "width_scale", &plane[3]))
      return false;
  } else if (!glow_onnx_has(n, "scales")) {
    return glow_onnx_fail(n, "attribute 'scales' is missing");
  } else if (!glow_onnx_floats(n, "scales", &list)) {
    return false;
  }
  *scales = make_floats(n, "scales", list.data, list.count);
  return true;
}

/* The smaller of each scale and 1 (`op` MIN), or the larger (MAX): a constant if the scales are. */
static GlowValue *limited_scales(GlowOnnxNode *n, GlowOp op, GlowValue *scales) {
  const GlowTensor *known = glow_value_known(scales);
  float values[GLOW_MAX_RANK];
  uint32_t count = known ? (uint32_t)glow_tensor_elements(known) : 0;
  for (uint32_t i = 0; i < count; i++) {
    float v = (float)glow_tensor_get_double(known, i);
    values[i] = (op == GLOW_OP_MIN ? v > 1 : v < 1) ? 1 : v;
  }
  if (known)
    return make_floats(n, op == GLOW_OP_MIN ? "shrink" : "grow", values, count);
  return glow_onnx_emit2(n, op, scales, glow_onnx_make_scalar(n, "one", GLOW_KIND_FLOAT, 1), NULL);
}

/* To choose the nearest element, Resize 10 rounds down on axes that grow and up on axes that
 * shrink, as ONNX's examples have it. If axes of both sorts exist, a first node shrinks, and *x and
 * *scales become the operands of the node that grows. */
static bool shrink_first(GlowOnnxNode *n, GlowResizeMembers *m, GlowValue **x, GlowValue **scales) {
  const GlowTensor *known = glow_value_known(*scales);
  int64_t count = known ? glow_tensor_elements(known) : 0;
  bool shrinks = !known, grows = !known;
  if (count > GLOW_MAX_RANK)
    return glow_onnx_fail(n, "%lld scales", (long long)count);
  for (int64_t i = 0; i < count; i++) {
    shrinks |= glow_tensor_get_double(known, i) < 1;
    grows |= glow_tensor_get_double(known, i) > 1;
  }
  GlowResizeMembers up = *m;
  up.nearest_mode = GLOW_NEAREST_MODE_CEIL;
  if (shrinks && grows) {
    GlowValue *less = limited_scales(n, GLOW_OP_MIN, *scales);
    *x = less ? glow_onnx_emit(n, GLOW_OP_RESIZE, (GlowValue *[]){*x, NULL, less}, 3, &up) : NULL;
    *scales = *x ? limited_scales(n, GLOW_OP_MAX, *scales) : NULL;
  } else if (shrinks) {
    *m = up;
  }
  return *scales != NULL;
}

/* Upsample, and Resize 10: a place of the result lies in X at its index divided by the scale. */
bool glow_onnx_upsample(GlowOnnxNode *n) {
  GlowResizeMembers m = *(const GlowResizeMembers *)glow_op_desc[GLOW_OP_RESIZE].member_defaults;
  GlowStr mode = "nearest";
  bool resize = strcmp(n->op, "Resize") == 0, operand = resize || n->version >= 9;
  if (!glow_onnx_check_ins(n, operand ? 2 : 1, operand ? 2 : 1) ||
      !glow_onnx_string(n, "mode", &mode))
    return false;
  GlowValue *x = n->ins[0], *scales = operand ? n->ins[1] : NULL;
  if (!operand && !attribute_scales(n, &scales))
    return false;
  bool linear = strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0;
  if (!linear && strcmp(mode, "nearest") != 0)
    return glow_onnx_fail(n, "attribute 'mode' is '%s'", mode);
  m.mode = linear ? GLOW_RESIZE_MODE_LINEAR : GLOW_RESIZE_MODE_NEAREST;
  m.coordinate_transformation_mode = GLOW_COORDINATES_ASYMMETRIC;
  m.nearest_mode = GLOW_NEAREST_MODE_FLOOR;
  if (resize && !linear && !shrink_first(n, &m, &x, &scales))
    return false;
  return glow_onnx_finish(n, GLOW_OP_RESIZE, (GlowValue *[]){x, NULL, scales}, 3, &m, NULL, 0);
}

/* GridSample; operator set 16 has other names for the modes. */
bool glow_onnx_grid_sample(GlowOnnxNode *n) {
  GlowGridSampleMembers m = {.mode = GLOW_RESIZE_MODE_LINEAR};
  GlowStr mode = "linear";
  if (!glow_onnx_check_ins(n, 2, 2) || !glow_onnx_string(n, "mode", &mode) ||
      !glow_onnx_enum(n, &glow_enum_grid_padding, "padding_mode", &m.padding_mode) ||
      !glow_onnx_bool(n, "align_corners", &m.align_corners))
    return false;
  if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
    m.mode = GLOW_RESIZE_MODE_CUBIC;
  else if (strcmp(mode, "nearest") == 0)
    m.mode = GLOW_RESIZE_MODE_NEAREST;
  else if (strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0)
    return glow_onnx_fail(n, "attribute 'mode' is '%s'", mode);
  return glow_onnx_finish(n, GLOW_OP_GRID_SAMPLE, n->ins, 2, &m, NULL, 0);
}

static bool read_u32(GlowOnnxNode *n, const char *name, uint32_t *value) {
  int64_t v = *value;
  if (!glow_onnx_int(n, name, &v))
    return false;
  *value = (uint32_t)v;
  return (v >= 0 && v <= INT32_MAX) ||
         glow_onnx_fail(n, "attribute '%s' is %lld", name, (long long)v);
}

/* RoiAlign before operator set 16: coordinates are not moved by half an element. */
bool glow_onnx_roi_align(GlowOnnxNode *n) {
  GlowRoiAlignMembers m =
      *(const GlowRoiAlignMembers *)glow_op_desc[GLOW_OP_ROI_ALIGN].member_defaults;
  m.coordinate_transformation_mode = GLOW_ROI_COORDINATES_OUTPUT_HALF_PIXEL;
  return glow_onnx_check_ins(n, 3, 3) && glow_onnx_enum(n, &glow_enum_roi_mode, "mode", &m.mode) &&
         read_u32(n, "output_height", &m.output_height) &&
         read_u32(n, "output_width", &m.output_width) &&
         read_u32(n, "sampling_ratio", &m.sampling_ratio) &&
         glow_onnx_float(n, "spatial_scale", &m.spatial_scale) &&
         glow_onnx_finish(n, GLOW_OP_ROI_ALIGN, n->ins, 3, &m, NULL, 0);
}
