/* Element-wise operators whose ONNX form differs from ours: old attributes, variadic ones, casts
 * and dropout. The definitions are those of onnx/docs/Operators and Changelog. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static GlowOp op_of(const GlowOnnxNode *n) {
  return glow_op_from_node_name(n->op, glow_str_length(n->op));
}

static bool is_ranked(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->unranked;
}

/* v with `count` axes of extent 1 added behind. */
static GlowValue *append_axes(GlowOnnxNode *n, GlowValue *v, uint32_t count) {
  int64_t axes[GLOW_MAX_RANK];
  if (count == 0)
    return v;
  for (uint32_t i = 0; i < count; i++)
    axes[i] = v->type->rank + i;
  return glow_onnx_emit2(n, GLOW_OP_UNSQUEEZE, v, glow_onnx_make_ints(n, "axes", axes, count),
                         NULL);
}

/* Add and similar operators before operator set 7: `broadcast` allows broadcasting, `axis` says at
 * which axis of A B's first axis lies. */
bool glow_onnx_binary_axis(GlowOnnxNode *n) {
  bool broadcast = false;
  int64_t axis = -1;
  if (!glow_onnx_check_ins(n, 2, 2) || !glow_onnx_bool(n, "broadcast", &broadcast))
    return false;
  bool has_axis = glow_onnx_has(n, "axis");
  if (!glow_onnx_int(n, "axis", &axis))
    return false;
  GlowValue *a = n->ins[0], *b = n->ins[1];
  if (!broadcast || !has_axis)
    return glow_onnx_finish2(n, op_of(n), a, b, NULL);
  if (!is_ranked(a) || !is_ranked(b))
    return glow_onnx_unsupported(n, "attribute 'axis' for operands of unknown rank");
  int64_t rank = a->type->rank, small = b->type->rank;
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis + small > rank)
    return glow_onnx_fail(n, "axis %lld does not fit ranks %lld and %lld", (long long)axis,
                          (long long)rank, (long long)small);
  return glow_onnx_finish2(n, op_of(n), a, append_axes(n, b, (uint32_t)(rank - axis - small)),
                           NULL);
}

/* PRelu before operator set 7: a vector of slopes belongs to the channels, axis 1. */
bool glow_onnx_prelu_channels(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 2, 2))
    return false;
  GlowValue *x = n->ins[0], *slope = n->ins[1];
  if (!is_ranked(x) || !is_ranked(slope))
    return glow_onnx_unsupported(n, "slopes for operands of unknown rank");
  bool vector = slope->type->rank == 1 &&
                !(slope->type->dims[0].kind == GLOW_DIM_EXACT && slope->type->dims[0].size == 1);
  if (vector && x->type->rank > 2)
    slope = append_axes(n, slope, x->type->rank - 2);
  return glow_onnx_finish2(n, GLOW_OP_PRELU, x, slope, NULL);
}

/* Selu before operator set 6: defaults of five digits. */
bool glow_onnx_selu_rounded(GlowOnnxNode *n) {
  GlowSeluMembers m = {.alpha = 1.6732f, .gamma = 1.0507f};
  return glow_onnx_check_ins(n, 1, 1) && glow_onnx_float(n, "alpha", &m.alpha) &&
         glow_onnx_float(n, "gamma", &m.gamma) && glow_onnx_finish1(n, GLOW_OP_SELU, n->ins[0], &m);
}

bool glow_onnx_bitshift(GlowOnnxNode *n) {
  GlowStr direction = NULL;
  if (!glow_onnx_check_ins(n, 2, 2) || !glow_onnx_string(n, "direction", &direction))
    return false;
  bool right = direction && strcmp(direction, "RIGHT") == 0;
  if (!right && !(direction && strcmp(direction, "LEFT") == 0))
    return glow_onnx_fail(n, "attribute 'direction' must be LEFT or RIGHT");
  return glow_onnx_finish2(n, GLOW_OP_BIT_SHIFT, n->ins[0], n->ins[1],
                           &(GlowBitShiftMembers){.right = right});
}

/* ---- Casts ---------------------------------------------------------------------------------- */

/* How casts to 8-bit floats treat what is too large. */
static bool read_saturation(GlowOnnxNode *n, GlowCastMembers *m) {
  bool saturate = true, small = glow_kind_is_float(m->to) && glow_kind_info[m->to].bits <= 8;
  GlowKind to = m->to;
  GlowStr mode = NULL;
  if (!glow_onnx_bool(n, "saturate", &saturate) || !glow_onnx_string(n, "round_mode", &mode))
    return false;
  m->overflow = small && !saturate;
  if (to == GLOW_KIND_FLOAT8E8M0 && mode && strcmp(mode, "up") != 0)
    return glow_onnx_unsupported(n, "attribute 'round_mode' = '%s'", mode);
  return true;
}

bool glow_onnx_cast(GlowOnnxNode *n) {
  GlowCastMembers m = {0};
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  if (!glow_onnx_has(n, "to"))
    return glow_onnx_fail(n, "attribute 'to' is missing");
  return glow_onnx_kind(n, "to", &m.to) && read_saturation(n, &m) &&
         glow_onnx_finish1(n, GLOW_OP_CAST, n->ins[0], &m);
}

/* Cast of operator set 1 names the kind as TensorProto.DataType spells it. */
bool glow_onnx_cast_named(GlowOnnxNode *n) {
  static const struct {
    const char *name;
    GlowKind kind;
  } names[] = {
      {"FLOAT", GLOW_KIND_FLOAT}, {"DOUBLE", GLOW_KIND_DOUBLE}, {"FLOAT16", GLOW_KIND_FLOAT16},
      {"INT8", GLOW_KIND_I8},     {"INT16", GLOW_KIND_I16},     {"INT32", GLOW_KIND_I32},
      {"INT64", GLOW_KIND_I64},   {"UINT8", GLOW_KIND_U8},      {"UINT16", GLOW_KIND_U16},
      {"UINT32", GLOW_KIND_U32},  {"UINT64", GLOW_KIND_U64},    {"BOOL", GLOW_KIND_BOOL},
  };
  GlowStr to = NULL;
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_string(n, "to", &to))
    return false;
  for (size_t i = 0; to && i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, to) == 0)
      return glow_onnx_finish1(n, GLOW_OP_CAST, n->ins[0], &(GlowCastMembers){.to = names[i].kind});
  return to ? glow_onnx_fail(n, "attribute 'to' is no element type: %s", to)
            : glow_onnx_fail(n, "attribute 'to' is missing");
}

bool glow_onnx_bit_cast(GlowOnnxNode *n) {
  GlowBitCastMembers m = {0};
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  if (!glow_onnx_has(n, "to"))
    return glow_onnx_fail(n, "attribute 'to' is missing");
  return glow_onnx_kind(n, "to", &m.to) && glow_onnx_finish1(n, GLOW_OP_BIT_CAST, n->ins[0], &m);
}

/* Kinds of 8 bits are widened, which keeps NaN and infinities. */
static GlowValue *without_float8(GlowOnnxNode *n, GlowValue *x) {
  bool small = glow_type_is_tensor(x->type) && glow_kind_is_float(x->type->kind) &&
               glow_kind_info[x->type->kind].bits <= 8;
  return small ? glow_onnx_cast_to(n, x, GLOW_KIND_FLOAT) : x;
}
bool glow_onnx_is_nan(GlowOnnxNode *n) {
  return glow_onnx_check_ins(n, 1, 1) &&
         glow_onnx_finish1(n, GLOW_OP_IS_NAN, without_float8(n, n->ins[0]), NULL);
}
bool glow_onnx_is_inf(GlowOnnxNode *n) {
  GlowIsInfMembers m = {.negative = true, .positive = true};
  return glow_onnx_check_ins(n, 1, 1) && glow_onnx_bool(n, "detect_negative", &m.negative) &&
         glow_onnx_bool(n, "detect_positive", &m.positive) &&
         glow_onnx_finish1(n, GLOW_OP_IS_INF, without_float8(n, n->ins[0]), &m);
}

bool glow_onnx_cast_like(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 2, 2))
    return false;
  if (!glow_type_is_tensor(n->ins[1]->type))
    return glow_onnx_fail(n, "operand 1 must be a tensor");
  GlowCastMembers m = {.to = n->ins[1]->type->kind};
  return read_saturation(n, &m) && glow_onnx_finish1(n, GLOW_OP_CAST, n->ins[0], &m);
}

/* ---- Clip, variadic operators --------------------------------------------------------------- */

/* Clip before operator set 11: limits as attributes, since 6 with the range of float by default. */
bool glow_onnx_clip_attributes(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  float low = -3.402823466e38f, high = 3.402823466e38f;
  bool has_low = glow_onnx_has(n, "min") || n->version >= 6;
  bool has_high = glow_onnx_has(n, "max") || n->version >= 6;
  if (!glow_onnx_float(n, "min", &low) || !glow_onnx_float(n, "max", &high))
    return false;
  GlowValue *x = n->ins[0];
  if (!glow_type_is_tensor(x->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  GlowKind kind = x->type->kind;
  if (!glow_kind_is_float(kind))
    return glow_onnx_fail(n, "operand 0 is %s", glow_type_str(n->im->ctx, x->type));
  GlowValue *ins[] = {x, has_low ? glow_onnx_make_scalar(n, "min", kind, (double)low) : NULL,
                      has_high ? glow_onnx_make_scalar(n, "max", kind, (double)high) : NULL};
  return glow_onnx_finish(n, GLOW_OP_CLIP, ins, 3, NULL, NULL, 0);
}

/* All operands but the last one combined from the left; NULL after a diagnostic. */
static GlowValue *combine(GlowOnnxNode *n, GlowOp op, uint32_t count) {
  GlowValue *v = n->ins[0];
  for (uint32_t i = 1; v && i < count; i++)
    v = glow_onnx_emit2(n, op, v, n->ins[i], NULL);
  return v;
}

/* Max, Min, Sum of any number of operands, from the left. */
bool glow_onnx_chain(GlowOnnxNode *n) {
  GlowOp op = strcmp(n->op, "Sum") == 0 ? GLOW_OP_ADD : op_of(n);
  if (n->nins == 0)
    return glow_onnx_fail(n, "there are no operands");
  if (!glow_onnx_check_ins(n, n->nins, n->nins))
    return false;
  if (n->nins == 1)
    return glow_onnx_finish1(n, GLOW_OP_IDENTITY, n->ins[0], NULL);
  return glow_onnx_finish2(n, op, combine(n, op, n->nins - 1), n->ins[n->nins - 1], NULL);
}

bool glow_onnx_mean(GlowOnnxNode *n) {
  if (n->nins == 0)
    return glow_onnx_fail(n, "there are no operands");
  if (!glow_onnx_check_ins(n, n->nins, n->nins))
    return false;
  if (n->nins == 1)
    return glow_onnx_finish1(n, GLOW_OP_IDENTITY, n->ins[0], NULL);
  GlowValue *sum = combine(n, GLOW_OP_ADD, n->nins);
  return sum &&
         glow_onnx_finish2(n, GLOW_OP_DIV, sum,
                           glow_onnx_make_scalar(n, "count", sum->type->kind, n->nins), NULL);
}

/* ---- Dropout -------------------------------------------------------------------------------- */

/* Without training: X itself, and a mask of ones. */
static bool keep_all(GlowOnnxNode *n, GlowKind mask) {
  GlowValue *x = n->ins[0];
  if (n->nouts > 2)
    return glow_onnx_fail(n, "%u results where there are at most 2", n->nouts);
  if (n->nouts > 0 && n->outs[0] && !glow_onnx_result(n, 0, GLOW_OP_IDENTITY, &x, 1, NULL))
    return false;
  if (n->nouts < 2)
    return true;
  GlowValue *shape = glow_onnx_shape_of(n, x);
  bool is_float = glow_kind_is_float(mask);
  GlowConstantOfShapeMembers m = {.value = {.is_int = !is_float, .i = !is_float, .f = 1},
                                  .kind = mask};
  return glow_onnx_result(n, 1, GLOW_OP_CONSTANT_OF_SHAPE, &shape, 1, &m);
}

/* Uniform numbers in [0, 1) of x's shape; the state is saved when the function ends. */
static GlowValue *uniform_like(GlowOnnxNode *n, GlowValue *x) {
  int64_t seed = 0;
  bool seeded = glow_onnx_has(n, "seed");
  if (!glow_onnx_int(n, "seed", &seed))
    return NULL;
  GlowStorage *state = glow_onnx_random_state(n, seeded, (uint64_t)seed);
  GlowRandomUniformMembers m = {.low = 0, .high = 1, .kind = GLOW_KIND_FLOAT};
  GlowValue *u = glow_onnx_emit2(n, GLOW_OP_RANDOM_UNIFORM, x, glow_onnx_random_read(n, state), &m);
  if (u)
    glow_onnx_random_write(n, state, &u->def.node->results[1]);
  return u;
}

/* Y = X * keep / (1 - ratio) and keep = U >= ratio. If the mode is known only at run time
 * (`training` is not NULL), without training every element is kept and the scale is 1. */
static bool drop(GlowOnnxNode *n, GlowValue *x, GlowValue *ratio, GlowValue *training) {
  GlowKind kind = x->type->kind;
  GlowValue *u = uniform_like(n, x);
  if (!u)
    return false;
  GlowValue *one = glow_onnx_make_scalar(n, "one", kind, 1);
  GlowValue *zero = glow_onnx_make_scalar(n, "zero", kind, 0);
  GlowValue *limit = glow_onnx_cast_to(n, ratio, GLOW_KIND_FLOAT);
  GlowValue *rest = glow_onnx_emit2(n, GLOW_OP_SUB, one, glow_onnx_cast_to(n, ratio, kind), NULL);
  GlowValue *scale = glow_onnx_emit1(n, GLOW_OP_RECIPROCAL, rest, NULL);
  GlowValue *keep[2] = {u, limit};
  if (training) {
    GlowValue *drawn = glow_onnx_emit2(n, GLOW_OP_GREATER_OR_EQUAL, u, limit, NULL);
    keep[0] = drawn;
    keep[1] = glow_onnx_emit1(n, GLOW_OP_NOT, training, NULL);
    scale = scale ? glow_onnx_emit(n, GLOW_OP_WHERE, (GlowValue *[]){training, scale, one}, 3, NULL)
                  : NULL;
  }
  GlowOp op = training ? GLOW_OP_OR : GLOW_OP_GREATER_OR_EQUAL;
  GlowValue *mask;
  if (n->nouts > 1) {
    if (!glow_onnx_result(n, 1, op, keep, 2, NULL))
      return false;
    mask = n->results[1];
  } else {
    mask = glow_onnx_emit2(n, op, keep[0], keep[1], NULL);
  }
  GlowValue *scaled = glow_onnx_emit2(n, GLOW_OP_MUL, x, scale, NULL);
  return !n->outs[0] ||
         glow_onnx_result(n, 0, GLOW_OP_WHERE, (GlowValue *[]){mask, scaled, zero}, 3, NULL);
}

/* Checks the node, then draws. */
static bool draw(GlowOnnxNode *n, GlowValue *ratio, GlowValue *training) {
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  if (n->nouts > 2 || n->nouts == 0)
    return glow_onnx_fail(n, "%u results where there are 1 or 2", n->nouts);
  return ratio && drop(n, n->ins[0], ratio, training);
}

/* Before operator set 12. At first an attribute says whether to train; from version 7 on there is
 * no training but that of -training. */
bool glow_onnx_dropout_attributes(GlowOnnxNode *n) {
  bool test = n->version >= 7;
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_bool(n, "is_test", &test))
    return false;
  if (n->im->training) {
    float ratio = 0.5f;
    n->im->differs = true;
    return glow_onnx_float(n, "ratio", &ratio) &&
           draw(n, glow_onnx_make_scalar(n, "ratio", GLOW_KIND_FLOAT, (double)ratio), NULL);
  }
  glow_onnx_ignore(n, "ratio");
  if (!test)
    return glow_onnx_unsupported(n, "training mode (attribute 'is_test' = 0)");
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  return keep_all(n, n->version >= 10 ? GLOW_KIND_BOOL : n->ins[0]->type->kind);
}

bool glow_onnx_dropout(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 1, 3))
    return false;
  GlowValue *ratio = n->nins > 1 ? n->ins[1] : NULL;
  GlowValue *training = n->nins > 2 ? n->ins[2] : NULL;
  const GlowTensor *known = training ? glow_value_known(training) : NULL;
  bool is_known = known && glow_tensor_elements(known) == 1;
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  if (!n->im->training && (!training || (is_known && !glow_tensor_get_int(known, 0)))) {
    glow_onnx_ignore(n, "seed");
    return keep_all(n, GLOW_KIND_BOOL);
  }
  n->im->differs |= n->im->training;
  ratio =
      ratio ? glow_onnx_rank0(n, ratio) : glow_onnx_make_scalar(n, "ratio", GLOW_KIND_FLOAT, 0.5);
  training = is_known || !training ? NULL : glow_onnx_rank0(n, training);
  return draw(n, ratio, training);
}
