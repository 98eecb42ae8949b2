/* Constants, shapes, movement and quantization: attributes of old definitions become operands. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* ---- Constants ------------------------------------------------------------------------------ */

static GlowTensor *arena_tensor(GlowOnnxNode *n, GlowKind kind, uint32_t rank, int64_t count,
                                const void *data) {
  GlowTensor *t = GLOW_NEW(n->im->m->arena, GlowTensor);
  t->type = glow_type_exact(n->im->ctx, kind, rank, &count);
  t->bytes = (size_t)glow_type_bytes(t->type);
  t->data = glow_arena_copy(n->im->m->arena, data, t->bytes);
  return t;
}

static GlowString string_of(GlowOnnxNode *n, GlowWireSpan s) {
  return (GlowString){glow_arena_copy(n->im->m->arena, glow_wire_bytes(&n->im->file, s), s.size),
                      s.size};
}

/* value_string and value_strings: bytes of any kind. */
static bool constant_strings(GlowOnnxNode *n, const char *name, bool list) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, list ? GLOW_ONNX_ATTR_STRINGS : GLOW_ONNX_ATTR_STRING, &a,
                           &attr))
    return false;
  uint32_t count = list ? a.strings.count : 1;
  GlowString *strings = GLOW_NEW_ARRAY(n->im->arena, GlowString, count);
  if (!list)
    strings[0] = string_of(n, a.s);
  GlowWireIter i = {0};
  while (list && glow_wire_each(&n->im->file, &a.strings, &i))
    strings[i.index] = string_of(n, i.span);
  return glow_onnx_constant_result(n, arena_tensor(n, GLOW_KIND_STRING, list, count, strings));
}

static bool constant_tensor(GlowOnnxNode *n) {
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, "value", GLOW_ONNX_ATTR_TENSOR, &a, &attr))
    return false;
  GlowWireIter out = {0};
  glow_wire_each(&n->im->file, &n->proto.outputs, &out);
  GlowStr name = glow_wire_str(&n->im->file, out.span);
  n->results[0] = glow_onnx_constant_from(n->im, n->scope, a.t, name, n->loc, "the constant");
  if (n->results[0])
    n->results[0]->def.storage->origin = n->b.origin;
  return n->results[0] != NULL;
}

bool glow_onnx_constant(GlowOnnxNode *n) {
  GlowArray list = {0};
  int64_t i = 0;
  float f = 0;
  if (n->nins || n->nouts != 1 || n->nattrs != 1)
    return glow_onnx_fail(n, "%u operands, %u results and %u attributes where there are 0, 1 and 1",
                          n->nins, n->nouts, n->nattrs);
  const char *name = n->attrs[0].name;
  if (strcmp(name, "value") == 0)
    return constant_tensor(n);
  if (strcmp(name, "value_int") == 0)
    return glow_onnx_int(n, name, &i) &&
           glow_onnx_constant_result(n, arena_tensor(n, GLOW_KIND_I64, 0, 1, &i));
  if (strcmp(name, "value_ints") == 0)
    return glow_onnx_ints(n, name, &list) &&
           glow_onnx_constant_result(n, arena_tensor(n, GLOW_KIND_I64, 1, list.count, list.data));
  if (strcmp(name, "value_float") == 0)
    return glow_onnx_float(n, name, &f) &&
           glow_onnx_constant_result(n, arena_tensor(n, GLOW_KIND_FLOAT, 0, 1, &f));
  if (strcmp(name, "value_floats") == 0)
    return glow_onnx_floats(n, name, &list) &&
           glow_onnx_constant_result(n, arena_tensor(n, GLOW_KIND_FLOAT, 1, list.count, list.data));
  if (strcmp(name, "value_string") == 0 || strcmp(name, "value_strings") == 0)
    return constant_strings(n, name, strcmp(name, "value_strings") == 0);
  return glow_onnx_unsupported(n, "attribute '%s'", name);
}

bool glow_onnx_constant_of_shape(GlowOnnxNode *n) {
  GlowConstantOfShapeMembers m = {.value = {0}, .kind = GLOW_KIND_FLOAT};
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_check_ins(n, 1, 1) ||
      !glow_onnx_attribute(n, "value", GLOW_ONNX_ATTR_TENSOR, &a, &attr))
    return false;
  if (attr) {
    GlowOnnxTensorInfo info;
    if (!glow_onnx_tensor_info(&n->im->file, a.t, n->loc, "attribute 'value'", &info))
      return false;
    if (glow_type_elements(info.type) != 1 || info.where == GLOW_ONNX_DATA_EXTERNAL)
      return glow_onnx_fail(n, "attribute 'value' must be one element");
    m.kind = info.type->kind;
    if (m.kind == GLOW_KIND_STRING)
      return glow_onnx_unsupported(n, "strings");
    m.value = glow_tensor_get(glow_onnx_tensor_in_arena(&n->im->file, &info, n->im->arena), 0);
  }
  return glow_onnx_finish1(n, GLOW_OP_CONSTANT_OF_SHAPE, n->ins[0], &m);
}

/* ---- Attributes that became operands -------------------------------------------------------- */

/* The constant for an attribute of integers; NULL if it is absent. False after a diagnostic. */
static bool ints_operand(GlowOnnxNode *n, const char *name, bool required, GlowValue **v) {
  GlowArray list = {0};
  *v = NULL;
  if (!glow_onnx_has(n, name))
    return !required || glow_onnx_fail(n, "attribute '%s' is missing", name);
  if (!glow_onnx_ints(n, name, &list))
    return false;
  *v = glow_onnx_make_ints(n, name, list.data, list.count);
  return true;
}

/* Squeeze and Unsqueeze before operator set 13. */
bool glow_onnx_axes_attribute(GlowOnnxNode *n) {
  GlowValue *axes;
  bool squeeze = strcmp(n->op, "Squeeze") == 0;
  return glow_onnx_check_ins(n, 1, 1) && ints_operand(n, "axes", !squeeze, &axes) &&
         glow_onnx_finish(n, squeeze ? GLOW_OP_SQUEEZE : GLOW_OP_UNSQUEEZE,
                          (GlowValue *[]){n->ins[0], axes}, 2, NULL, NULL, 0);
}

bool glow_onnx_reshape_attributes(GlowOnnxNode *n) {
  GlowValue *shape;
  return glow_onnx_check_ins(n, 1, 1) && ints_operand(n, "shape", true, &shape) &&
         glow_onnx_finish2(n, GLOW_OP_RESHAPE, n->ins[0], shape, NULL);
}

bool glow_onnx_slice_attributes(GlowOnnxNode *n) {
  GlowValue *starts, *ends, *axes;
  return glow_onnx_check_ins(n, 1, 1) && ints_operand(n, "starts", true, &starts) &&
         ints_operand(n, "ends", true, &ends) && ints_operand(n, "axes", false, &axes) &&
         glow_onnx_finish(n, GLOW_OP_SLICE, (GlowValue *[]){n->ins[0], starts, ends, axes}, 4, NULL,
                          NULL, 0);
}

bool glow_onnx_pad_attributes(GlowOnnxNode *n) {
  GlowValue *pads;
  GlowPadMembers m = {.mode = GLOW_PAD_MODE_CONSTANT};
  float value = 0;
  if (!glow_onnx_check_ins(n, 1, 1) ||
      !ints_operand(n, n->version == 1 ? "paddings" : "pads", true, &pads) ||
      !glow_onnx_enum(n, &glow_enum_pad_mode, "mode", &m.mode) ||
      !glow_onnx_float(n, "value", &value))
    return false;
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  bool constant = m.mode == GLOW_PAD_MODE_CONSTANT && value != 0;
  GlowValue *fill =
      constant ? glow_onnx_make_scalar(n, "value", n->ins[0]->type->kind, (double)value) : NULL;
  return glow_onnx_finish(n, GLOW_OP_PAD, (GlowValue *[]){n->ins[0], pads, fill}, 3, &m, NULL, 0);
}

bool glow_onnx_concat_default(GlowOnnxNode *n) {
  GlowConcatMembers m = {.axis = 1};
  return glow_onnx_int(n, "axis", &m.axis) &&
         glow_onnx_finish(n, GLOW_OP_CONCAT, n->ins, n->nins, &m, NULL, 0);
}

/* Range since operator set 27 computes 16-bit floats in the type that stash_type says. */
bool glow_onnx_range(GlowOnnxNode *n) {
  GlowKind stash = GLOW_KIND_FLOAT;
  if (!glow_onnx_check_ins(n, 3, 3) || !glow_onnx_kind(n, "stash_type", &stash))
    return false;
  const GlowType *t = n->ins[0]->type;
  if (!glow_type_is_tensor(t) || (t->kind != GLOW_KIND_FLOAT16 && t->kind != GLOW_KIND_BFLOAT16))
    return glow_onnx_finish(n, GLOW_OP_RANGE, n->ins, 3, NULL, NULL, 0);
  if (stash != GLOW_KIND_FLOAT && stash != GLOW_KIND_DOUBLE)
    return glow_onnx_fail(n, "attribute 'stash_type' is neither float nor double");
  GlowValue *ins[3];
  for (int i = 0; i < 3; i++)
    if (!(ins[i] = glow_onnx_cast_to(n, n->ins[i], stash)))
      return false;
  return glow_onnx_finish1(n, GLOW_OP_CAST, glow_onnx_emit(n, GLOW_OP_RANGE, ins, 3, NULL),
                           &(GlowCastMembers){.to = t->kind});
}

/* EyeLike has the element type of X unless `dtype` says another. */
bool glow_onnx_eye_like(GlowOnnxNode *n) {
  GlowEyeLikeMembers m = {.k = 0, .kind = GLOW_KIND_FLOAT};
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_int(n, "k", &m.k))
    return false;
  if (glow_type_is_tensor(n->ins[0]->type))
    m.kind = n->ins[0]->type->kind;
  return glow_onnx_kind(n, "dtype", &m.kind) &&
         glow_onnx_finish1(n, GLOW_OP_EYE_LIKE, n->ins[0], &m);
}

/* Tile before operator set 6: operand 1 is a number of copies and operand 2 an axis, both in the
 * type of X. */
bool glow_onnx_tile_axis(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 3, 3))
    return false;
  const GlowType *t = n->ins[0]->type;
  if (!glow_type_is_tensor(t) || t->unranked)
    return glow_onnx_unsupported(n, "an operand of unknown rank");
  const int64_t ones[GLOW_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  GlowValue *ins[3] = {glow_onnx_make_ints(n, "repeats", ones, t->rank)};
  GlowValue *one = glow_onnx_make_ints(n, "one", ones, 1);
  for (int i = 1; i < 3; i++) {
    GlowValue *number = glow_onnx_cast_to(n, n->ins[3 - i], GLOW_KIND_I64);
    if (!(ins[i] = glow_onnx_emit2(n, GLOW_OP_RESHAPE, number, one, NULL)))
      return false;
  }
  GlowValue *repeats = glow_onnx_emit(n, GLOW_OP_SCATTER_ELEMENTS, ins, 3, NULL);
  return glow_onnx_finish2(n, GLOW_OP_TILE, n->ins[0], repeats, NULL);
}

/* Sizes for num_outputs pieces, the last of which may be smaller. NULL if they are all equal. */
static bool piece_sizes(GlowOnnxNode *n, int64_t axis, GlowValue **sizes) {
  int64_t pieces = n->proto.outputs.count, given = pieces;
  if (!glow_onnx_int(n, "num_outputs", &given))
    return false;
  if (given != pieces)
    return glow_onnx_fail(n, "attribute 'num_outputs' is %lld for %lld results", (long long)given,
                          (long long)pieces);
  const GlowType *t = n->ins[0]->type;
  if (!glow_type_is_tensor(t) || t->unranked || pieces == 0)
    return true;
  axis += axis < 0 ? t->rank : 0;
  if (axis < 0 || axis >= t->rank || t->dims[axis].kind != GLOW_DIM_EXACT ||
      t->dims[axis].size % pieces == 0)
    return true;
  int64_t left = t->dims[axis].size, piece = (left + pieces - 1) / pieces;
  int64_t *list = GLOW_NEW_ARRAY(n->im->arena, int64_t, (size_t)pieces);
  for (int64_t i = 0; i < pieces; i++, left -= list[i - 1])
    list[i] = piece < left ? piece : left;
  *sizes = glow_onnx_make_ints(n, "split", list, (uint32_t)pieces);
  return true;
}

bool glow_onnx_split(GlowOnnxNode *n) {
  GlowSplitMembers m = {.axis = 0};
  GlowValue *sizes = NULL;
  if (!glow_onnx_check_ins(n, 1, 2) || !glow_onnx_int(n, "axis", &m.axis))
    return false;
  if (n->nins > 1)
    sizes = n->ins[1];
  else if (glow_onnx_has(n, "split") && !ints_operand(n, "split", true, &sizes))
    return false;
  if (!sizes && !piece_sizes(n, m.axis, &sizes))
    return false;
  return glow_onnx_finish(n, GLOW_OP_SPLIT, (GlowValue *[]){n->ins[0], sizes}, 2, &m, NULL, 0);
}
