/* Quantized operators of ONNX Runtime (com.microsoft, version 1), which its quantizer writes
 * besides ONNX's own. Most become what they compute on real numbers, between DequantizeLinear and
 * QuantizeLinear; matrix products become products of integers. A scale is one number for a tensor,
 * or for matrices one for each column. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"
#include "import/onnx/window.h"

/* Whether n has `least` to `most` operands, with those among them whose bit is in `optional` free
 * to be absent. */
static bool check_operands(GlowOnnxNode *n, uint32_t least, uint32_t most, uint32_t optional) {
  if (n->nins < least || n->nins > most)
    return glow_onnx_fail(n, "%u operands where %u to %u are expected", n->nins, least, most);
  for (uint32_t i = 0; i < n->nins; i++) {
    if (!n->ins[i] && !(optional >> i & 1))
      return glow_onnx_fail(n, "operand %u is missing", i);
    if (n->ins[i] && !glow_type_is_tensor(n->ins[i]->type))
      return glow_onnx_fail(n, "operands must be tensors");
  }
  return true;
}

static GlowValue *operand(const GlowOnnxNode *n, uint32_t i) {
  return i < n->nins ? n->ins[i] : NULL;
}

/* Operand i as real numbers; its scale and zero point follow it. */
static GlowValue *dequantized(GlowOnnxNode *n, uint32_t i) {
  GlowDequantizeLinearMembers m = {.axis = 1};
  GlowValue *ins[] = {operand(n, i), glow_onnx_rank0(n, operand(n, i + 1)),
                      glow_onnx_rank0(n, operand(n, i + 2))};
  glow_onnx_check_scale(n, i + 1, false);
  return ins[1] && (ins[2] || !operand(n, i + 2))
             ? glow_onnx_emit(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3, &m)
             : NULL;
}

/* Makes y n's result. Operands i and i + 1 are the scale and the zero point; without a zero point,
 * the result has element kind `kind`. */
static bool finish_quantized(GlowOnnxNode *n, GlowValue *y, uint32_t i, GlowKind kind) {
  GlowValue *zero = glow_onnx_rank0(n, operand(n, i + 1));
  GlowValue *ins[] = {y, glow_onnx_rank0(n, operand(n, i)), zero};
  GlowQuantizeLinearMembers m = {
      .axis = 1, .kind = zero ? zero->type->kind : kind, .saturate = true};
  glow_onnx_check_scale(n, i, true);
  return y && ins[1] && (zero || !operand(n, i + 1)) &&
         glow_onnx_finish(n, GLOW_OP_QUANTIZE_LINEAR, ins, 3, &m, NULL, 0);
}

/* ---- Element-wise operators, pooling, Softmax, Concat -----------------------------------------
 */

bool glow_onnx_qlinear_binary(GlowOnnxNode *n) {
  if (!check_operands(n, 7, 8, 1u << 2 | 1u << 5 | 1u << 7))
    return false;
  GlowOp op = strcmp(n->op, "QLinearAdd") == 0 ? GLOW_OP_ADD : GLOW_OP_MUL;
  GlowValue *a = dequantized(n, 0), *b = a ? dequantized(n, 3) : NULL;
  return finish_quantized(n, glow_onnx_emit2(n, op, a, b, NULL), 6, n->ins[0]->type->kind);
}

/* One operand: QLinear followed by the operator's own name. */
bool glow_onnx_qlinear_unary(GlowOnnxNode *n) {
  GlowLeakyReluMembers slope = {.alpha = 0.01f};
  GlowGlobalAveragePoolMembers pool = {.layout = GLOW_LAYOUT_NCHW};
  bool leaky = strcmp(n->op, "QLinearLeakyRelu") == 0, last = false;
  bool pools = strcmp(n->op, "QLinearGlobalAveragePool") == 0;
  if (!check_operands(n, 4, 5, 1u << 2 | 1u << 4) ||
      (leaky && !glow_onnx_float(n, "alpha", &slope.alpha)) ||
      (pools && !glow_onnx_bool(n, "channels_last", &last)))
    return false;
  if (last)
    pool.layout = GLOW_LAYOUT_NHWC;
  GlowOp op = leaky ? GLOW_OP_LEAKY_RELU : pools ? GLOW_OP_GLOBAL_AVERAGE_POOL : GLOW_OP_SIGMOID;
  const void *members = leaky ? (const void *)&slope : pools ? &pool : NULL;
  GlowValue *y = glow_onnx_emit1(n, op, dequantized(n, 0), members);
  return finish_quantized(n, y, 3, n->ins[0]->type->kind);
}

bool glow_onnx_qlinear_average_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowAveragePoolMembers m = {.layout = GLOW_LAYOUT_NCHW};
  bool last = false;
  if (!check_operands(n, 4, 5, 1u << 2 | 1u << 4) || !glow_onnx_bool(n, "channels_last", &last))
    return false;
  if (last && glow_onnx_has(n, "auto_pad"))
    return glow_onnx_unsupported(n, "auto_pad with channels_last");
  if (!glow_onnx_u32s(n, "kernel_shape", &w.kernel) ||
      !glow_onnx_read_window(n, n->ins[0]->type, &w) || !glow_onnx_bool(n, "ceil_mode", &m.ceil) ||
      !glow_onnx_bool(n, "count_include_pad", &m.count_include_pad))
    return false;
  if (last)
    m.layout = GLOW_LAYOUT_NHWC;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  GlowValue *y = glow_onnx_emit1(n, GLOW_OP_AVERAGE_POOL, dequantized(n, 0), &m);
  return finish_quantized(n, y, 3, n->ins[0]->type->kind);
}

/* Softmax as operator set `opset` has it: along one axis, or below 13 over the rows of a matrix
 * that is split at the axis. */
bool glow_onnx_qlinear_softmax(GlowOnnxNode *n) {
  int64_t opset = 0, axis = -1;
  if (!check_operands(n, 5, 5, 1u << 2) || !glow_onnx_int(n, "opset", &opset) ||
      !glow_onnx_int(n, "axis", &axis))
    return false;
  const GlowType *t = n->ins[0]->type;
  bool row = opset >= 13 || axis == -1 || (!t->unranked && axis == (int64_t)t->rank - 1);
  GlowSoftmaxMembers m = {.axis = row ? axis : -1};
  GlowValue *x = dequantized(n, 0);
  if (!row)
    x = glow_onnx_emit1(n, GLOW_OP_FLATTEN, x, &(GlowFlattenMembers){.axis = axis});
  GlowValue *y = glow_onnx_emit1(n, GLOW_OP_SOFTMAX, x, &m);
  if (!row)
    y = glow_onnx_emit2(n, GLOW_OP_RESHAPE, y, glow_onnx_shape_of(n, n->ins[0]),
                        &(GlowReshapeMembers){.allow_zero = true});
  return finish_quantized(n, y, 3, t->kind);
}

bool glow_onnx_qlinear_where(GlowOnnxNode *n) {
  if (!check_operands(n, 9, 9, 0))
    return false;
  GlowValue *x = dequantized(n, 1), *y = x ? dequantized(n, 4) : NULL;
  GlowValue *ins[] = {n->ins[0], x, y};
  GlowValue *z = y ? glow_onnx_emit(n, GLOW_OP_WHERE, ins, 3, NULL) : NULL;
  return finish_quantized(n, z, 7, n->ins[1]->type->kind);
}

/* A scale and a zero point for the result, then three operands for each part. */
bool glow_onnx_qlinear_concat(GlowOnnxNode *n) {
  int64_t axis = 0;
  if (n->nins < 5 || (n->nins - 2) % 3)
    return glow_onnx_fail(n, "%u operands, expected 2 and 3 for each part", n->nins);
  if (!check_operands(n, 5, n->nins, 0) || !glow_onnx_int(n, "axis", &axis))
    return false;
  if (!glow_onnx_has(n, "axis"))
    return glow_onnx_fail(n, "attribute 'axis' is missing");
  uint32_t count = (n->nins - 2) / 3;
  GlowValue **parts = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count);
  for (uint32_t i = 0; i < count; i++) {
    parts[i] = dequantized(n, 2 + 3 * i);
    if (!parts[i])
      return false;
  }
  GlowConcatMembers m = {.axis = axis};
  return finish_quantized(n, glow_onnx_emit(n, GLOW_OP_CONCAT, parts, count, &m), 0, GLOW_KIND_U8);
}

/* ---- Matrix products ------------------------------------------------------------------------- */

/* A product of integers, and the operands that make real numbers of it. Zero points and biases may
 * be NULL. */
typedef struct Product {
  GlowValue *a, *b, *azero, *bzero, *ascale, *bscale;
  GlowValue *sum_bias; /* i32, added to the product of integers */
  GlowValue *bias;     /* added in the end */
  float alpha;
} Product;

/* v as rank 0 if it is a list of one number. A list with a number for each column stays. */
static GlowValue *column_scale(GlowOnnxNode *n, GlowValue *v) {
  bool one = !v->type->unranked && v->type->rank == 1 && v->type->dims[0].kind == GLOW_DIM_EXACT &&
             v->type->dims[0].size == 1;
  return one ? glow_onnx_rank0(n, v) : v;
}

/* float(A B + SumBias) * (alpha * (AScale * BScale)) + Bias; NULL after a diagnostic. */
static GlowValue *real_product(GlowOnnxNode *n, const Product *p) {
  GlowValue *ins[] = {p->a, p->b, p->azero, p->bzero};
  GlowValue *sum = glow_onnx_emit(n, GLOW_OP_MAT_MUL_INTEGER, ins, 4, NULL);
  if (p->sum_bias)
    sum = glow_onnx_emit2(n, GLOW_OP_ADD, sum, p->sum_bias, NULL);
  GlowValue *scale = glow_onnx_emit2(n, GLOW_OP_MUL, glow_onnx_rank0(n, p->ascale),
                                     column_scale(n, p->bscale), NULL);
  if (scale && p->alpha != 1)
    scale = glow_onnx_emit2(n, GLOW_OP_MUL,
                            glow_onnx_make_scalar(n, "alpha", scale->type->kind, (double)p->alpha),
                            scale, NULL);
  GlowValue *real = scale ? glow_onnx_cast_to(n, sum, scale->type->kind) : NULL;
  GlowValue *y = glow_onnx_emit2(n, GLOW_OP_MUL, real, scale, NULL);
  return p->bias ? glow_onnx_emit2(n, GLOW_OP_ADD, y, p->bias, NULL) : y;
}

bool glow_onnx_mat_mul_integer_to_float(GlowOnnxNode *n) {
  if (!check_operands(n, 4, 7, 1u << 4 | 1u << 5 | 1u << 6))
    return false;
  glow_onnx_check_scale(n, 2, false);
  glow_onnx_check_scale(n, 3, false);
  Product p = {.alpha = 1, .a = n->ins[0], .b = n->ins[1], .ascale = n->ins[2]};
  p.bscale = n->ins[3];
  p.azero = operand(n, 4);
  p.bzero = operand(n, 5);
  p.bias = operand(n, 6);
  return glow_onnx_finish1(n, GLOW_OP_IDENTITY, real_product(n, &p), NULL);
}

bool glow_onnx_dynamic_quantize_mat_mul(GlowOnnxNode *n) {
  if (!check_operands(n, 3, 5, 1u << 3 | 1u << 4))
    return false;
  glow_onnx_check_scale(n, 2, false);
  GlowStr names[] = {glow_onnx_part_name(n, "a"), glow_onnx_part_name(n, "scale"),
                     glow_onnx_part_name(n, "zero")};
  GlowNode *a = glow_onnx_build(n, GLOW_OP_DYNAMIC_QUANTIZE_LINEAR, n->ins, 1,
                                (GlowNodeSpec){.names = names});
  if (!a)
    return false;
  Product p = {.alpha = 1, .a = &a->results[0], .b = n->ins[1], .bscale = n->ins[2]};
  p.ascale = &a->results[1];
  p.azero = &a->results[2];
  p.bzero = operand(n, 3);
  p.bias = operand(n, 4);
  return glow_onnx_finish1(n, GLOW_OP_IDENTITY, real_product(n, &p), NULL);
}

/* v, or v with its two axes swapped. */
static GlowValue *matrix(GlowOnnxNode *n, GlowValue *v, bool swapped) {
  static const uint32_t perm[] = {1, 0};
  GlowTransposeMembers m = {.perm = glow_array_u32(n->im->m, perm, 2)};
  return swapped ? glow_onnx_emit1(n, GLOW_OP_TRANSPOSE, v, &m) : v;
}

/* Without a scale for the result, the result is real numbers. */
bool glow_onnx_qgemm(GlowOnnxNode *n) {
  bool rows = false, columns = false;
  Product p = {.alpha = 1};
  if (!check_operands(n, 6, 9, 1u << 6 | 1u << 7 | 1u << 8) ||
      !glow_onnx_bool(n, "transA", &rows) || !glow_onnx_bool(n, "transB", &columns) ||
      !glow_onnx_float(n, "alpha", &p.alpha))
    return false;
  glow_onnx_check_scale(n, 1, false);
  glow_onnx_check_scale(n, 4, false);
  p.a = matrix(n, n->ins[0], rows);
  p.b = matrix(n, n->ins[3], columns);
  p.ascale = n->ins[1];
  p.azero = n->ins[2];
  p.bscale = n->ins[4];
  p.bzero = n->ins[5];
  p.sum_bias = operand(n, 6);
  GlowValue *y = p.a && p.b ? real_product(n, &p) : NULL;
  return operand(n, 7) ? finish_quantized(n, y, 7, n->ins[0]->type->kind)
                       : glow_onnx_finish1(n, GLOW_OP_IDENTITY, y, NULL);
}

/* ---- Attention ------------------------------------------------------------------------------- */

enum { QA_X, QA_W, QA_BIAS, QA_X_SCALE, QA_W_SCALE, QA_MASK, QA_X_ZERO, QA_W_ZERO, QA_PAST };

/* v with axes of extent 1 at these places. */
static GlowValue *with_axes(GlowOnnxNode *n, GlowValue *v, const int64_t *axes, uint32_t count) {
  return glow_onnx_emit2(n, GLOW_OP_UNSQUEEZE, v, glow_onnx_make_ints(n, "axes", axes, count),
                         NULL);
}

/* Which keys ends and starts hide: `at` is i32<2 * batch>, first the number of the key behind the
 * last one of each sequence, then that of its first one; or i32<batch>, ends alone. */
static GlowValue *outside(GlowOnnxNode *n, GlowValue *at, int64_t batch, int64_t keys) {
  int64_t one[] = {batch, 1};
  GlowValue *range[] = {glow_onnx_make_scalar(n, "first", GLOW_KIND_I64, 0),
                        glow_onnx_make_scalar(n, "behind", GLOW_KIND_I64, (double)keys),
                        glow_onnx_make_scalar(n, "step", GLOW_KIND_I64, 1)};
  GlowValue *key = glow_onnx_emit(n, GLOW_OP_RANGE, range, 3, NULL);
  GlowValue *bounds = glow_onnx_cast_to(n, at, GLOW_KIND_I64), *hidden = NULL;
  bool starts = at->type->dims[0].size == 2 * batch;
  for (int64_t part = 0; part < 1 + starts; part++) {
    GlowValue *ins[] = {bounds, glow_onnx_make_ints(n, "from", &(int64_t){part * batch}, 1),
                        glow_onnx_make_ints(n, "to", &(int64_t){(part + 1) * batch}, 1)};
    GlowValue *bound = bounds ? glow_onnx_emit(n, GLOW_OP_SLICE, ins, 3, NULL) : NULL;
    bound =
        glow_onnx_emit2(n, GLOW_OP_RESHAPE, bound, glow_onnx_make_ints(n, "shape", one, 2), NULL);
    GlowOp op = part ? GLOW_OP_LESS : GLOW_OP_GREATER_OR_EQUAL;
    GlowValue *more = glow_onnx_emit2(n, op, key, bound, NULL);
    hidden = part ? glow_onnx_emit2(n, GLOW_OP_OR, hidden, more, NULL) : more;
  }
  return hidden;
}

/* What is added to scores [batch, heads, queries, keys]: `filter` where operand QA_MASK hides a
 * key, else 0. The mask has numbers above 0 for keys that are seen, [batch, keys] or [batch,
 * queries, keys], or it has ends (and starts) of sequences. `keys` is -1 where open. */
static GlowValue *added_mask(GlowOnnxNode *n, GlowDim batch, int64_t keys, float filter) {
  static const int64_t places[] = {1, 2};
  GlowValue *mask = n->ins[QA_MASK], *hidden = NULL;
  const GlowType *t = mask->type;
  if (t->unranked || t->rank < 1 || t->rank > 3 || t->kind != GLOW_KIND_I32) {
    glow_onnx_unsupported(n, "a mask of type %s", glow_type_str(n->im->ctx, t));
    return NULL;
  }
  if (t->rank == 1) {
    if (batch.kind != GLOW_DIM_EXACT || keys < 0 || t->dims[0].kind != GLOW_DIM_EXACT) {
      glow_onnx_unsupported(n, "ends of sequences where the batch or the keys are open");
      return NULL;
    }
    if (t->dims[0].size != batch.size && t->dims[0].size != 2 * batch.size) {
      glow_onnx_fail(n, "a mask of %lld numbers for a batch of %lld", (long long)t->dims[0].size,
                     (long long)batch.size);
      return NULL;
    }
    hidden = outside(n, mask, batch.size, keys);
  } else {
    hidden = glow_onnx_emit2(n, GLOW_OP_LESS_OR_EQUAL, mask,
                             glow_onnx_make_scalar(n, "none", GLOW_KIND_I32, 0), NULL);
  }
  GlowValue *weight =
      glow_onnx_emit2(n, GLOW_OP_MUL, hidden ? glow_onnx_cast_to(n, hidden, GLOW_KIND_FLOAT) : NULL,
                      glow_onnx_make_scalar(n, "filter", GLOW_KIND_FLOAT, (double)filter), NULL);
  return with_axes(n, weight, places, t->rank == 3 ? 1 : 2);
}

/* Element `i` of operand QA_PAST [2, batch, heads, keys, size]: keys, then values. */
static GlowValue *of_past(GlowOnnxNode *n, int64_t i) {
  return glow_onnx_emit2(n, GLOW_OP_GATHER, n->ins[QA_PAST],
                         glow_onnx_make_scalar(n, "part", GLOW_KIND_I64, (double)i),
                         &(GlowGatherMembers){.axis = 0});
}

typedef struct Heads {
  GlowAttentionMembers m;
  float filter;
  bool wants_present;
} Heads;

static bool read_attention(GlowOnnxNode *n, Heads *h) {
  int64_t heads = 0, rotary = 0, shared = 0;
  *h = (Heads){.m = {.left_window_size = -1, .right_window_size = -1}, .filter = -10000};
  if (!check_operands(n, 5, 9, 0xfu << QA_MASK) || !glow_onnx_int(n, "num_heads", &heads) ||
      !glow_onnx_bool(n, "unidirectional", &h->m.is_causal) ||
      !glow_onnx_float(n, "mask_filter_value", &h->filter) ||
      !glow_onnx_float(n, "scale", &h->m.scale) || !glow_onnx_int(n, "do_rotary", &rotary) ||
      !glow_onnx_int(n, "past_present_share_buffer", &shared))
    return false;
  if (heads < 1 || heads > INT32_MAX)
    return glow_onnx_fail(n, "num_heads = %lld, expected 1 or more", (long long)heads);
  glow_onnx_check_scale(n, QA_X_SCALE, false);
  glow_onnx_check_scale(n, QA_W_SCALE, false);
  if (rotary || shared)
    return glow_onnx_unsupported(n, rotary ? "rotary embedding" : "a buffer for past and present");
  h->m.q_num_heads = h->m.kv_num_heads = (uint32_t)heads;
  h->wants_present = n->nouts > 1 && n->outs[1];
  return true;
}

/* Attention over X W + Bias [batch, queries, 3 * hidden], with past keys and values where they are
 * given. The result's second one is what this node's keys and values make of these. */
static bool finish_attention(GlowOnnxNode *n, const Heads *h, GlowValue *qkv, GlowValue *mask) {
  static const int64_t first = 0;
  GlowStr names[] = {glow_onnx_part_name(n, "q"), glow_onnx_part_name(n, "k"),
                     glow_onnx_part_name(n, "v")};
  GlowNode *parts = glow_onnx_build(
      n, GLOW_OP_SPLIT, &qkv, 1,
      (GlowNodeSpec){.members = &(GlowSplitMembers){.axis = -1}, .names = names, .nresults = 3});
  GlowValue *past[2] = {0};
  for (int i = 0; operand(n, QA_PAST) && i < 2; i++)
    if (!(past[i] = of_past(n, i)))
      return false;
  if (!parts)
    return false;
  GlowValue *ins[] = {
      &parts->results[0], &parts->results[1], &parts->results[2], mask, past[0], past[1]};
  GlowStr results[] = {n->outs[0] ? n->outs[0] : glow_onnx_part_name(n, "y"),
                       glow_onnx_part_name(n, "key"), glow_onnx_part_name(n, "value")};
  GlowNode *y = glow_onnx_build(
      n, GLOW_OP_ATTENTION, ins, 6,
      (GlowNodeSpec){.members = &h->m, .names = results, .nresults = h->wants_present ? 3 : 1});
  if (!y)
    return false;
  n->results[0] = &y->results[0];
  if (!h->wants_present)
    return true;
  GlowValue *both[] = {with_axes(n, &y->results[1], &first, 1),
                       with_axes(n, &y->results[2], &first, 1)};
  return glow_onnx_result(n, 1, GLOW_OP_CONCAT, both, 2, &(GlowConcatMembers){.axis = 0});
}

/* X, W, bias, their scales, mask?, their zero points?, past?: X is [batch, queries, inputs], W
 * [inputs, 3 * hidden], bias and scale of W [3 * hidden] or for the scale one number. */
bool glow_onnx_qattention(GlowOnnxNode *n) {
  Heads h;
  if (!read_attention(n, &h))
    return false;
  const GlowType *x = n->ins[QA_X]->type,
                 *past = operand(n, QA_PAST) ? n->ins[QA_PAST]->type : NULL;
  if (x->unranked || x->rank != 3)
    return glow_onnx_fail(n, "operand 0 is %s, expected three axes", glow_type_str(n->im->ctx, x));
  if (past && (past->unranked || past->rank != 5))
    return glow_onnx_fail(n, "operand %d is %s, expected five axes", QA_PAST,
                          glow_type_str(n->im->ctx, past));
  bool open = x->dims[1].kind != GLOW_DIM_EXACT || (past && past->dims[3].kind != GLOW_DIM_EXACT);
  int64_t keys = open ? -1 : x->dims[1].size + (past ? past->dims[3].size : 0);
  GlowValue *mask = NULL;
  if (operand(n, QA_MASK) && !(mask = added_mask(n, x->dims[0], keys, h.filter)))
    return false;
  Product p = {.alpha = 1, .a = n->ins[QA_X], .b = n->ins[QA_W]};
  p.ascale = n->ins[QA_X_SCALE];
  p.bscale = n->ins[QA_W_SCALE];
  p.azero = operand(n, QA_X_ZERO);
  p.bzero = operand(n, QA_W_ZERO);
  p.bias = n->ins[QA_BIAS];
  GlowValue *qkv = real_product(n, &p);
  return qkv && finish_attention(n, &h, qkv, mask);
}
