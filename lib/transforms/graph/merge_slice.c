/* Slices of values that Concat, Slice, Split or Reshape made.
 *
 *   Slice(Slice(x)), Slice of a piece of Split(x)      -> Slice(x)
 *   Slice(Concat(..., x, ...)) that takes x or part of it  -> x or Slice(x)
 *   Slice(Reshape(x)) along the same first axes        -> Reshape(Slice(x))
 *
 * All amounts and extents must be known. */
#include "transforms/pieces.h"
#include "transforms/rules.h"

/* A piece of a piece, in terms of the inner one's source. */
static GlowPiece compose(const GlowPiece *outer, const GlowPiece *inner) {
  GlowPiece p = *inner;
  for (uint32_t k = 0; k < p.rank; k++) {
    p.start[k] = inner->start[k] + inner->step[k] * outer->start[k];
    p.step[k] = inner->step[k] * outer->step[k];
    p.size[k] = outer->size[k];
  }
  return p;
}

static GlowValue *slice_of_piece(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowPiece outer, inner;
  if (!glow_piece_of(&n->results[0], n, &outer) || !glow_piece_of(outer.source, n, &inner))
    return NULL;
  GlowPiece both = compose(&outer, &inner);
  GlowBuilder b = glow_builder_before(n);
  return glow_piece_build(&b, n, &both);
}

/* Makes p a piece of the Concat's operand that holds all of it. False if no operand does. */
static bool find_operand(const GlowNode *concat, GlowPiece *p) {
  int64_t axis = ((const GlowConcatMembers *)concat->members)->axis;
  uint32_t k = (uint32_t)(axis < 0 ? axis + p->rank : axis);
  int64_t first = p->start[k], last = first + (p->size[k] - 1) * p->step[k], begin = 0;
  if (p->size[k] == 0)
    return false;
  for (uint32_t i = 0; i < concat->noperands; i++) {
    GlowValue *x = glow_node_in(concat, i);
    if (!glow_type_is_static(x->type) || x->type->layout)
      return false;
    int64_t end = begin + x->type->dims[k].size;
    if (first >= begin && first < end && last >= begin && last < end) {
      p->source = x;
      p->start[k] -= begin;
      return true;
    }
    begin = end;
  }
  return false;
}

static GlowValue *slice_of_concat(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *concat = glow_match(glow_node_in(n, 0), GLOW_OP_CONCAT, n);
  GlowPiece p;
  if (!concat || !glow_piece_of(&n->results[0], n, &p) || !find_operand(concat, &p))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  return glow_piece_build(&b, n, &p);
}

/* The axis along which p differs from its source, if it is only one; else the rank. */
static uint32_t single_axis(const GlowPiece *p) {
  uint32_t axis = p->rank;
  for (uint32_t k = 0; k < p->rank; k++) {
    if (glow_piece_is_whole_along(p, k))
      continue;
    if (axis != p->rank)
      return p->rank;
    axis = k;
  }
  return axis;
}

/* The Slice moves above the Reshape if the sliced axis and those before it are not reshaped. */
static GlowValue *slice_of_reshape(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowNode *reshape = glow_match(glow_node_in(n, 0), GLOW_OP_RESHAPE, n);
  GlowPiece p;
  if (!reshape || !glow_piece_of(&n->results[0], n, &p) || !glow_value_has_one_use(p.source))
    return NULL;
  GlowValue *x = glow_node_in(reshape, 0);
  uint32_t axis = single_axis(&p);
  if (axis >= p.rank || !glow_type_is_static(x->type) || axis >= x->type->rank)
    return NULL;
  for (uint32_t k = 0; k <= axis; k++)
    if (x->type->dims[k].size != p.source->type->dims[k].size)
      return NULL;
  GlowPiece above = glow_piece_whole(x);
  above.start[axis] = p.start[axis];
  above.step[axis] = p.step[axis];
  above.size[axis] = p.size[axis];
  GlowBuilder b = glow_builder_before(n);
  GlowValue *slice = glow_piece_build(&b, n, &above);
  const GlowType *t = n->results[0].type;
  return slice ? glow_build_reshape(&b, n, slice, t->rank, t->dims) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_SLICE, slice_of_piece, "merged two Slices"},
    {GLOW_OP_SLICE, slice_of_concat, "a Slice of Concat takes one operand"},
    {GLOW_OP_SLICE, slice_of_reshape, "moved a Slice above Reshape"},
};

bool glow_pass_merge_slice(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
