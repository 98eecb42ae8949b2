/* Gather by constant indices that are equally spaced becomes Slice, with a Reshape where the
 * indices are not one list:
 *
 *   Gather(x, [2, 3, 4])   -> Slice(x, 2 to 5)
 *   Gather(x, 7)           -> Reshape(Slice(x, 7 to 8))
 *
 * A Gather with an index out of range stays, so that it is reported at run time. */
#include "transforms/pieces.h"
#include "transforms/rules.h"

/* Start, step and size of a row of numbers; false if they are not equally spaced. */
static bool equally_spaced(const int64_t *at, uint32_t count, int64_t extent, GlowPiece *p,
                           uint32_t axis) {
  int64_t first = 0, step = 1;
  for (uint32_t i = 0; i < count; i++) {
    if (at[i] < -extent || at[i] >= extent)
      return false;
    int64_t v = at[i] < 0 ? at[i] + extent : at[i];
    if (i == 0)
      first = v;
    if (i == 1)
      step = v - first;
    if (v != first + (int64_t)i * step)
      return false;
  }
  p->start[axis] = first;
  p->step[axis] = step;
  p->size[axis] = count;
  return count > 0 && step != 0;
}

static GlowValue *to_slice(GlowPassRun *run, GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_GATHER_IN_X);
  const GlowType *t = n->results[0].type;
  uint32_t count;
  const int64_t *at = glow_known_ints(run, n, GLOW_GATHER_IN_INDICES, &count);
  if (!at || !glow_type_is_static(x->type) || !glow_type_is_static(t) || x->type->layout)
    return NULL;
  int64_t axis = ((const GlowGatherMembers *)n->members)->axis;
  uint32_t k = (uint32_t)(axis < 0 ? axis + x->type->rank : axis);
  GlowPiece p = glow_piece_whole(x);
  if (!equally_spaced(at, count, x->type->dims[k].size, &p, k))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *slice = glow_piece_build(&b, n, &p);
  if (!slice || slice->type == t)
    return slice;
  return glow_build_reshape(&b, n, slice, t->rank, t->dims);
}

static const GlowRule rules[] = {
    {GLOW_OP_GATHER, to_slice, "a Gather by equally spaced indices becomes Slice"},
};

bool glow_pass_gather_constant(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
