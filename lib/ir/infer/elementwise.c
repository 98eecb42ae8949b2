/* Inference and verification of element-wise operators that are more than a broadcast. */
#include "ir/infer/hooks.h"

/* Broadcasts all operands, with `kind` and the quantization of `base` (NULL: none). */
static bool broadcast_as(GlowInfer *in, const GlowType *base, GlowKind kind) {
  const char *error = NULL;
  const GlowType *t = glow_infer_broadcast(in, in->in, in->nin, &error);
  if (!t)
    return glow_infer_error(in, "%s", error);
  t = glow_type_with_kind(in->ctx, t, kind);
  if (base)
    t = glow_type_with_quant(in->ctx, t, base->quantized, base->scale, base->offset);
  glow_infer_put(in, 0, t);
  return true;
}

bool glow_infer_equal(GlowInfer *in) { return broadcast_as(in, NULL, GLOW_KIND_BOOL); }
bool glow_infer_less(GlowInfer *in) { return broadcast_as(in, NULL, GLOW_KIND_BOOL); }
bool glow_infer_less_or_equal(GlowInfer *in) { return broadcast_as(in, NULL, GLOW_KIND_BOOL); }
bool glow_infer_greater(GlowInfer *in) { return broadcast_as(in, NULL, GLOW_KIND_BOOL); }
bool glow_infer_greater_or_equal(GlowInfer *in) { return broadcast_as(in, NULL, GLOW_KIND_BOOL); }

bool glow_infer_is_nan(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, in->in[GLOW_IS_NAN_IN_X], GLOW_KIND_BOOL));
  return true;
}

bool glow_infer_is_inf(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_with_kind(in->ctx, in->in[GLOW_IS_INF_IN_X], GLOW_KIND_BOOL));
  return true;
}

bool glow_infer_where(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_WHERE_IN_X];
  return broadcast_as(in, x, x->kind);
}

/* Min and Max must have one element each; their rank does not matter. */
bool glow_verify_clip(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  for (uint32_t i = GLOW_CLIP_IN_MIN; i <= GLOW_CLIP_IN_MAX; i++) {
    const GlowValue *v = glow_node_in(n, i);
    for (uint32_t k = 0; v && k < v->type->rank; k++)
      if (v->type->dims[k].kind == GLOW_DIM_EXACT && v->type->dims[k].size != 1)
        return glow_verify_error(n, "%s must have one element, but has type %s",
                                 i == GLOW_CLIP_IN_MIN ? "Min" : "Max",
                                 glow_type_str(ctx, v->type));
  }
  return true;
}

bool glow_verify_swi_glu(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *a = glow_node_in(n, 0)->type, *b = glow_node_in(n, 1)->type;
  if (glow_type_fit(a, b) != GLOW_FIT_CONTRADICTS)
    return true;
  return glow_verify_error(n, "A has type %s, but B %s; they must have one shape",
                           glow_type_str(ctx, a), glow_type_str(ctx, b));
}
