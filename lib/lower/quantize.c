/* Products of quantized tensors are products of i32 (float for 8-bit floats) after zero points have
 * been subtracted. So the zeros of padding mean the zero point of X:
 *
 *   MatMulInteger  = MatMul(i32(A) - AZero', i32(B) - BZero), for -lower=all
 *   ConvInteger    = Convolution(i32(X) - XZero, i32(W) - WZero'), the same
 *   QLinearMatMul  = Cast(Round(float(product) * (AScale' * BScale) / YScale) + float(YZero)),
 *                    the product a MatMulInteger, or of floats with QuantizeLinear behind it
 *   QLinearConv    = the same of ConvInteger + B, in the order NHWC between Transposes
 *
 * where ' stands along rows or filters: a list gets further axes of extent 1. */
#include "lower/lower.h"
#include "ops/lower.h"

/* v, a scale or zero point, with a shape that broadcasts over an operand or product: a list of one
 * element gets rank 0, a longer list gets `behind` axes of extent 1 behind its own. */
static GlowValue *aligned(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t behind) {
  if (!v || v->type->unranked || v->type->rank != 1)
    return v;
  GlowDim dims[GLOW_MAX_RANK] = {v->type->dims[0]};
  bool one = dims[0].kind == GLOW_DIM_EXACT && dims[0].size == 1;
  if (!one && behind == 0)
    return v;
  for (uint32_t i = 1; i <= behind; i++)
    dims[i] = GLOW_EXACT(1);
  return glow_build_reshape(b, n, v, one ? 0 : 1 + behind, dims);
}

/* x - zero in `kind`; zero is x's zero point, and may be NULL. For `behind` see aligned. */
static GlowValue *centered(GlowBuilder *b, const GlowNode *n, GlowKind kind, GlowValue *x,
                           GlowValue *zero, uint32_t behind) {
  GlowValue *wide = glow_then_cast(b, x, kind);
  if (!zero)
    return wide;
  GlowValue *offset = glow_then_cast(b, aligned(b, n, zero, behind), kind);
  return glow_then2(b, GLOW_OP_SUB, wide, offset);
}

/* Axes of extent 1 that a list for each filter needs to stand along axis 1; -1 if it is open. */
static int filter_axes(const GlowValue *w) {
  return w->type->unranked || w->type->rank < 2 ? -1 : (int)w->type->rank - 2;
}

/* ---- Products -------------------------------------------------------------------------------- */

static GlowValue *product(GlowBuilder *b, const GlowNode *n, GlowKind kind, GlowValue *x,
                          GlowValue *y, GlowValue *xzero, GlowValue *yzero) {
  GlowValue *rows = centered(b, n, kind, x, xzero, 1);
  GlowValue *columns = centered(b, n, kind, y, yzero, 0);
  return glow_then2(b, GLOW_OP_MAT_MUL, rows, columns);
}

static GlowValue *integer_product(GlowBuilder *b, GlowValue *x, GlowValue *y,
                                  GlowValue *const *zeros) {
  GlowValue *ins[] = {x, y, zeros[0], zeros[1]};
  GlowNode *n = glow_build(b, GLOW_OP_MAT_MUL_INTEGER, ins, 4, NULL, NULL);
  return n ? &n->results[0] : NULL;
}

bool glow_lower_mat_mul_integer(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  if (glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B)->type->layout)
    return false; /* packed for a kernel */
  results[0] = product(b, n, GLOW_KIND_I32, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_A),
                       glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B),
                       glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_AZERO),
                       glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_BZERO));
  return results[0] != NULL;
}

/* Filters are axis 0 of W, so its zero points get an axis of extent 1 for each other axis. */
bool glow_lower_conv_integer(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowConvIntegerMembers *m = n->members;
  GlowConvolutionMembers conv = {.layout = m->layout,
                                 .group = m->group,
                                 .strides = m->strides,
                                 .pads = m->pads,
                                 .dilations = m->dilations,
                                 .strategy = GLOW_CONV_STRATEGY_DIRECT};
  GlowValue *w = glow_node_in(n, GLOW_CONV_INTEGER_IN_W), *ins[2];
  int axes = filter_axes(w);
  if (axes < 0 || w->type->layout)
    return false;
  ins[0] = centered(b, n, GLOW_KIND_I32, glow_node_in(n, GLOW_CONV_INTEGER_IN_X),
                    glow_node_in(n, GLOW_CONV_INTEGER_IN_XZERO), 0);
  ins[1] = centered(b, n, GLOW_KIND_I32, w, glow_node_in(n, GLOW_CONV_INTEGER_IN_WZERO),
                    (uint32_t)axes + 1);
  GlowNode *y = ins[0] && ins[1] ? glow_build(b, GLOW_OP_CONVOLUTION, ins, 2, &conv, NULL) : NULL;
  results[0] = y ? &y->results[0] : NULL;
  return y != NULL;
}

/* ---- Products that are quantized again ------------------------------------------------------- */

/* clamp(round(v / yscale) + yzero): Cast saturates. Element-wise, so that one loop does all. */
static GlowValue *rounded(GlowBuilder *b, GlowValue *v, GlowValue *yscale, GlowValue *yzero) {
  GlowValue *q = glow_then1(b, GLOW_OP_ROUND, glow_then2(b, GLOW_OP_DIV, v, yscale), NULL);
  q = glow_then2(b, GLOW_OP_ADD, q, glow_then_cast(b, yzero, GLOW_KIND_FLOAT));
  return glow_then_cast(b, q, yzero->type->kind);
}

static GlowValue *requantized(GlowBuilder *b, const GlowNode *n, GlowValue *sum, GlowValue *scale,
                              GlowValue *yscale, GlowValue *yzero) {
  GlowQuantizeLinearMembers m =
      *(const GlowQuantizeLinearMembers *)glow_op_desc[GLOW_OP_QUANTIZE_LINEAR].member_defaults;
  GlowValue *ins[3];
  ins[0] = glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, sum, GLOW_KIND_FLOAT), scale);
  ins[1] = glow_then_cast(b, aligned(b, n, yscale, 0), GLOW_KIND_FLOAT);
  ins[2] = aligned(b, n, yzero, 0);
  if (!ins[0] || !ins[1] || !ins[2])
    return NULL;
  if (glow_kind_is_integer(yzero->type->kind))
    return rounded(b, ins[0], ins[1], ins[2]);
  m.kind = yzero->type->kind;
  GlowNode *q = glow_build(b, GLOW_OP_QUANTIZE_LINEAR, ins, 3, &m, NULL);
  return q ? &q->results[0] : NULL;
}

/* The product of both operands' scales. For behind_x and behind_y see aligned. */
static GlowValue *both_scales(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t behind_x,
                              GlowValue *y, uint32_t behind_y) {
  GlowValue *first = glow_then_cast(b, aligned(b, n, x, behind_x), GLOW_KIND_FLOAT);
  GlowValue *second = glow_then_cast(b, aligned(b, n, y, behind_y), GLOW_KIND_FLOAT);
  return glow_then2(b, GLOW_OP_MUL, first, second);
}

bool glow_lower_qlinear_mat_mul(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *x = glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_A);
  GlowValue *y = glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_B);
  bool integers = glow_kind_is_integer(x->type->kind) && glow_kind_is_integer(y->type->kind);
  GlowValue *zeros[] = {glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_AZERO),
                        glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_BZERO)};
  GlowValue *sum = integers ? integer_product(b, x, y, zeros)
                            : product(b, n, GLOW_KIND_FLOAT, x, y, zeros[0], zeros[1]);
  bool vector = !y->type->unranked && y->type->rank == 1; /* the product's rows are its last axis */
  GlowValue *scale = sum ? both_scales(b, n, glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_ASCALE),
                                       !vector, glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_BSCALE), 0)
                         : NULL;
  results[0] = scale
                   ? requantized(b, n, sum, scale, glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_YSCALE),
                                 glow_node_in(n, GLOW_QLINEAR_MAT_MUL_IN_YZERO))
                   : NULL;
  return results[0] != NULL;
}

/* x with its axis 1 as the last one, or the other way around. */
static GlowValue *channels_last(GlowBuilder *b, GlowValue *x, uint32_t rank) {
  uint32_t perm[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 1; i < rank; i++)
    perm[i] = i + 1 < rank ? i + 1 : 1;
  return x ? glow_build_permuted(b, x, perm, rank) : NULL;
}
static GlowValue *channels_first(GlowBuilder *b, GlowValue *x, uint32_t rank) {
  uint32_t perm[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 1; i < rank; i++)
    perm[i] = i > 1 ? i - 1 : rank - 1;
  return x ? glow_build_permuted(b, x, perm, rank) : NULL;
}

/* In the order NHWC, which is that of sums over channels; Transposes between two of these meet. */
bool glow_lower_qlinear_conv(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowQLinearConvMembers *m = n->members;
  GlowConvIntegerMembers conv = {.layout = GLOW_LAYOUT_NHWC,
                                 .group = m->group,
                                 .strides = m->strides,
                                 .pads = m->pads,
                                 .dilations = m->dilations};
  GlowValue *w = glow_node_in(n, GLOW_QLINEAR_CONV_IN_W);
  GlowValue *bias = glow_node_in(n, GLOW_QLINEAR_CONV_IN_B), *ins[4];
  int axes = filter_axes(w);
  if (axes < 0)
    return false;
  uint32_t rank = (uint32_t)axes + 2;
  ins[0] = channels_last(b, glow_node_in(n, GLOW_QLINEAR_CONV_IN_X), rank);
  ins[1] = channels_last(b, w, rank);
  ins[2] = glow_node_in(n, GLOW_QLINEAR_CONV_IN_XZERO);
  ins[3] = glow_node_in(n, GLOW_QLINEAR_CONV_IN_WZERO);
  GlowNode *y = ins[0] && ins[1] ? glow_build(b, GLOW_OP_CONV_INTEGER, ins, 4, &conv, NULL) : NULL;
  GlowValue *sum = y ? &y->results[0] : NULL;
  if (bias && sum)
    sum = glow_then2(b, GLOW_OP_ADD, sum, bias);
  GlowValue *scale = sum ? both_scales(b, n, glow_node_in(n, GLOW_QLINEAR_CONV_IN_XSCALE), 0,
                                       glow_node_in(n, GLOW_QLINEAR_CONV_IN_WSCALE), 0)
                         : NULL;
  GlowValue *q = scale ? requantized(b, n, sum, scale, glow_node_in(n, GLOW_QLINEAR_CONV_IN_YSCALE),
                                     glow_node_in(n, GLOW_QLINEAR_CONV_IN_YZERO))
                       : NULL;
  results[0] = channels_first(b, q, rank);
  return results[0] != NULL;
}

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

static GlowValue *reduced(GlowBuilder *b, GlowOp op, GlowValue *x) {
  /* All reductions have the same members. */
  GlowReduceMaxMembers all = {.keep = false, .noop = false};
  return glow_build1(b, op, x, &all, NULL);
}

/* The range of X, widened to include 0, becomes 0 to 255, as in the function of ONNX's definition:
 *   scale = (max - min) / 255, zero = u8(round(clip(0 - min / scale, 0, 255))) */
bool glow_lower_dynamic_quantize_linear(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *x = glow_node_in(n, 0);
  GlowValue *none = glow_build_scalar(b, GLOW_KIND_FLOAT, 0);
  GlowValue *top = glow_build_scalar(b, GLOW_KIND_FLOAT, 255);
  if (!none || !top)
    return false;
  GlowValue *min = glow_then2(b, GLOW_OP_MIN, reduced(b, GLOW_OP_REDUCE_MIN, x), none);
  GlowValue *max = glow_then2(b, GLOW_OP_MAX, reduced(b, GLOW_OP_REDUCE_MAX, x), none);
  GlowValue *scale = glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_SUB, max, min), top);
  GlowValue *zero = glow_then2(b, GLOW_OP_SUB, none, glow_then2(b, GLOW_OP_DIV, min, scale));
  GlowNode *clip =
      zero ? glow_build(b, GLOW_OP_CLIP, (GlowValue *[]){zero, none, top}, 3, NULL, NULL) : NULL;
  GlowValue *rounded = clip ? glow_build1(b, GLOW_OP_ROUND, &clip->results[0], NULL, NULL) : NULL;
  zero = rounded ? glow_then_cast(b, rounded, GLOW_KIND_U8) : NULL;
  GlowNode *y = zero ? glow_build(b, GLOW_OP_QUANTIZE_LINEAR, (GlowValue *[]){x, scale, zero}, 3,
                                  glow_op_desc[GLOW_OP_QUANTIZE_LINEAR].member_defaults, NULL)
                     : NULL;
  results[0] = y ? &y->results[0] : NULL;
  results[1] = scale;
  results[2] = zero;
  return y != NULL;
}

/* A Gather of whole numbers. */
bool glow_lower_lookup_table(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *x = glow_node_in(n, GLOW_LOOKUP_TABLE_IN_X);
  if (x->type->layout)
    return false;
  GlowValue *byte = glow_then1(b, GLOW_OP_BIT_CAST, x, &(GlowBitCastMembers){.to = GLOW_KIND_U8});
  GlowValue *index = glow_then1(b, GLOW_OP_CAST, byte, &(GlowCastMembers){.to = GLOW_KIND_I32});
  results[0] = glow_then2(b, GLOW_OP_GATHER, glow_node_in(n, GLOW_LOOKUP_TABLE_IN_TABLE), index);
  return results[0] != NULL;
}
