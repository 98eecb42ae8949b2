/* Element-wise operators broadcast their operands themselves, and MatMul batches of matrices:
 *
 *   Add(x, Expand(y)), Add(x, Tile(y))     -> Add(x, y)
 *   MatMul(x, Expand(y))                   -> MatMul(x, y)     where the matrices stay
 *   Expand(x, list)                        -> Where(true, x, x)
 *
 * Tile must repeat axes of extent 1 only, and the operands must give the result the same extents
 * without the Expand. The last one is for a list that is computed, of extents that follow from
 * symbols: `true` is a splat of them, so nobody reads the list in a run. Exact: each element is
 * computed from the same operands. */
#include "transforms/rules.h"

/* Whether n broadcasts its operands along all axes but the last *kept: 2 for MatMul, else none. */
static bool broadcasts(const GlowNode *n, uint32_t *kept) {
  const GlowOpDesc *d = glow_node_desc(n);
  *kept = n->op == GLOW_OP_MAT_MUL ? 2 : 0;
  if (*kept)
    return !glow_node_in(n, 0)->type->unranked && !glow_node_in(n, 1)->type->unranked &&
           glow_node_in(n, 0)->type->rank > 1 && glow_node_in(n, 1)->type->rank > 1;
  return GLOW_HAS(d, ELEMENTWISE) && n->nresults == 1 && n->noperands > 1 &&
         d->infer != GLOW_INFER_SAME;
}

/* Whether axis k of a result of type t has the extent of v's. */
static bool gives_extent(const GlowValue *v, const GlowType *t, uint32_t k) {
  uint32_t behind = t->rank - k;
  return v->type->rank >= behind && v->type->dims[v->type->rank - behind].size == t->dims[k].size;
}

/* The operand of the Expand or Tile that defines v, if v repeats it as broadcasting would, and not
 * along the last `kept` axes. NULL otherwise. */
static GlowValue *repeated(const GlowValue *v, const GlowNode *n, uint32_t kept) {
  const GlowNode *e = glow_match(v, GLOW_OP_EXPAND, n);
  e = e ? e : glow_match(v, GLOW_OP_TILE, n);
  GlowValue *x = e ? glow_node_in(e, 0) : NULL;
  if (!x || !glow_type_is_static(x->type) || !glow_type_is_static(v->type) || x->type->layout ||
      v->type->layout || x->type->rank < kept)
    return NULL;
  uint32_t more = v->type->rank - x->type->rank;
  for (uint32_t k = 0; k < x->type->rank; k++)
    if (x->type->dims[k].size != v->type->dims[k + more].size &&
        (x->type->dims[k].size != 1 || k + kept >= x->type->rank))
      return NULL;
  return x;
}

/* Whether n's result keeps its type with x as operand i; the last `kept` axes of x are those of the
 * operand now. */
static bool keeps_type(const GlowNode *n, uint32_t i, const GlowValue *x, uint32_t kept) {
  const GlowType *t = n->results[0].type;
  for (uint32_t j = 0; j < n->noperands; j++)
    if (glow_node_in(n, j) && !glow_type_is_static(glow_node_in(n, j)->type))
      return false;
  for (uint32_t k = 0; k + kept < t->rank; k++) {
    bool given = gives_extent(x, t, k);
    for (uint32_t j = 0; j < n->noperands && !given; j++)
      given = j != i && glow_node_in(n, j) && gives_extent(glow_node_in(n, j), t, k);
    if (!given)
      return false;
  }
  return true;
}

/* Where(true, x, x) in place of an Expand. */
static void become_where(GlowPassRun *run, GlowNode *n) {
  GlowBuilder b = glow_builder_before(n);
  GlowSplatMembers yes = {.value = {.is_int = true, .i = 1, .f = 1}};
  const GlowType *types[] = {glow_type_with_kind(run->ctx, n->results[0].type, GLOW_KIND_BOOL),
                             n->results[0].type};
  GlowNodeSpec splat = {.op = GLOW_OP_SPLAT, .members = &yes, .types = &types[0]};
  GlowNode *condition = glow_node_create(&b, &splat);
  GlowValue *ins[] = {condition ? &condition->results[0] : NULL, glow_node_in(n, 0),
                      glow_node_in(n, 0)};
  GlowNodeSpec where = {.op = GLOW_OP_WHERE, .ins = ins, .nins = 3, .types = &types[1]};
  GlowNode *made = condition ? glow_node_create(&b, &where) : NULL;
  if (!made)
    return;
  glow_replace_by(run, n, &made->results[0], "Expand to extents of symbols reads no list");
}

static bool visit(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  uint32_t kept;
  if (n->op == GLOW_OP_EXPAND && !glow_value_known(glow_node_in(n, GLOW_EXPAND_IN_SHAPE)) &&
      glow_extents_follow(n)) {
    become_where(run, n);
    return true;
  }
  if (!broadcasts(n, &kept) || !glow_type_is_static(n->results[0].type))
    return true;
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i), *x = v ? repeated(v, n, kept) : NULL;
    if (!x || !keeps_type(n, i, x, kept))
      continue;
    glow_pass_changed(run, n, "%s broadcasts its operand itself", glow_node_desc(n)->node);
    glow_use_set(&n->operands[i], x);
    glow_remove_dead(v->def.node);
  }
  return true;
}

bool glow_pass_drop_expand(GlowPassRun *run) {
  return glow_block_walk(run->function->body, visit, run);
}
