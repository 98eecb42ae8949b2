/* The gradient rule of MatMul: dA = dC B', dB = A' dC, where ' swaps the last two axes and what was
 * repeated over the batch is summed. A vector is a matrix of one row (A) or one column (B).
 *
 * With a batch of A alone, B gets one product over all rows of the batch, without a sum of products
 * behind it. */
#include "autodiff/autodiff.h"
#include "ir/infer.h"
#include "lower/lower.h"

/* The dims of an operand as a matrix: those of its type, or with an axis of extent 1 for a vector.
 * False if the rank is not known. */
static bool matrix_dims(const GlowType *t, bool row, GlowDim *dims, uint32_t *rank) {
  if (t->unranked || t->rank == 0)
    return false;
  *rank = t->rank > 1 ? t->rank : 2;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i];
  if (t->rank == 1) {
    dims[1] = row ? dims[0] : GLOW_EXACT(1);
    dims[0] = row ? GLOW_EXACT(1) : dims[0];
  }
  return true;
}

static GlowValue *shaped(const GlowGrad *g, GlowValue *v, uint32_t rank, const GlowDim *dims) {
  if (!v)
    return NULL;
  return v->type->rank == rank ? v : glow_build_reshape(g->b, g->n, v, rank, dims);
}

/* The last two axes swapped. */
static GlowValue *swapped(const GlowGrad *g, GlowValue *v) {
  uint32_t perm[GLOW_MAX_RANK];
  if (!v)
    return NULL;
  uint32_t rank = v->type->rank;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  GlowTransposeMembers m = {.perm = glow_array_u32(g->b->module, perm, rank)};
  return glow_then1(g->b, GLOW_OP_TRANSPOSE, v, &m);
}

/* The product of both, as a derivative of operand i. */
static bool set(GlowGrad *g, uint32_t i, GlowValue *x, GlowValue *y, uint32_t rank,
                const GlowDim *dims) {
  const GlowType *t = glow_node_in(g->n, i)->type;
  GlowValue *v = glow_grad_sum_to(g, glow_then2(g->b, GLOW_OP_MAT_MUL, x, y), rank, dims);
  g->dx[i] = shaped(g, v, t->rank, t->dims);
  return g->dx[i] != NULL;
}

/* v, of at least two axes, as a matrix of all its rows. */
static GlowValue *all_rows(const GlowGrad *g, GlowValue *v) {
  if (!v || v->type->rank == 2)
    return v;
  uint32_t rank = v->type->rank;
  GlowDim dims[2] = {GLOW_EXACT(1), v->type->dims[rank - 1]};
  for (uint32_t i = 0; i + 1 < rank; i++) {
    GlowDim d = v->type->dims[i];
    bool exact = d.kind == GLOW_DIM_EXACT && dims[0].kind == GLOW_DIM_EXACT;
    dims[0] = exact ? GLOW_EXACT(dims[0].size * d.size) : GLOW_UNKNOWN;
  }
  return glow_build_reshape(g->b, g->n, v, 2, dims);
}

bool glow_grad_mat_mul(GlowGrad *g) {
  GlowValue *a = glow_node_in(g->n, GLOW_MAT_MUL_IN_A), *b = glow_node_in(g->n, GLOW_MAT_MUL_IN_B);
  if (!glow_product_is_direct(g->n)) {
    glow_error(g->b->module->ctx, glow_node_loc(g->n),
               "MatMul with strategy = bf16 has no derivative; differentiate before -use-bf16");
    return false;
  }
  const GlowType *t = glow_node_out(g->n, 0)->type;
  GlowDim adims[GLOW_MAX_RANK], bdims[GLOW_MAX_RANK], cdims[GLOW_MAX_RANK + 2];
  uint32_t arank, brank;
  if (t->unranked || !matrix_dims(a->type, true, adims, &arank) ||
      !matrix_dims(b->type, false, bdims, &brank))
    return false;
  uint32_t crank = t->rank - (a->type->rank > 1) - (b->type->rank > 1);
  for (uint32_t i = 0; i < crank; i++)
    cdims[i] = t->dims[i];
  cdims[crank++] = adims[arank - 2];
  cdims[crank++] = bdims[brank - 1];
  GlowValue *dc = crank > GLOW_MAX_RANK ? NULL : shaped(g, g->dy[0], crank, cdims);
  if (!dc)
    return false;
  if (g->wanted[0] && !set(g, 0, dc, swapped(g, shaped(g, b, brank, bdims)), arank, adims))
    return false;
  if (!g->wanted[1])
    return true;
  a = shaped(g, a, arank, adims);
  if (brank == 2) {
    a = all_rows(g, a);
    dc = all_rows(g, dc);
  }
  return set(g, 1, swapped(g, a), dc, brank, bdims);
}
