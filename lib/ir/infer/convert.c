/* Inference and verification of operators that convert elements: casts, quantization, layouts. */
#include "ir/infer/hooks.h"

static bool with_kind(GlowInfer *in, const GlowType *t, GlowKind kind) {
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, t, kind));
  return true;
}

bool glow_infer_cast(GlowInfer *in) {
  const GlowCastMembers *m = in->members;
  return with_kind(in, in->in[GLOW_CAST_IN_X], m->to);
}

bool glow_verify_cast(const GlowNode *n) {
  const GlowCastMembers *m = n->members;
  const GlowValue *x = glow_node_in(n, GLOW_CAST_IN_X);
  bool from_complex = glow_kind_info[x->type->kind].cls == GLOW_CLASS_COMPLEX;
  bool to_complex = glow_kind_info[m->to].cls == GLOW_CLASS_COMPLEX;
  if (from_complex != to_complex)
    return glow_verify_error(n, "%s cannot be cast to %s", glow_kind_info[x->type->kind].name,
                             glow_kind_info[m->to].name);
  return true;
}

/* The layout is a parameter of the operator, so the claim says it; without one it is plain. */
bool glow_infer_relayout(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_with_layout(in->ctx, in->in[GLOW_RELAYOUT_IN_X], NULL));
  return true;
}

bool glow_verify_quantize(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, GLOW_QUANTIZE_IN_X)->type;
  const GlowType *y = glow_node_out(n, GLOW_QUANTIZE_OUT_Y)->type;
  const GlowType *expected = glow_type_with_quant(ctx, glow_type_with_kind(ctx, x, y->kind),
                                                  y->quantized, y->scale, y->offset);
  if (glow_type_fit(y, expected) != GLOW_FIT_CONTRADICTS)
    return true;
  return glow_verify_error(n, "X has type %s, but the result %s", glow_type_str(ctx, x),
                           glow_type_str(ctx, y));
}

bool glow_infer_dequantize(GlowInfer *in) {
  const GlowDequantizeMembers *m = in->members;
  if (!glow_kind_is_float(m->to))
    return glow_infer_error(in, "to is %s, which is no floating point kind",
                            glow_kind_info[m->to].name);
  return with_kind(in, in->in[GLOW_DEQUANTIZE_IN_X], m->to);
}

/* ---- QuantizeLinear, DequantizeLinear ----------------------------------------------------------
 */

bool glow_infer_quantize_linear(GlowInfer *in) {
  const GlowQuantizeLinearMembers *m = in->members;
  const GlowType *zero = glow_infer_in(in, GLOW_QUANTIZE_LINEAR_IN_ZERO_POINT);
  if (!zero && !glow_kind_is_integer(m->kind))
    return glow_infer_error(in, "kind is %s, which is no integer kind",
                            glow_kind_info[m->kind].name);
  return with_kind(in, in->in[GLOW_QUANTIZE_LINEAR_IN_X], zero ? zero->kind : m->kind);
}

bool glow_infer_dequantize_linear(GlowInfer *in) {
  return with_kind(in, in->in[GLOW_DEQUANTIZE_LINEAR_IN_X],
                   in->in[GLOW_DEQUANTIZE_LINEAR_IN_SCALE]->kind);
}

/* Scale and ZeroPoint are one number, or a list as long as X is along the axis. */
static bool check_parameter(const GlowNode *n, const char *name, const GlowValue *v,
                            const GlowType *x, int64_t axis) {
  GlowDim same;
  GlowContext *ctx = n->block->module->ctx;
  if (!v || v->type->unranked || v->type->rank == 0)
    return true;
  if (v->type->rank > 1)
    return glow_verify_error(n, "%s must have rank 0 or 1, but has type %s", name,
                             glow_type_str(ctx, v->type));
  if (glow_dim_is_exact(v->type->dims[0], 1) || x->unranked)
    return true;
  if (axis < -(int64_t)x->rank || axis >= (int64_t)x->rank)
    return glow_verify_error(n, "axis %lld is out of range for rank %u", (long long)axis, x->rank);
  if (glow_dim_meet(v->type->dims[0], x->dims[axis < 0 ? axis + x->rank : axis], &same))
    return true;
  return glow_verify_error(n, "%s has type %s, but X %s", name, glow_type_str(ctx, v->type),
                           glow_type_str(ctx, x));
}

bool glow_verify_quantize_linear(const GlowNode *n) {
  const GlowQuantizeLinearMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_QUANTIZE_LINEAR_IN_X)->type;
  return check_parameter(n, "Scale", glow_node_in(n, GLOW_QUANTIZE_LINEAR_IN_SCALE), x, m->axis) &&
         check_parameter(n, "ZeroPoint", glow_node_in(n, GLOW_QUANTIZE_LINEAR_IN_ZERO_POINT), x,
                         m->axis);
}

bool glow_verify_dequantize_linear(const GlowNode *n) {
  const GlowDequantizeLinearMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_DEQUANTIZE_LINEAR_IN_X)->type;
  return check_parameter(n, "Scale", glow_node_in(n, GLOW_DEQUANTIZE_LINEAR_IN_SCALE), x,
                         m->axis) &&
         check_parameter(n, "ZeroPoint", glow_node_in(n, GLOW_DEQUANTIZE_LINEAR_IN_ZERO_POINT), x,
                         m->axis);
}
