/* Inference and verification of ONNX's quantized operators: QuantizeLinear and its kin, and the
 * products of quantized tensors, whose scales and zero points are operands. */
#include "ir/infer/hooks.h"
#include "num/range.h"
#include "num/sums.h"

static bool wrong_type(const GlowNode *n, const char *name, const GlowType *t,
                       const char *expected) {
  return glow_verify_error(n, "%s has type %s, expected %s", name,
                           glow_type_str(n->block->module->ctx, t), expected);
}

/* ---- QuantizeLinear, DequantizeLinear -------------------------------------------------------- */

bool glow_infer_quantize_linear(GlowInfer *in) {
  const GlowQuantizeLinearMembers *m = in->members;
  const GlowType *zero = glow_infer_in(in, GLOW_QUANTIZE_LINEAR_IN_ZERO_POINT);
  const GlowOpPort *port = &in->desc->in[GLOW_QUANTIZE_LINEAR_IN_ZERO_POINT];
  GlowKind kind = zero ? zero->kind : m->kind;
  if (!(in->desc->vars[port->var].kinds & GLOW_KIND_BIT(kind)))
    return glow_infer_error(in, "kind is %s, which is nothing to quantize to",
                            glow_kind_info[kind].name);
  const GlowType *x = in->in[GLOW_QUANTIZE_LINEAR_IN_X];
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, x, kind));
  return true;
}

bool glow_infer_dequantize_linear(GlowInfer *in) {
  GlowKind kind = in->in[GLOW_DEQUANTIZE_LINEAR_IN_SCALE]->kind;
  const GlowType *x = in->in[GLOW_DEQUANTIZE_LINEAR_IN_X];
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, x, kind));
  return true;
}

/* Checks a parameter with a value for each block: it has X's shape, but its axis counts blocks. */
static bool check_blocks(const GlowNode *n, const char *name, const GlowType *t, const GlowType *x,
                         uint32_t axis, int64_t block) {
  GlowContext *ctx = n->block->module->ctx;
  bool fits = t->unranked || t->rank == x->rank;
  for (uint32_t i = 0; fits && !t->unranked && i < t->rank; i++) {
    GlowDim d = x->dims[i], same;
    if (i == axis)
      d = d.kind == GLOW_DIM_EXACT ? GLOW_EXACT((d.size + block - 1) / block) : GLOW_UNKNOWN;
    fits = glow_dim_meet(t->dims[i], d, &same);
  }
  return fits ||
         glow_verify_error(n, "%s has type %s, which is not that of blocks of %lld in %s", name,
                           glow_type_str(ctx, t), (long long)block, glow_type_str(ctx, x));
}

/* Checks a parameter that is one number, or a list as long as X is along the axis. */
static bool check_slices(const GlowNode *n, const char *name, const GlowType *t, const GlowType *x,
                         int64_t axis) {
  GlowContext *ctx = n->block->module->ctx;
  GlowDim same;
  if (t->unranked || t->rank == 0)
    return true;
  if (t->rank > 1)
    return glow_verify_error(n, "%s must have rank 0 or 1, but has type %s", name,
                             glow_type_str(ctx, t));
  if (glow_dim_is_exact(t->dims[0], 1) || x->unranked)
    return true;
  if (axis < -(int64_t)x->rank || axis >= (int64_t)x->rank)
    return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis, x->rank);
  if (glow_dim_meet(t->dims[0], x->dims[axis < 0 ? axis + x->rank : axis], &same))
    return true;
  return glow_verify_error(n, "%s has type %s, but X %s", name, glow_type_str(ctx, t),
                           glow_type_str(ctx, x));
}

static bool check_parameters(const GlowNode *n, int64_t axis, int64_t block) {
  const GlowType *x = glow_node_in(n, 0)->type;
  if (block < 0 || block > INT32_MAX)
    return glow_verify_error(n, "block is %lld", (long long)block);
  if (block && !x->unranked && (axis < -(int64_t)x->rank || axis >= (int64_t)x->rank))
    return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis, x->rank);
  for (uint32_t i = 1; i <= 2; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const char *name = glow_node_desc(n)->in[i].name;
    bool ok = true;
    if (v && block && !x->unranked)
      ok = check_blocks(n, name, v->type, x, (uint32_t)(axis < 0 ? axis + x->rank : axis), block);
    else if (v && !block)
      ok = check_slices(n, name, v->type, x, axis);
    if (!ok)
      return false;
  }
  return true;
}

bool glow_verify_quantize_linear(const GlowNode *n) {
  const GlowQuantizeLinearMembers *m = n->members;
  return check_parameters(n, m->axis, m->block);
}

bool glow_verify_dequantize_linear(const GlowNode *n) {
  const GlowDequantizeLinearMembers *m = n->members;
  return check_parameters(n, m->axis, m->block);
}

bool glow_infer_dynamic_quantize_linear(GlowInfer *in) {
  const GlowType *x = in->in[0];
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, x, GLOW_KIND_U8));
  glow_infer_put(in, 1, glow_type_scalar(in->ctx, x->kind));
  glow_infer_put(in, 2, glow_type_scalar(in->ctx, GLOW_KIND_U8));
  return true;
}

/* ---- ObserveRange, ObserveSums --------------------------------------------------------------- */

/* The operand `state` and result 0 have a type of i64 with these extents. */
static bool set_state(GlowInfer *in, const GlowType *state, uint32_t rank, const GlowDim *dims) {
  const GlowType *type = glow_type_tensor(in->ctx, GLOW_KIND_I64, rank, dims);
  if (state->layout || !glow_type_meet(in->ctx, state, type))
    return glow_infer_error(in, "State must have type %s, but has %s", glow_type_str(in->ctx, type),
                            glow_type_str(in->ctx, state));
  glow_infer_put(in, 0, type);
  return true;
}

bool glow_infer_observe_range(GlowInfer *in) {
  GlowDim size = GLOW_EXACT(GLOW_RANGE_SIZE);
  return set_state(in, in->in[GLOW_OBSERVE_RANGE_IN_STATE], 1, &size);
}

bool glow_infer_observe_sums(GlowInfer *in) {
  const GlowObserveSumsMembers *m = in->members;
  const GlowType *x = in->in[GLOW_OBSERVE_SUMS_IN_X];
  const GlowType *state = in->in[GLOW_OBSERVE_SUMS_IN_STATE];
  uint32_t axis;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, state, 2);
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  return set_state(in, state, 2, (GlowDim[]){x->dims[axis], GLOW_EXACT(GLOW_SUMS_SIZE)});
}

/* ---- Products -------------------------------------------------------------------------------- */

static bool product(GlowInfer *in, const GlowType *a, const GlowType *b, GlowKind kind) {
  const GlowType *base = glow_type_scalar(in->ctx, kind);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (a->unranked || b->unranked)
    return glow_infer_set_unknown(in, 0, base, -1);
  return glow_infer_product(in, a, b, dims, &rank) && glow_infer_set(in, 0, base, rank, dims);
}

bool glow_infer_mat_mul_integer(GlowInfer *in) {
  return product(in, in->in[GLOW_MAT_MUL_INTEGER_IN_A], in->in[GLOW_MAT_MUL_INTEGER_IN_B],
                 GLOW_KIND_I32);
}

/* A's shape, with the columns of W as its last axis. */
bool glow_infer_mat_mul_nbits(GlowInfer *in) {
  const GlowType *a = in->in[GLOW_MAT_MUL_NBITS_IN_A], *w = in->in[GLOW_MAT_MUL_NBITS_IN_W];
  GlowDim dims[GLOW_MAX_RANK];
  if (a->unranked || w->unranked)
    return glow_infer_set_unknown(in, 0, a, -1);
  if (a->rank == 0 || w->rank != 2)
    return glow_infer_error(in, "A has rank %u and W %u, expected at least 1 and 2", a->rank,
                            w->rank);
  for (uint32_t i = 0; i < a->rank; i++)
    dims[i] = i + 1 < a->rank ? a->dims[i] : w->dims[1];
  return glow_infer_set(in, 0, a, a->rank, dims);
}

bool glow_infer_qlinear_mat_mul(GlowInfer *in) {
  return product(in, in->in[GLOW_QLINEAR_MAT_MUL_IN_A], in->in[GLOW_QLINEAR_MAT_MUL_IN_B],
                 in->in[GLOW_QLINEAR_MAT_MUL_IN_YZERO]->kind);
}

/* Checks a scale or zero point of an operand of a product. It is one number; or a list with a
 * number for each row of A (column of B); or such a list for each matrix: the operand's shape with
 * extent 1 in place of the summed axis. */
static bool check_lines(const GlowNode *n, uint32_t parameter, uint32_t operand, bool rows) {
  const GlowValue *v = glow_node_in(n, parameter);
  const GlowType *t = v ? v->type : NULL, *x = glow_node_in(n, operand)->type;
  const char *name = glow_node_desc(n)->in[parameter].name;
  const char *expected =
      rows ? "one number, or one for each row" : "one number, or one for each column";
  GlowDim same;
  if (!t || t->unranked || t->rank == 0 || x->unranked)
    return true;
  if (t->rank == 1 && glow_dim_meet(t->dims[0], GLOW_EXACT(1), &same))
    return true;
  if (x->rank < 2 || (t->rank != 1 && t->rank != x->rank))
    return wrong_type(n, name, t, expected);
  if (t->rank == 1)
    return glow_dim_meet(t->dims[0], x->dims[rows ? x->rank - 2 : x->rank - 1], &same) ||
           wrong_type(n, name, t, expected);
  for (uint32_t i = 0; i < x->rank; i++) {
    bool summed = i == (rows ? x->rank - 1 : x->rank - 2);
    if (!glow_dim_meet(t->dims[i], summed ? GLOW_EXACT(1) : x->dims[i], &same))
      return wrong_type(n, name, t, expected);
  }
  return true;
}

static bool check_one(const GlowNode *n, uint32_t i) {
  const GlowValue *v = glow_node_in(n, i);
  GlowDim same;
  if (!v || v->type->unranked || v->type->rank == 0 ||
      (v->type->rank == 1 && glow_dim_meet(v->type->dims[0], GLOW_EXACT(1), &same)))
    return true;
  return wrong_type(n, glow_node_desc(n)->in[i].name, v->type, "one number");
}

/* Checks a scale or zero point: one number, or one for each filter of W. */
static bool check_filters(const GlowNode *n, uint32_t parameter, uint32_t w) {
  const GlowValue *v = glow_node_in(n, parameter);
  const GlowType *t = v ? v->type : NULL, *f = glow_node_in(n, w)->type;
  GlowDim same;
  if (!t || t->unranked || t->rank == 0 ||
      (t->rank == 1 && glow_dim_meet(t->dims[0], GLOW_EXACT(1), &same)))
    return true;
  if (t->rank == 1 && (f->unranked || glow_dim_meet(t->dims[0], f->dims[0], &same)))
    return true;
  return wrong_type(n, glow_node_desc(n)->in[parameter].name, t,
                    "one number, or one for each filter");
}

/* Kernels read rows of A and write rows of C; a matrix B may be packed in panels. */
bool glow_verify_mat_mul_integer(const GlowNode *n) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B)->type;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && v->type->layout && (v->type != b || b->rank != 2))
      return glow_verify_error(n, "only B may have a layout, if it is a matrix");
  }
  return check_lines(n, GLOW_MAT_MUL_INTEGER_IN_AZERO, GLOW_MAT_MUL_INTEGER_IN_A, true) &&
         check_lines(n, GLOW_MAT_MUL_INTEGER_IN_BZERO, GLOW_MAT_MUL_INTEGER_IN_B, false);
}

/* Whether t is a matrix with a row for each `group` of the depth that A has, and W's columns. */
static bool has_groups(const GlowType *t, const GlowType *a, const GlowType *w, int64_t group) {
  GlowDim depth = a->unranked ? GLOW_UNKNOWN : a->dims[a->rank - 1], same;
  GlowDim rows =
      depth.kind == GLOW_DIM_EXACT ? GLOW_EXACT((depth.size + group - 1) / group) : GLOW_UNKNOWN;
  return t->unranked || (t->rank == 2 && glow_dim_meet(t->dims[0], rows, &same) &&
                         (w->unranked || glow_dim_meet(t->dims[1], w->dims[1], &same)));
}

/* A word never has elements of two blocks. The constants may be packed in panels. */
bool glow_verify_mat_mul_nbits(const GlowNode *n) {
  const GlowMatMulNBitsMembers *m = n->members;
  const GlowType *a = glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_A)->type;
  const GlowType *w = glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_W)->type;
  if (m->bits != 2 && m->bits != 4 && m->bits != 8)
    return glow_verify_error(n, "bits is %u, expected 2, 4 or 8", m->bits);
  if (m->block < 16 || m->block > INT32_MAX || m->block % 16)
    return glow_verify_error(n, "block is %lld, expected a multiple of 16", (long long)m->block);
  if (a->layout || glow_node_out(n, 0)->type->layout)
    return glow_verify_error(n, "only the weights may have a layout");
  for (uint32_t i = GLOW_MAT_MUL_NBITS_IN_W; i <= GLOW_MAT_MUL_NBITS_IN_ZERO; i++) {
    const GlowValue *v = glow_node_in(n, i);
    int64_t group = i == GLOW_MAT_MUL_NBITS_IN_W ? 32 / m->bits : m->block;
    if (v && !has_groups(v->type, a, w, group))
      return wrong_type(n, glow_node_desc(n)->in[i].name, v->type,
                        glow_arena_printf(n->block->module->ctx->arena,
                                          "a row for each %lld of A's columns, and W's columns",
                                          (long long)group));
  }
  return true;
}

bool glow_verify_qlinear_mat_mul(const GlowNode *n) {
  return check_lines(n, GLOW_QLINEAR_MAT_MUL_IN_ASCALE, GLOW_QLINEAR_MAT_MUL_IN_A, true) &&
         check_lines(n, GLOW_QLINEAR_MAT_MUL_IN_AZERO, GLOW_QLINEAR_MAT_MUL_IN_A, true) &&
         check_lines(n, GLOW_QLINEAR_MAT_MUL_IN_BSCALE, GLOW_QLINEAR_MAT_MUL_IN_B, false) &&
         check_lines(n, GLOW_QLINEAR_MAT_MUL_IN_BZERO, GLOW_QLINEAR_MAT_MUL_IN_B, false) &&
         check_one(n, GLOW_QLINEAR_MAT_MUL_IN_YSCALE) &&
         check_one(n, GLOW_QLINEAR_MAT_MUL_IN_YZERO);
}

bool glow_verify_conv_integer(const GlowNode *n) {
  const GlowType *w = glow_node_in(n, GLOW_CONV_INTEGER_IN_W)->type;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && v->type->layout && v->type != w)
      return glow_verify_error(n, "only W may have a layout");
  }
  return check_one(n, GLOW_CONV_INTEGER_IN_XZERO) &&
         check_filters(n, GLOW_CONV_INTEGER_IN_WZERO, GLOW_CONV_INTEGER_IN_W);
}

bool glow_verify_qlinear_conv(const GlowNode *n) {
  return check_one(n, GLOW_QLINEAR_CONV_IN_XSCALE) && check_one(n, GLOW_QLINEAR_CONV_IN_XZERO) &&
         check_filters(n, GLOW_QLINEAR_CONV_IN_WSCALE, GLOW_QLINEAR_CONV_IN_W) &&
         check_filters(n, GLOW_QLINEAR_CONV_IN_WZERO, GLOW_QLINEAR_CONV_IN_W) &&
         check_one(n, GLOW_QLINEAR_CONV_IN_YSCALE) && check_one(n, GLOW_QLINEAR_CONV_IN_YZERO);
}
