/* The gradient rule of ReduceProd: dY times the product of the other elements. That is the product
 * of all before and all behind an element, by two CumProds over the reduced axes as one; nothing is
 * divided by X, which may be 0. */
#include "autodiff/parts.h"
#include "autodiff/rule.h"

/* Which axes are reduced, a bit each. False if they are not known. */
static bool read_axes(const GlowGrad *g, uint32_t *axes) {
  const GlowReduceProdMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type;
  const GlowValue *list = glow_grad_in(g, GLOW_REDUCE_PROD_IN_AXES);
  const GlowTensor *known = list ? glow_value_known(list) : NULL;
  int64_t count = known ? glow_tensor_elements(known) : 0;
  *axes = count || m->noop ? 0 : (UINT32_C(1) << x->rank) - 1;
  for (int64_t i = 0; i < count; i++)
    *axes |= UINT32_C(1) << glow_grad_axis(glow_tensor_get_int(known, i), x);
  return !list || known;
}

static GlowValue *scanned(const GlowGrad *g, GlowValue *v, bool reverse) {
  GlowCumProdMembers m = {.exclusive = true, .reverse = reverse};
  GlowValue *ins[] = {v, glow_constant_int(g->b->module, g->n, "axis", 1)};
  return glow_then(g->b, GLOW_OP_CUM_PROD, ins, 2, &m);
}

/* For each element of X, the product of those that are reduced with it, without itself. */
static GlowValue *others(const GlowGrad *g, uint32_t axes) {
  GlowValue *x = glow_grad_in(g, 0);
  const GlowType *t = x->type;
  uint32_t perm[GLOW_MAX_RANK], back[GLOW_MAX_RANK], at = 0;
  int64_t dims[GLOW_MAX_RANK], shape[] = {1, 1};
  for (uint32_t reduced = 0; reduced < 2; reduced++)
    for (uint32_t i = 0; i < t->rank; i++)
      if ((axes >> i & 1) == reduced) {
        shape[reduced] *= t->dims[i].size;
        dims[at] = t->dims[i].size;
        back[i] = at;
        perm[at++] = i;
      }
  GlowValue *v = glow_build_shaped(g->b, g->n, glow_build_permuted(g->b, x, perm, at), 2, shape);
  GlowValue *before = scanned(g, v, false);
  v = glow_then2(g->b, GLOW_OP_MUL, before, scanned(g, v, true));
  v = glow_build_shaped(g->b, g->n, v, at, dims);
  return glow_build_permuted(g->b, v, back, at);
}

bool glow_grad_reduce_prod(GlowGrad *g) {
  GlowRule r = {.g = g};
  uint32_t axes;
  const GlowType *t = glow_grad_in(g, 0)->type;
  if (!glow_type_is_static(t) || !read_axes(g, &axes))
    return false;
  if (t->rank == 0)
    return glow_grad_put(g, 0, g->dy[0]);
  GlowValue *dy = glow_rule_kept(&r, g->dy[0]);
  return glow_grad_put(g, 0, glow_then2(g->b, GLOW_OP_MUL, dy, others(g, axes)));
}
