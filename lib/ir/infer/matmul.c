/* Inference of matrix products: MatMul, which is NumPy's, and FullyConnected. */
#include "ir/infer/hooks.h"

const GlowType *glow_infer_computed(const GlowInfer *in, const GlowType *x) {
  const GlowType *w = in->in[1];
  if (glow_op_is_narrow(in->desc, in->in, in->nin))
    return glow_type_scalar(in->ctx, GLOW_KIND_I32);
  return glow_type_is_tensor(w) && w->kind == GLOW_KIND_FLOAT && !w->quantized &&
                 glow_port_stores(glow_op_in_port(in->desc, 0), x)
             ? glow_type_scalar(in->ctx, GLOW_KIND_FLOAT)
             : x;
}

bool glow_infer_product(const GlowInfer *in, const GlowType *a, const GlowType *b, GlowDim *dims,
                        uint32_t *rank) {
  if (a->rank == 0 || b->rank == 0)
    return glow_infer_error(in, "%s has rank 0", a->rank ? "B" : "A");
  uint32_t abatch = a->rank > 2 ? a->rank - 2 : 0, bbatch = b->rank > 2 ? b->rank - 2 : 0;
  uint32_t batch = abatch > bbatch ? abatch : bbatch;
  GlowDim depth, ka = a->dims[a->rank - 1], kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
  if (!glow_dim_meet(ka, kb, &depth))
    return glow_infer_error(in, "A has %s columns, but B %s rows", glow_dim_str(in->ctx, ka),
                            glow_dim_str(in->ctx, kb));
  for (uint32_t i = 0; i < batch; i++) {
    GlowDim da = i + abatch >= batch ? a->dims[i + abatch - batch] : GLOW_EXACT(1);
    GlowDim db = i + bbatch >= batch ? b->dims[i + bbatch - batch] : GLOW_EXACT(1);
    if (!glow_dim_broadcast(da, db, &dims[i]))
      return glow_infer_error(in, "batch extents %s and %s do not broadcast",
                              glow_dim_str(in->ctx, da), glow_dim_str(in->ctx, db));
  }
  *rank = batch;
  if (a->rank > 1)
    dims[(*rank)++] = a->dims[a->rank - 2];
  if (b->rank > 1)
    dims[(*rank)++] = b->dims[b->rank - 1];
  return true;
}

bool glow_infer_mat_mul(GlowInfer *in) {
  const GlowType *a = in->in[GLOW_MAT_MUL_IN_A], *b = in->in[GLOW_MAT_MUL_IN_B];
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  const GlowType *base = glow_infer_computed(in, a);
  if (a->unranked || b->unranked)
    return glow_infer_set_unknown(in, 0, base, -1);
  return glow_infer_product(in, a, b, dims, &rank) && glow_infer_set(in, 0, base, rank, dims);
}

static bool is_sixteen(const GlowType *t) {
  return t->kind == GLOW_KIND_FLOAT16 || t->kind == GLOW_KIND_BFLOAT16;
}

bool glow_verify_stored(const GlowNode *n, bool is_bf16, GlowEnumBf16Order order, uint32_t direct) {
  const GlowType *types[] = {glow_node_in(n, 0)->type, glow_node_in(n, 1)->type};
  const char *x = glow_op_in_port(glow_node_desc(n), 0)->name;
  const char *w = glow_op_in_port(glow_node_desc(n), 1)->name;
  const GlowType *beside = types[!direct];
  GlowContext *ctx = n->block->module->ctx;
  if (is_bf16 && (types[0]->kind != GLOW_KIND_FLOAT || types[0]->quantized))
    return glow_verify_error(n, "%s has type %s, expected float with strategy = bf16", x,
                             glow_type_str(ctx, types[0]));
  if (is_bf16 && types[1]->kind == GLOW_KIND_FLOAT16)
    return glow_verify_error(n, "%s has type %s, expected float or bfloat16 with strategy = bf16",
                             w, glow_type_str(ctx, types[1]));
  if (!is_bf16 && order != GLOW_BF16_ORDER_TILE)
    return glow_verify_error(n, "order is pair, but only strategy = bf16 has an order");
  if (is_bf16 || types[0]->kind == types[1]->kind ||
      !(is_sixteen(types[0]) || is_sixteen(types[1])))
    return true;
  if (glow_node_is_instr(n) && beside->kind == GLOW_KIND_FLOAT && !beside->quantized)
    return true;
  return glow_verify_error(n,
                           "%s has type %s, but %s has %s: their element kinds differ with "
                           "strategy = bf16 alone, or if an instruction on float reads %s",
                           w, glow_type_str(ctx, types[1]), x, glow_type_str(ctx, types[0]),
                           direct ? w : x);
}

/* Kernels read rows of A and write rows of C; a matrix B may be packed in panels, if it is one of
 * floats or of narrow integers. */
bool glow_verify_mat_mul(const GlowNode *n) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_IN_B)->type;
  const GlowMatMulMembers *m = n->members;
  if (!glow_verify_stored(n, m->strategy == GLOW_PRODUCT_STRATEGY_BF16, m->order,
                          GLOW_MAT_MUL_IN_B))
    return false;
  if (glow_node_in(n, GLOW_MAT_MUL_IN_A)->type->layout || glow_node_out(n, 0)->type->layout)
    return glow_verify_error(n, "works on plain A and C; only B may have a layout");
  bool packs = glow_kind_is_float(b->kind) || glow_node_is_narrow(n);
  if (b->layout && (b->rank != 2 || !packs))
    return glow_verify_error(n,
                             "B has type %s; only a matrix of floating point or of narrow integers "
                             "may have a layout",
                             glow_type_str(n->block->module->ctx, b));
  return true;
}

bool glow_infer_fully_connected(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_FULLY_CONNECTED_IN_X], *w = in->in[GLOW_FULLY_CONNECTED_IN_W];
  const GlowType *b = glow_infer_in(in, GLOW_FULLY_CONNECTED_IN_B);
  const GlowType *base = glow_infer_computed(in, x);
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank;
  if (x->unranked || w->unranked)
    return glow_infer_set_unknown(in, 0, base, -1);
  if (!glow_infer_product(in, x, w, dims, &rank))
    return false;
  for (uint32_t i = 0; b && !b->unranked && i < b->rank; i++) {
    GlowDim d = b->dims[i], sum;
    if (b->rank > rank)
      return glow_infer_error(in, "B has rank %u, the product %u", b->rank, rank);
    GlowDim p = dims[i + rank - b->rank];
    if (!glow_dim_broadcast(p, d, &sum) || (glow_dim_is_exact(p, 1) && !glow_dim_is_exact(d, 1)))
      return glow_infer_error(in, "B has type %s, the product has extent %s there",
                              glow_type_str(in->ctx, b), glow_dim_str(in->ctx, p));
    dims[i + rank - b->rank] = sum;
  }
  return glow_infer_set(in, 0, base, rank, dims);
}

bool glow_infer_det(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_DET_IN_X];
  GlowDim same;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (x->rank < 2 || !glow_dim_meet(x->dims[x->rank - 2], x->dims[x->rank - 1], &same))
    return glow_infer_error(in, "X must end in square matrices, but has type %s",
                            glow_type_str(in->ctx, x));
  return glow_infer_set(in, 0, x, x->rank - 2, x->dims);
}
