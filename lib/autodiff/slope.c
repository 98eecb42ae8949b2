/* Values of derived slopes. */
#include "autodiff/slope.h"

GlowValue *glow_slope_in(GlowExpand *e, uint32_t i) {
  GlowValue *v = glow_expand_in(e, i);
  return v && v->type->kind == GLOW_KIND_BOOL ? v : glow_then_cast(e->b, v, e->kind);
}

GlowValue *glow_slope_out(GlowExpand *e) {
  return glow_then_cast(e->b, glow_node_out(e->n, 0), e->kind);
}

GlowValue *glow_slope_seed(GlowExpand *e, const GlowGrad *g) {
  return glow_then_cast(e->b, g->dy[0], e->kind);
}

GlowValue *glow_slope_zero(const GlowGrad *g) {
  return glow_build_scalar(g->b, g->dy[0]->type->kind, 0);
}
