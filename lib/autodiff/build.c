/* What gradient rules build more than once. */
#include "autodiff/autodiff.h"
#include "lower/lower.h"

static bool is_one(GlowDim d) { return d.kind == GLOW_DIM_EXACT && d.size == 1; }

GlowValue *glow_grad_sum_to(const GlowGrad *g, GlowValue *v, uint32_t rank, const GlowDim *dims) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  if (!v || v->type->unranked || v->type->rank < rank)
    return NULL;
  uint32_t more = v->type->rank - rank;
  for (uint32_t i = 0; i < v->type->rank; i++) {
    bool kept = i >= more && glow_dim_is_same(v->type->dims[i], dims[i - more]);
    if (!kept && i >= more && !is_one(dims[i - more]))
      return NULL;
    if (!kept)
      axes[count++] = i;
  }
  if (count)
    v = glow_build_reduce(g->b, GLOW_OP_REDUCE_SUM, v,
                          glow_constant_ints(g->b->module, g->n, "repeated", axes, count));
  return v && more ? glow_build_reshape(g->b, g->n, v, rank, dims) : v;
}

GlowValue *glow_grad_where(GlowBuilder *b, const GlowNode *n, GlowValue *v) {
  GlowValue *mask = n->pred.value;
  if (!mask || !v)
    return v;
  if (mask->type->rank == 1 && v->type->rank > 1) {
    GlowDim dims[GLOW_MAX_RANK] = {mask->type->dims[0]};
    for (uint32_t i = 1; i < v->type->rank; i++)
      dims[i] = GLOW_EXACT(1);
    mask = glow_build_reshape(b, n, mask, v->type->rank, dims);
  }
  return glow_then3(b, GLOW_OP_WHERE, mask, v, glow_build_scalar(b, v->type->kind, 0));
}

/* The sum of all elements of v as the one element of a tensor of type t. */
static GlowValue *total_as(const GlowGrad *g, GlowValue *v, const GlowType *t) {
  GlowReduceSumMembers all = {.keep = false, .noop = false};
  v = v->type->rank ? glow_then1(g->b, GLOW_OP_REDUCE_SUM, v, &all) : v;
  return v && t->rank ? glow_build_reshape(g->b, g->n, v, t->rank, t->dims) : v;
}

bool glow_grad_set(GlowGrad *g, uint32_t i, GlowValue *v) {
  const GlowType *t = glow_node_in(g->n, i)->type;
  const GlowValue *mask = g->n->pred.value;
  bool rows = mask && mask->type->rank && GLOW_HAS(glow_node_desc(g->n), ELEMENTWISE);
  if (rows && v && v->type->rank && v->type->rank >= t->rank && v->type != t)
    v = glow_grad_where(g->b, g->n, v);
  if (!v || t->unranked)
    g->dx[i] = NULL;
  else if (v->type->rank < t->rank && glow_type_is_static(t) && glow_type_elements(t) == 1)
    g->dx[i] = total_as(g, v, t);
  else
    g->dx[i] = glow_grad_sum_to(g, v, t->rank, t->dims);
  g->dx[i] = glow_then_cast(g->b, g->dx[i], t->kind);
  return g->dx[i] != NULL;
}
