/* The gradient rule of CumProd. Element j of Y is a product of elements of X, and its derivative by
 * element i, if that is a factor, the product without it. So X is repeated, for each i with 1 in
 * place of X[i], and CumProd gives all of these products; nothing is divided by X, which may be 0.
 * X [before, n, rest] becomes [before, i, n, rest]; Trilu picks the j that have i as a factor. */
#include "autodiff/parts.h"

/* bool<n x n x 1>: the diagonal. */
static GlowValue *diagonal(const GlowGrad *g, int64_t n) {
  GlowValue *count = glow_build_count(g->b, g->n, n, 1);
  GlowValue *i = glow_build_shaped(g->b, g->n, count, 3, (int64_t[]){n, 1, 1});
  GlowValue *j = glow_build_shaped(g->b, g->n, count, 3, (int64_t[]){1, n, 1});
  return glow_then2(g->b, GLOW_OP_EQUAL, i, j);
}

/* [n, n, 1] of the kind of v: 1 at (i, j) where element j of the result has factor i, else 0. */
static GlowValue *factors(const GlowGrad *g, int64_t n, GlowKind kind) {
  const GlowCumProdMembers *m = g->n->members;
  const GlowType *t = glow_type_exact(g->b->module->ctx, kind, 2, (int64_t[]){n, n});
  int64_t first = m->exclusive ? m->reverse ? -1 : 1 : 0;
  GlowTriluMembers half = {.upper = !m->reverse};
  GlowValue *ins[] = {glow_build_filled(g->b, t, (GlowScalar){.f = 1}),
                      glow_constant_int(g->b->module, g->n, "diagonal", first)};
  return glow_build_shaped(g->b, g->n, glow_then(g->b, GLOW_OP_TRILU, ins, 2, &half), 3,
                           (int64_t[]){n, n, 1});
}

/* The axis, if it is known. */
static bool read_axis(const GlowGrad *g, uint32_t *axis) {
  const GlowValue *v = glow_grad_in(g, 1);
  const GlowTensor *known = glow_value_known(v);
  const GlowNode *splat = glow_value_def(v, GLOW_OP_SPLAT);
  int64_t at = known ? glow_tensor_get_int(known, 0) : 0;
  if (splat)
    at = ((const GlowSplatMembers *)splat->members)->value.i;
  *axis = glow_grad_axis(at, glow_grad_in(g, 0)->type);
  return known || splat;
}

bool glow_grad_cum_prod(GlowGrad *g) {
  GlowValue *x = glow_grad_in(g, 0), *one;
  const GlowType *t = x->type;
  int64_t before = 1, rest = 1;
  uint32_t axis;
  if (!glow_type_is_static(t) || !read_axis(g, &axis))
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (i != axis)
      *(i < axis ? &before : &rest) *= t->dims[i].size;
  int64_t n = t->dims[axis].size, shape[] = {before, 1, n, rest};
  one = glow_build_scalar(g->b, t->kind, 1);
  GlowValue *v = glow_build_shaped(g->b, g->n, x, 4, shape);
  v = glow_then3(g->b, GLOW_OP_WHERE, diagonal(g, n), one, v);
  v = glow_then(g->b, GLOW_OP_CUM_PROD,
                (GlowValue *[]){v, glow_constant_int(g->b->module, g->n, "axis", 2)}, 2,
                g->n->members);
  v = glow_then2(g->b, GLOW_OP_MUL, v, factors(g, n, t->kind));
  v = glow_then2(g->b, GLOW_OP_MUL, v, glow_build_shaped(g->b, g->n, g->dy[0], 4, shape));
  return glow_grad_put(g, 0, glow_grad_shaped(g, glow_grad_summed(g, v, (int64_t[]){2}, 1), t));
}
