/* Resampling. */
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

/* Upsample, and Resize 10: a place of the result divided by the scale, rounded down for nearest. */
bool glow_onnx_upsample(GlowOnnxNode *n) {
  GlowResizeMembers m = *(const GlowResizeMembers *)glow_op_desc[GLOW_OP_RESIZE].member_defaults;
  GlowStr mode = "nearest";
  bool operand = strcmp(n->op, "Resize") == 0 || n->version >= 9;
  if (!glow_onnx_check_ins(n, operand ? 2 : 1, operand ? 2 : 1) ||
      !glow_onnx_string(n, "mode", &mode))
    return false;
  GlowValue *scales = operand ? n->ins[1] : NULL;
  if (!operand && !attribute_scales(n, &scales))
    return false;
  bool linear = strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0;
  if (!linear && strcmp(mode, "nearest") != 0)
    return glow_onnx_fail(n, "attribute 'mode' is '%s'", mode);
  m.mode = linear ? GLOW_RESIZE_MODE_LINEAR : GLOW_RESIZE_MODE_NEAREST;
  m.coordinate_transformation_mode = GLOW_COORDINATES_ASYMMETRIC;
  m.nearest_mode = GLOW_NEAREST_MODE_FLOOR;
  return glow_onnx_finish(n, GLOW_OP_RESIZE, (GlowValue *[]){n->ins[0], NULL, scales}, 3, &m, NULL,
                          0);
}
