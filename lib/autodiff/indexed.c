/* Gradient rules of operators that move what indices name:
 *
 *   Gather, TopK                 dY is added to zeros where the indices say
 *   GatherElements, GatherND     likewise
 *   OneHot                       sums of dY where each value is
 *   ScatterElements, ScatterND   X: dY where no update is; Updates: dY where each was put
 *
 * The two scatters are one rule: `picked` reads at the places of the updates, `combined` writes
 * there. Of updates for one place the last one counts without a reduction; with `mul` each gets the
 * product of X and the others; with `max` and `min` those that are the result share alike, and X
 * with them. */
#include "autodiff/parts.h"

bool glow_grad_gather(GlowGrad *g) {
  const GlowGatherMembers *m = g->n->members;
  GlowValue *x = glow_grad_in(g, 0);
  if (x->type->unranked)
    return false;
  uint32_t axis = glow_grad_axis(m->axis, x->type);
  return glow_grad_put(g, 0, glow_grad_scattered(g, x, g->dy[0], glow_grad_in(g, 1), axis));
}

/* Zeros of the type of operand 0, with dy added along an axis where `indices` says. */
static GlowValue *elements_added(const GlowGrad *g, GlowValue *indices, GlowValue *dy,
                                 int64_t axis) {
  GlowScatterElementsMembers m = {.axis = axis, .reduction = GLOW_SCATTER_REDUCTION_ADD};
  return glow_grad_added(g, GLOW_OP_SCATTER_ELEMENTS, &m, glow_grad_zeros(g, 0), indices, dy);
}

bool glow_grad_gather_elements(GlowGrad *g) {
  const GlowGatherElementsMembers *m = g->n->members;
  return glow_grad_put(g, 0, elements_added(g, glow_grad_in(g, 1), g->dy[0], m->axis));
}

bool glow_grad_gather_nd(GlowGrad *g) {
  const GlowGatherNDMembers *m = g->n->members;
  if (m->batch_dims)
    return glow_grad_put(g, 0, glow_grad_moved_back(g));
  GlowScatterNDMembers add = {.reduction = GLOW_SCATTER_REDUCTION_ADD};
  return glow_grad_put(g, 0,
                       glow_grad_added(g, GLOW_OP_SCATTER_ND, &add, glow_grad_zeros(g, 0),
                                       glow_grad_in(g, 1), g->dy[0]));
}

bool glow_grad_top_k(GlowGrad *g) {
  const GlowTopKMembers *m = g->n->members;
  GlowValue *indices = glow_node_out(g->n, GLOW_TOP_K_OUT_INDICES);
  return glow_grad_put(g, 0, elements_added(g, indices, g->dy[0], m->axis));
}

/* The sum of dY where the result has value number `which`, as a vector of one element. */
static GlowValue *sum_of_value(const GlowGrad *g, int64_t which) {
  GlowKind kind = g->dy[0]->type->kind;
  int64_t marks[] = {1 - which, which};
  GlowValue *values = glow_constant_numbers(g->b->module, g->n, "marks", kind, marks, 2);
  GlowValue *ins[] = {glow_grad_in(g, 0), glow_grad_in(g, 1), values};
  GlowNode *there = glow_node_create(g->b, &(GlowNodeSpec){.op = GLOW_OP_ONE_HOT,
                                                           .ins = ins,
                                                           .nins = 3,
                                                           .members = g->n->members,
                                                           .types = &g->n->results[0].type});
  GlowValue *v = glow_then2(g->b, GLOW_OP_MUL, g->dy[0], there ? &there->results[0] : NULL);
  v = glow_then1(g->b, GLOW_OP_REDUCE_SUM, v, &(GlowReduceSumMembers){.keep = false});
  return glow_build_shaped(g->b, g->n, v, 1, (int64_t[]){1});
}

bool glow_grad_one_hot(GlowGrad *g) {
  if (!g->wanted[2])
    return true;
  GlowValue *parts[] = {sum_of_value(g, 0), sum_of_value(g, 1)};
  return glow_grad_put(g, 2, glow_build_concat(g->b, parts, 2, 0));
}

/* ---- Scatters -------------------------------------------------------------------------------- */

/* The elements of v, which has the shape of X, at the places of the updates. */
static GlowValue *picked(const GlowGrad *g, GlowValue *v) {
  GlowValue *ins[] = {v, glow_grad_in(g, 1)};
  if (g->n->op == GLOW_OP_SCATTER_ND)
    return glow_then(g->b, GLOW_OP_GATHER_ND, ins, 2, NULL);
  const GlowScatterElementsMembers *m = g->n->members;
  return glow_then(g->b, GLOW_OP_GATHER_ELEMENTS, ins, 2,
                   &(GlowGatherElementsMembers){.axis = m->axis});
}

/* v, which has the shape of X, combined with `updates` at their places. */
static GlowValue *combined(const GlowGrad *g, GlowValue *v, GlowValue *updates, int how) {
  GlowValue *ins[] = {v, glow_grad_in(g, 1), updates};
  if (g->n->op == GLOW_OP_SCATTER_ND)
    return glow_then(g->b, GLOW_OP_SCATTER_ND, ins, 3, &(GlowScatterNDMembers){.reduction = how});
  const GlowScatterElementsMembers *m = g->n->members;
  return glow_then(g->b, GLOW_OP_SCATTER_ELEMENTS, ins, 3,
                   &(GlowScatterElementsMembers){.axis = m->axis, .reduction = how});
}

static GlowValue *two(const GlowGrad *g, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(g->b, op, x, y);
}

/* A truth value as 1 or 0 in the kind of X. */
static GlowValue *as_number(const GlowGrad *g, GlowValue *truth) {
  return glow_then_cast(g->b, truth, glow_grad_in(g, 0)->type->kind);
}

static GlowValue *number(const GlowGrad *g, double v) {
  return glow_build_scalar(g->b, glow_grad_in(g, 0)->type->kind, v);
}

/* Without a reduction. The updates are numbered, and scattered numbers tell which one stays. */
static bool replaced(GlowGrad *g) {
  GlowValue *x = glow_grad_in(g, 0), *u = glow_grad_in(g, 2);
  GlowModule *m = g->b->module;
  if (g->wanted[0]) {
    GlowValue *zeros = glow_grad_zeros(g, 2);
    if (!glow_grad_put(g, 0, combined(g, g->dy[0], zeros, GLOW_SCATTER_REDUCTION_NONE)))
      return false;
  }
  if (!g->wanted[2])
    return true;
  if (!glow_type_is_static(u->type) || !glow_type_is_static(x->type))
    return false;
  GlowValue *list = glow_grad_numbers(g, u->type);
  const GlowType *numbers = glow_type_with_dims(m->ctx, glow_type_scalar(m->ctx, GLOW_KIND_I64),
                                                x->type->rank, x->type->dims);
  GlowValue *none = glow_build_filled(g->b, numbers, (GlowScalar){.is_int = true});
  GlowValue *stays = picked(g, combined(g, none, list, GLOW_SCATTER_REDUCTION_NONE));
  GlowValue *is_last = two(g, GLOW_OP_EQUAL, stays, list);
  return glow_grad_put(g, 2,
                       glow_then3(g->b, GLOW_OP_WHERE, is_last, picked(g, g->dy[0]), number(g, 0)));
}

static bool added(GlowGrad *g) {
  return (!g->wanted[0] || glow_grad_put(g, 0, g->dy[0])) &&
         (!g->wanted[2] || glow_grad_put(g, 2, picked(g, g->dy[0])));
}

/* The product of all other updates for the place of each: of those that are not 0, divided by the
 * update itself, and 0 where another one is 0. */
static GlowValue *others(const GlowGrad *g, GlowValue *ones) {
  GlowValue *u = glow_grad_in(g, 2), *one = number(g, 1);
  GlowValue *is_zero = two(g, GLOW_OP_EQUAL, u, number(g, 0));
  GlowValue *factors = glow_then3(g->b, GLOW_OP_WHERE, is_zero, one, u);
  GlowValue *zeros =
      combined(g, glow_grad_zeros(g, 0), as_number(g, is_zero), GLOW_SCATTER_REDUCTION_ADD);
  GlowValue *product = picked(g, combined(g, ones, factors, GLOW_SCATTER_REDUCTION_MUL));
  GlowValue *more = two(g, GLOW_OP_SUB, picked(g, zeros), as_number(g, is_zero));
  GlowValue *rest = two(g, GLOW_OP_DIV, product, factors);
  return glow_then3(g->b, GLOW_OP_WHERE, two(g, GLOW_OP_GREATER, more, number(g, 0)), number(g, 0),
                    rest);
}

static bool multiplied(GlowGrad *g) {
  GlowValue *ones = glow_grad_filled(g->b, glow_grad_in(g, 0), 1);
  if (g->wanted[0]) {
    GlowValue *factor = combined(g, ones, glow_grad_in(g, 2), GLOW_SCATTER_REDUCTION_MUL);
    if (!glow_grad_put(g, 0, two(g, GLOW_OP_MUL, g->dy[0], factor)))
      return false;
  }
  if (!g->wanted[2])
    return true;
  GlowValue *outer = picked(g, two(g, GLOW_OP_MUL, g->dy[0], glow_grad_in(g, 0)));
  return glow_grad_put(g, 2, two(g, GLOW_OP_MUL, outer, others(g, ones)));
}

/* Max or min: each operand that is the result gets an equal share. */
static bool selected(GlowGrad *g) {
  GlowValue *y = glow_node_out(g->n, 0);
  GlowValue *by_x = as_number(g, two(g, GLOW_OP_EQUAL, glow_grad_in(g, 0), y));
  GlowValue *by_update = as_number(g, two(g, GLOW_OP_EQUAL, glow_grad_in(g, 2), picked(g, y)));
  GlowValue *count = combined(g, by_x, by_update, GLOW_SCATTER_REDUCTION_ADD);
  GlowValue *share = two(g, GLOW_OP_DIV, g->dy[0], count);
  return (!g->wanted[0] || glow_grad_put(g, 0, two(g, GLOW_OP_MUL, share, by_x))) &&
         (!g->wanted[2] || glow_grad_put(g, 2, two(g, GLOW_OP_MUL, picked(g, share), by_update)));
}

static bool scatter(GlowGrad *g, int how) {
  switch (how) {
  case GLOW_SCATTER_REDUCTION_NONE:
    return replaced(g);
  case GLOW_SCATTER_REDUCTION_ADD:
    return added(g);
  case GLOW_SCATTER_REDUCTION_MUL:
    return multiplied(g);
  default:
    return selected(g);
  }
}

bool glow_grad_scatter_elements(GlowGrad *g) {
  return scatter(g, ((const GlowScatterElementsMembers *)g->n->members)->reduction);
}
bool glow_grad_scatter_nd(GlowGrad *g) {
  return scatter(g, ((const GlowScatterNDMembers *)g->n->members)->reduction);
}
