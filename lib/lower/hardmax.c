/* Hardmax = OneHot(ArgMax(X), n, [0, 1]), along an axis of extent n. Without elements it is X
 * itself. */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_hardmax(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowHardmaxMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  if (x->type->unranked)
    return false;
  int64_t axis = m->axis < 0 ? m->axis + x->type->rank : m->axis;
  if (axis < 0 || axis >= x->type->rank || x->type->dims[axis].kind != GLOW_DIM_EXACT)
    return false;
  int64_t extent = x->type->dims[axis].size;
  if (extent == 0) {
    results[0] = glow_build1(b, GLOW_OP_IDENTITY, x, NULL, NULL);
    return results[0] != NULL;
  }
  GlowArgMaxMembers arg_max = {.axis = axis, .keep = false};
  GlowOneHotMembers one_hot = {.axis = axis};
  GlowValue *first = glow_build1(b, GLOW_OP_ARG_MAX, x, &arg_max, NULL);
  GlowValue *depth = glow_constant_int(b->module, n, "depth", extent);
  GlowValue *values =
      glow_constant_numbers(b->module, n, "values", x->type->kind, (int64_t[]){0, 1}, 2);
  GlowNodeSpec spec = {.op = GLOW_OP_ONE_HOT,
                       .ins = (GlowValue *[]){first, depth, values},
                       .nins = 3,
                       .members = &one_hot,
                       .nresults = 1};
  GlowNode *hot = first ? glow_node_create(b, &spec) : NULL;
  results[0] = hot ? &hot->results[0] : NULL;
  return results[0] != NULL;
}
