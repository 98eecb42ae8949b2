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

/* The claim says whether the result is quantized, and how. */
bool glow_infer_bit_cast(GlowInfer *in) {
  const GlowBitCastMembers *m = in->members;
  const GlowType *claim = in->claims ? in->claims[0] : NULL;
  const GlowType *y = glow_type_with_kind(in->ctx, in->in[GLOW_BIT_CAST_IN_X], m->to);
  if (claim && glow_type_is_tensor(claim) && claim->quantized && claim->kind == m->to)
    y = glow_type_with_quant(in->ctx, y, true, claim->scale, claim->offset);
  glow_infer_put(in, 0, y);
  return true;
}

bool glow_verify_bit_cast(const GlowNode *n) {
  const GlowBitCastMembers *m = n->members;
  const GlowKindInfo *from = &glow_kind_info[glow_node_in(n, GLOW_BIT_CAST_IN_X)->type->kind];
  const GlowKindInfo *to = &glow_kind_info[m->to];
  if (from->bits == to->bits && to->cls != GLOW_CLASS_STRING)
    return true;
  return glow_verify_error(n, "the bits of %s are no %s", from->name, to->name);
}

/* The elements of a table in the places of X. */
bool glow_infer_lookup_table(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_LOOKUP_TABLE_IN_X], *table = in->in[GLOW_LOOKUP_TABLE_IN_TABLE];
  if (glow_kind_info[x->kind].bits != 8)
    return glow_infer_error(in, "X has elements of %s, which are no bytes",
                            glow_kind_info[x->kind].name);
  GlowDim all = GLOW_EXACT(256);
  if (glow_kind_info[table->kind].bits != 8 || table->layout ||
      (!table->unranked && (table->rank != 1 || !glow_dim_meet(table->dims[0], all, &all))))
    return glow_infer_error(in, "Table has type %s, but it must be a list of 256 bytes",
                            glow_type_str(in->ctx, table));
  const GlowType *y = glow_type_with_kind(in->ctx, x, table->kind);
  glow_infer_put(in, 0,
                 glow_type_with_quant(in->ctx, y, table->quantized, table->scale, table->offset));
  return true;
}

/* The claim gives the layout of the result; without a claim the layout is plain. */
bool glow_infer_relayout(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_with_layout(in->ctx, in->in[GLOW_RELAYOUT_IN_X], NULL));
  return true;
}

/* The result has X's shape; its kind, scale and offset are its own. */
static bool check_quantized(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *x = glow_node_in(n, 0)->type, *y = glow_node_out(n, 0)->type;
  const GlowType *expected = glow_type_with_quant(ctx, glow_type_with_kind(ctx, x, y->kind),
                                                  y->quantized, y->scale, y->offset);
  if (glow_type_fit(y, expected) != GLOW_FIT_CONTRADICTS)
    return true;
  return glow_verify_error(n, "X has type %s, but the result %s", glow_type_str(ctx, x),
                           glow_type_str(ctx, y));
}

bool glow_verify_quantize(const GlowNode *n) { return check_quantized(n); }
bool glow_verify_rescale(const GlowNode *n) { return check_quantized(n); }

bool glow_infer_dequantize(GlowInfer *in) {
  const GlowDequantizeMembers *m = in->members;
  if (!glow_kind_is_float(m->to))
    return glow_infer_error(in, "to is %s, which is no floating point kind",
                            glow_kind_info[m->to].name);
  return with_kind(in, in->in[GLOW_DEQUANTIZE_IN_X], m->to);
}
