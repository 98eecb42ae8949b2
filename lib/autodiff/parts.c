/* See parts.h. */
#include "autodiff/parts.h"

GlowValue *glow_grad_shaped(const GlowGrad *g, GlowValue *v, const GlowType *t) {
  return v && !t->unranked ? glow_build_reshape(g->b, g->n, v, t->rank, t->dims) : NULL;
}

GlowValue *glow_grad_summed(const GlowGrad *g, GlowValue *v, const int64_t *axes, uint32_t count) {
  if (!v || count == 0)
    return v;
  GlowValue *list = glow_constant_ints(g->b->module, g->n, "axes", axes, count);
  return glow_then(g->b, GLOW_OP_REDUCE_SUM, (GlowValue *[]){v, list}, 2,
                   &(GlowReduceSumMembers){.keep = false});
}

GlowValue *glow_grad_repeated(const GlowGrad *g, GlowValue *v, uint32_t first,
                              const int64_t *extents, uint32_t count) {
  int64_t axes[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < count; i++)
    axes[i] = first + i;
  GlowResizeMembers m = {.mode = GLOW_RESIZE_MODE_NEAREST,
                         .coordinate_transformation_mode = GLOW_COORDINATES_ASYMMETRIC,
                         .nearest_mode = GLOW_NEAREST_MODE_FLOOR,
                         .axes = glow_array_i64(g->b->module, axes, count),
                         .cubic_coeff_a = -0.75f};
  GlowValue *ins[] = {v, NULL, NULL, glow_constant_ints(g->b->module, g->n, "map", extents, count)};
  GlowNode *n = v ? glow_build(g->b, GLOW_OP_RESIZE, ins, 4, &m, NULL) : NULL;
  return n ? &n->results[0] : NULL;
}

GlowValue *glow_grad_flat(const GlowGrad *g, GlowValue *v) {
  static const int64_t all = -1;
  return glow_then2(g->b, GLOW_OP_RESHAPE, v,
                    glow_constant_ints(g->b->module, g->n, "flat", &all, 1));
}

GlowValue *glow_grad_added(const GlowGrad *g, GlowOp op, const void *members, GlowValue *x,
                           GlowValue *indices, GlowValue *updates) {
  GlowKind kind = x ? x->type->kind : GLOW_KIND_FLOAT, wide = glow_sum_kind(kind);
  GlowValue *ins[] = {glow_then_cast(g->b, x, wide), indices, glow_then_cast(g->b, updates, wide)};
  return glow_then_cast(g->b, glow_then(g->b, op, ins, 3, members), kind);
}

/* The same for slices. */
static GlowValue *slices_added(const GlowGrad *g, GlowValue *x, GlowValue *indices,
                               GlowValue *updates) {
  GlowScatterNDMembers m = {.reduction = GLOW_SCATTER_REDUCTION_ADD};
  return glow_grad_added(g, GLOW_OP_SCATTER_ND, &m, x, indices, updates);
}

/* v with one more axis of extent 1 behind. */
static GlowValue *with_column(const GlowGrad *g, GlowValue *v) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = v ? v->type->rank : 0;
  if (!v || v->type->unranked || rank == GLOW_MAX_RANK)
    return NULL;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = v->type->dims[i];
  dims[rank] = GLOW_EXACT(1);
  return glow_build_reshape(g->b, g->n, v, rank + 1, dims);
}

/* Moves `count` axes from `axis` on to the front, or with `back` those in front to there. */
static GlowValue *to_front(const GlowGrad *g, GlowValue *v, uint32_t axis, uint32_t count,
                           bool back) {
  uint32_t perm[GLOW_MAX_RANK];
  if (!v || axis == 0)
    return v;
  for (uint32_t i = 0; i < v->type->rank; i++) {
    uint32_t from = i < count ? axis + i : i < count + axis ? i - count : i;
    perm[back ? from : i] = back ? i : from;
  }
  return glow_build_permuted(g->b, v, perm, v->type->rank);
}

GlowValue *glow_grad_scattered(const GlowGrad *g, GlowValue *x, GlowValue *dy, GlowValue *indices,
                               uint32_t axis) {
  if (!dy || !indices || indices->type->unranked || dy->type->unranked)
    return NULL;
  GlowValue *zeros = to_front(g, glow_grad_filled(g->b, x, 0), axis, 1, false);
  dy = to_front(g, dy, axis, indices->type->rank, false);
  return to_front(g, slices_added(g, zeros, with_column(g, indices), dy), axis, 1, true);
}

GlowValue *glow_grad_numbers(const GlowGrad *g, const GlowType *t) {
  int64_t count = glow_type_elements(t);
  GlowModule *m = g->b->module;
  GlowValue *list =
      glow_then3(g->b, GLOW_OP_RANGE, glow_constant_int(m, g->n, "first", 0),
                 glow_constant_int(m, g->n, "count", count), glow_constant_int(m, g->n, "step", 1));
  return glow_grad_shaped(g, list, t);
}

GlowValue *glow_grad_moved_back(const GlowGrad *g) {
  GlowValue *ins[8], *x = glow_grad_in(g, 0);
  uint32_t count = glow_node_nins(g->n);
  if (!glow_type_is_static(x->type) || count > 8)
    return NULL;
  for (uint32_t i = 1; i < count; i++)
    ins[i] = glow_grad_in(g, i);
  ins[0] = glow_grad_numbers(g, x->type);
  GlowNode *moved = ins[0] ? glow_build(g->b, g->n->op, ins, count, g->n->members, NULL) : NULL;
  if (!moved)
    return NULL;
  GlowValue *at = with_column(g, glow_grad_flat(g, &moved->results[0]));
  GlowValue *zeros = glow_grad_flat(g, glow_grad_zeros(g, 0));
  return glow_grad_shaped(g, slices_added(g, zeros, at, glow_grad_flat(g, g->dy[0])), x->type);
}

/* Whether operand i is the first with its value that is wanted. */
static bool is_first(const GlowGrad *g, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (g->wanted[k] && glow_grad_in(g, k) == glow_grad_in(g, i))
      return false;
  return true;
}

/* Operands that are one value have one derivative, the sum: the first gets it. */
bool glow_grad_through(GlowGrad *g, GlowValue *const *results) {
  enum { MOST = 8 };
  GlowValue *ys[MOST], *seeds[MOST], *xs[MOST], *parts[MOST];
  uint32_t at[MOST];
  GlowDerivatives d = {.ys = ys, .seeds = seeds, .xs = xs, .results = parts};
  for (uint32_t i = 0; i < g->n->nresults && d.nys < MOST; i++)
    if (g->dy[i]) {
      ys[d.nys] = glow_then_cast(g->b, results[i], g->dy[i]->type->kind);
      seeds[d.nys++] = g->dy[i];
      if (!results[i])
        return false;
    }
  for (uint32_t i = 0; i < glow_node_nins(g->n) && d.nxs < MOST; i++)
    if (g->wanted[i] && is_first(g, i)) {
      at[d.nxs] = i;
      xs[d.nxs++] = glow_grad_in(g, i);
    }
  if (!glow_differentiate(g->b, &d))
    return false;
  for (uint32_t i = 0; i < d.nxs; i++)
    g->dx[at[i]] = parts[i];
  return true;
}
