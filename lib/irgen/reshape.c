/* Reshape and BitCast move no data: the result is a view of the operand's buffer. If an extent is
 * only bounded, the extents are known at run time alone; then the node becomes the instruction,
 * which computes them. A Relayout that leaves every element in its place becomes a view, too. A
 * Barrier is its operand's buffer: instructions keep the order of the text. */
#include "analysis/layouts.h"
#include "irgen/irgen_internal.h"

static bool view(GlowIrgen *g, const GlowNode *n, GlowValue *x) {
  GlowValue *y = glow_irgen_view(g, &n->results[0], glow_irgen_get(g, x), n->results[0].type);
  glow_irgen_set(g, &n->results[0], y);
  return y != NULL;
}

bool glow_irgen_reshape(GlowIrgen *g, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_RESHAPE_IN_X);
  const GlowType *t = n->results[0].type;
  if (!glow_type_same_elements(x->type, t) || x->type->layout || t->layout)
    return glow_irgen_default(g, n);
  return view(g, n, x);
}

/* A BitCast to bool changes bytes. */
bool glow_irgen_bit_cast(GlowIrgen *g, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_BIT_CAST_IN_X);
  const GlowType *t = n->results[0].type;
  if (!glow_type_same_elements(x->type, t) ||
      (t->kind == GLOW_KIND_BOOL && x->type->kind != GLOW_KIND_BOOL))
    return glow_irgen_default(g, n);
  return view(g, n, x);
}

bool glow_irgen_relayout(GlowIrgen *g, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_RELAYOUT_IN_X);
  return glow_layouts_agree(x->type, n->results[0].type) ? view(g, n, x) : glow_irgen_default(g, n);
}

bool glow_irgen_barrier(GlowIrgen *g, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_BARRIER_IN_X);
  return glow_irgen_finish(g, &n->results[0], glow_irgen_get(g, x), x->type);
}
