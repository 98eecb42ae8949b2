/* Reshape moves no data: the result is a view of the operand's buffer. Where an extent is only
 * bounded, the extents are known at run time alone, and the instruction computes them. */
#include "irgen/irgen_internal.h"

bool glow_irgen_reshape(GlowIrgen *g, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_RESHAPE_IN_X);
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_static(x->type) || !glow_type_is_static(t) || x->type->layout || t->layout)
    return glow_irgen_default(g, n);
  GlowValue *view = glow_irgen_view(g, &n->results[0], glow_irgen_get(g, x), t);
  glow_irgen_set(g, &n->results[0], view);
  return view != NULL;
}
