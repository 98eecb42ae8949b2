/* What rules in `grad` clauses are built of: see rule.h. */
#include "autodiff/rule.h"

#include "lower/lower.h"

/* v, which must not be NULL. */
static GlowValue *checked(GlowRule *r, GlowValue *v) {
  r->failed |= v == NULL;
  return v;
}

static GlowKind kind_of(const GlowRule *r) {
  for (uint32_t i = 0; i < r->g->n->nresults; i++)
    if (r->g->dy[i])
      return r->g->dy[i]->type->kind;
  return GLOW_KIND_FLOAT;
}

GlowValue *glow_rule_apply(GlowRule *r, GlowOp op, GlowValue *const *ins, uint32_t count,
                           uint32_t optional, const void *members) {
  bool sum = op == GLOW_OP_ADD || op == GLOW_OP_SUB;
  if (r->failed)
    return NULL;
  if (op == GLOW_OP_MUL && !ins[0] != !ins[1] && (optional >> (ins[0] != NULL) & 1))
    return ins[0] ? ins[0] : ins[1];
  if (sum && (!ins[0] || !ins[1])) {
    bool negative = op == GLOW_OP_SUB && !ins[0] && ins[1];
    return negative ? checked(r, glow_then1(r->g->b, GLOW_OP_NEG, ins[1], NULL))
                    : (ins[0] ? ins[0] : ins[1]);
  }
  for (uint32_t i = 0; i < count; i++)
    if (!ins[i] && !(optional >> i & 1))
      return NULL;
  GlowNode *n = glow_build(r->g->b, op, ins, count, members, NULL);
  return checked(r, n ? &n->results[0] : NULL);
}

GlowValue *glow_rule_number(GlowRule *r, double v) {
  return checked(r, glow_build_scalar(r->g->b, kind_of(r), v));
}

bool glow_rule_set(GlowRule *r, uint32_t i, GlowValue *v) {
  return !r->failed && (!v || glow_grad_set(r->g, i, v));
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* The extents of x: a constant if they are known. */
static GlowValue *shape_of(GlowRule *r, GlowValue *x) {
  const GlowType *t = x->type;
  int64_t dims[GLOW_MAX_RANK];
  if (!glow_type_is_static(t))
    return checked(r, glow_then1(r->g->b, GLOW_OP_SHAPE, x, NULL));
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  return glow_constant_ints(r->g->b->module, r->g->n, "shape", dims, t->rank);
}

/* op(v, the extents of x), whose result has the shape of x: its type says so even if it is open. */
static GlowValue *shaped(GlowRule *r, GlowOp op, GlowValue *v, GlowValue *x, const void *members) {
  GlowValue *ins[] = {v, shape_of(r, x)};
  GlowNodeSpec spec = {.op = op, .ins = ins, .nins = 2, .members = members};
  if (v->type->kind == x->type->kind)
    spec.types = &x->type;
  GlowNode *n = ins[1] ? glow_node_create(r->g->b, &spec) : NULL;
  return checked(r, n ? &n->results[0] : NULL);
}

GlowValue *glow_rule_like(GlowRule *r, GlowValue *v, GlowValue *x) {
  if (!v || r->failed || v->type == x->type)
    return v;
  return shaped(r, GLOW_OP_RESHAPE, v, x, &(GlowReshapeMembers){.allow_zero = true});
}

/* All reductions have the members and operands of ReduceSum. */
static bool reduces_all(const GlowNode *n) {
  const GlowValue *axes = glow_node_in(n, 1);
  return !axes || (glow_type_is_static(axes->type) && glow_type_elements(axes->type) == 0);
}

GlowValue *glow_rule_kept(GlowRule *r, GlowValue *v) {
  const GlowNode *n = r->g->n;
  const GlowReduceSumMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type;
  int64_t ones[GLOW_MAX_RANK];
  if (!v || r->failed || m->keep || (m->noop && reduces_all(n)))
    return v;
  if (!reduces_all(n))
    return checked(r, glow_then2(r->g->b, GLOW_OP_UNSQUEEZE, v, glow_node_in(n, 1)));
  if (x->unranked)
    return checked(r, NULL);
  for (uint32_t i = 0; i < x->rank; i++)
    ones[i] = 1;
  GlowValue *shape = glow_constant_ints(r->g->b->module, n, "shape", ones, x->rank);
  return checked(r, glow_then2(r->g->b, GLOW_OP_RESHAPE, v, shape));
}

GlowValue *glow_rule_spread(GlowRule *r, GlowValue *v) {
  GlowValue *x = glow_node_in(r->g->n, 0);
  v = glow_rule_kept(r, v);
  if (!v || r->failed || v->type == x->type)
    return v;
  return shaped(r, GLOW_OP_EXPAND, v, x, NULL);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

GlowValue *glow_rule_summed(GlowRule *r, GlowValue *v, int64_t axis) {
  if (!v || r->failed)
    return NULL;
  GlowValue *axes = glow_constant_ints(r->g->b->module, r->g->n, "axis", &axis, 1);
  return checked(r, glow_build_reduce(r->g->b, GLOW_OP_REDUCE_SUM, v, axes));
}

GlowValue *glow_rule_total(GlowRule *r, GlowValue *v) {
  GlowReduceSumMembers all = {.keep = false, .noop = false};
  if (!v || r->failed || (!v->type->unranked && v->type->rank == 0))
    return v;
  return checked(r, glow_then1(r->g->b, GLOW_OP_REDUCE_SUM, v, &all));
}

static GlowValue *size_of(GlowRule *r, GlowValue *x) {
  return glow_then_cast(r->g->b, glow_then1(r->g->b, GLOW_OP_SIZE, x, NULL), kind_of(r));
}

GlowValue *glow_rule_ratio(GlowRule *r, GlowValue *x, GlowValue *y) {
  if (glow_type_is_static(x->type) && glow_type_is_static(y->type)) {
    int64_t of = glow_type_elements(y->type);
    return glow_rule_number(r, of ? (double)glow_type_elements(x->type) / (double)of : 1);
  }
  GlowValue *all = size_of(r, x);
  return checked(r, glow_then2(r->g->b, GLOW_OP_DIV, all, size_of(r, y)));
}

/* ---- The rest -------------------------------------------------------------------------------- */

GlowValue *glow_rule_zeros(GlowRule *r, GlowValue *x) {
  return checked(r, glow_grad_filled(r->g->b, x, 0));
}

GlowValue *glow_rule_ones(GlowRule *r, GlowValue *x) {
  return checked(r, glow_grad_filled(r->g->b, x, 1));
}

GlowValue *glow_rule_swap(GlowRule *r, GlowValue *v) {
  uint32_t perm[GLOW_MAX_RANK], rank = v ? v->type->rank : 0;
  if (!v || r->failed)
    return NULL;
  if (v->type->unranked || rank < 2)
    return checked(r, NULL);
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return checked(r, glow_build_permuted(r->g->b, v, perm, rank));
}

GlowValue *glow_rule_cast(GlowRule *r, GlowValue *v, GlowValue *x) {
  return v && !r->failed ? checked(r, glow_then_cast(r->g->b, v, x->type->kind)) : NULL;
}

GlowArray glow_rule_inverse(GlowRule *r, GlowArray perm) {
  uint32_t inverse[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < perm.count; i++)
    inverse[glow_array_at(perm, uint32_t, i)] = i;
  return perm.count ? glow_array_u32(r->g->b->module, inverse, perm.count) : perm;
}

bool glow_rule_opposite(GlowRule *r, bool flag) {
  (void)r;
  return !flag;
}
