/* Concat and Split that undo or repeat each other, all along the same axis.
 *
 *   Concat(a, Concat(b, c))                  -> Concat(a, b, c), if the inner one has no other use
 *   Concat of pieces of x that follow each other -> x, or one Slice
 *   Concat(x, nothing)                       -> x; operands of extent 0 go
 *   Concat(Reshape(x), Reshape(y), ...)      -> Reshape(Concat(x, y, ...))
 *   Split(Concat(a, b)) into a and b         -> a, b
 *   Split of which one result is used        -> Slice
 *
 * Pieces are Slices or results of Split. */
#include "transforms/pieces.h"
#include "transforms/rules.h"

static uint32_t axis_of(const GlowNode *n, int64_t axis) {
  return (uint32_t)(axis < 0 ? axis + n->results[0].type->rank : axis);
}

static uint32_t concat_axis(const GlowNode *n) {
  return axis_of(n, ((const GlowConcatMembers *)n->members)->axis);
}

static bool all_static(const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (!glow_type_is_static(glow_node_in(n, i)->type) || glow_node_in(n, i)->type->layout)
      return false;
  return glow_type_is_static(n->results[0].type) && !n->results[0].type->layout;
}

/* The operands that replace those of a Concat. */
typedef struct Operands {
  GlowArena *arena;
  GLOW_VEC(GlowValue *) values;
} Operands;

static void add_operand(Operands *o, GlowValue *v) { glow_vec_push(o->arena, &o->values, v); }

static GlowValue *build_concat(GlowNode *n, const Operands *o, uint32_t axis) {
  if (o->values.count == 1)
    return o->values.data[0];
  GlowBuilder b = glow_builder_before(n);
  GlowConcatMembers members = {.axis = axis};
  GlowNode *concat =
      glow_build(&b, GLOW_OP_CONCAT, o->values.data, o->values.count, &members, NULL);
  return concat ? &concat->results[0] : NULL;
}

/* ---- Operands of Concat ---------------------------------------------------------------------- */

static GlowValue *flatten(GlowPassRun *run, GlowNode *n) {
  Operands o = {.arena = run->arena};
  uint32_t axis = concat_axis(n);
  if (!all_static(n))
    return NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    const GlowNode *inner = glow_match(v, GLOW_OP_CONCAT, n);
    bool merges = inner && glow_value_has_one_use(v) && concat_axis(inner) == axis;
    for (uint32_t k = 0; merges && k < inner->noperands; k++)
      add_operand(&o, glow_node_in(inner, k));
    if (!merges && v->type->dims[axis].size != 0)
      add_operand(&o, v);
  }
  if (o.values.count == 0)
    add_operand(&o, glow_node_in(n, 0));
  bool same = o.values.count == n->noperands;
  for (uint32_t i = 0; same && i < n->noperands; i++)
    same = o.values.data[i] == glow_node_in(n, i);
  return same ? NULL : build_concat(n, &o, axis);
}

/* Whether piece q begins where p ends, in the same source. If so, p is enlarged by q. */
static bool follows(GlowPiece *p, const GlowPiece *q, uint32_t axis) {
  if (p->source != q->source || p->step[axis] != 1 || q->step[axis] != 1 ||
      q->start[axis] != p->start[axis] + p->size[axis])
    return false;
  for (uint32_t k = 0; k < p->rank; k++)
    if (k != axis &&
        (p->start[k] != q->start[k] || p->step[k] != q->step[k] || p->size[k] != q->size[k]))
      return false;
  p->size[axis] += q->size[axis];
  return true;
}

static GlowValue *join_pieces(GlowPassRun *run, GlowNode *n) {
  Operands o = {.arena = run->arena};
  uint32_t axis = concat_axis(n);
  if (!all_static(n))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  for (uint32_t i = 0, next; i < n->noperands; i = next) {
    GlowValue *v = glow_node_in(n, i);
    GlowPiece p, q;
    next = i + 1;
    if (!glow_piece_of(v, n, &p)) {
      add_operand(&o, v);
      continue;
    }
    while (next < n->noperands && glow_piece_of(glow_node_in(n, next), n, &q) &&
           follows(&p, &q, axis))
      next++;
    GlowValue *joined = next == i + 1 ? v : glow_piece_build(&b, n, &p);
    if (!joined)
      return NULL;
    add_operand(&o, joined);
  }
  return o.values.count == n->noperands ? NULL : build_concat(n, &o, axis);
}

/* ---- Concat of Reshape ----------------------------------------------------------------------- */

static int64_t extent_product(const GlowType *t, uint32_t count) {
  int64_t product = 1;
  for (uint32_t i = 0; i < count; i++)
    product *= t->dims[i].size;
  return product;
}

/* The axis of x, the operand of a Reshape to t, that has as many elements before it as `axis` of t.
 * x's rank if there is none. */
static uint32_t axis_before_reshape(const GlowType *t, uint32_t axis, const GlowType *x) {
  int64_t wanted = extent_product(t, axis);
  for (uint32_t k = 0; k < x->rank; k++)
    if (extent_product(x, k) == wanted && x->dims[k].size != 1)
      return k;
  return x->rank;
}

static bool same_but_along(const GlowType *a, const GlowType *b, uint32_t axis) {
  if (a->rank != b->rank)
    return false;
  for (uint32_t k = 0; k < a->rank; k++)
    if (k != axis && a->dims[k].size != b->dims[k].size)
      return false;
  return true;
}

static GlowValue *concat_of_reshapes(GlowPassRun *run, GlowNode *n) {
  Operands o = {.arena = run->arena};
  uint32_t axis = concat_axis(n), inner_axis = 0;
  const GlowType *t = n->results[0].type, *first = NULL;
  if (!all_static(n) || n->noperands < 2 || glow_type_elements(t) == 0)
    return NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    const GlowNode *reshape = glow_match(v, GLOW_OP_RESHAPE, n);
    GlowValue *x = reshape ? glow_node_in(reshape, 0) : NULL;
    if (!reshape || !glow_type_is_static(x->type) || !glow_value_has_one_use(v))
      return NULL;
    uint32_t k = axis_before_reshape(v->type, axis, x->type);
    if (!first) {
      first = x->type;
      inner_axis = k;
    }
    if (k == x->type->rank || k != inner_axis || !same_but_along(first, x->type, k))
      return NULL;
    add_operand(&o, x);
  }
  GlowValue *concat = build_concat(n, &o, inner_axis);
  GlowBuilder b = glow_builder_before(n);
  return concat ? glow_build_reshape(&b, n, concat, t->rank, t->dims) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_CONCAT, flatten, "merged nested Concats"},
    {GLOW_OP_CONCAT, join_pieces, "a Concat of pieces is their source"},
    {GLOW_OP_CONCAT, concat_of_reshapes, "moved Reshapes below Concat"},
};

/* ---- Split ----------------------------------------------------------------------------------- */

static uint32_t used_results(const GlowNode *n) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < n->nresults; i++)
    used += n->results[i].uses != NULL;
  return used;
}

static bool split_of_concat(GlowPassRun *run, GlowNode *n) {
  const GlowNode *concat = glow_match(glow_node_in(n, 0), GLOW_OP_CONCAT, n);
  if (!concat || concat->noperands != n->nresults ||
      concat_axis(concat) != axis_of(n, ((const GlowSplitMembers *)n->members)->axis))
    return false;
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    values[i] = glow_node_in(concat, i);
    if (values[i]->type != n->results[i].type || !glow_type_is_static(values[i]->type))
      return false;
  }
  glow_pass_changed(run, n, "Split and Concat cancel out");
  for (uint32_t i = 0; i < n->nresults; i++)
    glow_value_replace_uses(&n->results[i], values[i]);
  glow_remove_dead(n);
  return true;
}

static bool split_to_slice(GlowPassRun *run, GlowNode *n) {
  GlowPiece p;
  uint32_t i = 0;
  if (used_results(n) != 1)
    return false;
  while (!n->results[i].uses)
    i++;
  if (!glow_piece_of(&n->results[i], n, &p))
    return false;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  values[i] = glow_piece_build(&b, n, &p);
  if (!values[i] || values[i]->type != n->results[i].type)
    return false;
  glow_pass_changed(run, n, "a Split with one used result becomes Slice");
  glow_node_replace(n, values, n->nresults);
  return true;
}

static bool simplify_split(GlowNode *n, void *arg) {
  if (n->op == GLOW_OP_SPLIT && !split_of_concat(arg, n))
    split_to_slice(arg, n);
  return true;
}

bool glow_pass_merge_concat(GlowPassRun *run) {
  bool ok = glow_rules_run(run, rules, sizeof rules / sizeof *rules);
  glow_block_walk(run->function->body, simplify_split, run);
  return ok;
}
