/* Contractions as folding sees them; see contraction.h. */
#include "transforms/contraction.h"

bool glow_contraction_describe(GlowNode *n, GlowContraction *c) {
  if (n->op != GLOW_OP_CONVOLUTION && n->op != GLOW_OP_CONV_TRANSPOSE &&
      n->op != GLOW_OP_FULLY_CONNECTED && n->op != GLOW_OP_MAT_MUL)
    return false;
  const GlowType *x = glow_node_in(n, GLOW_CONTRACTION_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONTRACTION_W)->type, *y = n->results[0].type;
  if (x->unranked || y->unranked || !glow_type_is_static(w) || !glow_kind_is_float(y->kind) ||
      y->rank == 0)
    return false;
  *c = (GlowContraction){.node = n, .groups = 1};
  if (n->op == GLOW_OP_CONVOLUTION) {
    const GlowConvolutionMembers *m = n->members;
    if (m->strategy != GLOW_CONV_STRATEGY_DIRECT)
      return false; /* the filter has another form */
    bool last = m->layout == GLOW_LAYOUT_NHWC;
    c->x_axis = c->y_axis = last ? y->rank - 1 : 1;
    c->w_in = last ? w->rank - 1 : 1;
    c->groups = m->group;
  } else if (n->op == GLOW_OP_CONV_TRANSPOSE) {
    const GlowConvTransposeMembers *m = n->members;
    bool last = m->layout == GLOW_LAYOUT_NHWC;
    c->x_axis = c->y_axis = last ? y->rank - 1 : 1;
    c->w_out = last ? w->rank - 1 : 1;
    c->groups = m->group;
  } else if (w->rank == 2 && glow_product_is_direct(n)) {
    c->x_axis = x->rank - 1;
    c->y_axis = y->rank - 1;
    c->w_out = 1;
  } else {
    return false;
  }
  c->out = w->dims[c->w_out].size * (c->w_out ? c->groups : 1);
  c->in = w->dims[c->w_in].size * (c->w_in ? c->groups : 1);
  return true;
}

bool glow_is_bf16(const GlowNode *n) {
  if (n->op == GLOW_OP_CONVOLUTION)
    return ((const GlowConvolutionMembers *)n->members)->strategy == GLOW_CONV_STRATEGY_BF16;
  return n->op == GLOW_OP_MAT_MUL && !glow_product_is_direct(n);
}

GlowNode *glow_channels_reader(const GlowValue *v, uint32_t *axis) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    GlowContraction c;
    if (u == &u->user->operands[GLOW_CONTRACTION_X] && glow_contraction_describe(u->user, &c) &&
        v->type->dims[c.x_axis].kind == GLOW_DIM_EXACT) {
      *axis = c.x_axis;
      return u->user;
    }
  }
  return NULL;
}

bool glow_contraction_is_constant(const GlowContraction *c, GlowConstness *constness) {
  const GlowValue *b = glow_node_in(c->node, GLOW_CONTRACTION_B);
  if (!glow_constness_of(constness, glow_node_in(c->node, GLOW_CONTRACTION_W)))
    return false;
  return !b || (glow_constness_of(constness, b) && glow_type_is_static(b->type) &&
                b->type->rank == 1 && b->type->dims[0].size == c->out);
}

GlowValue *glow_contraction_build(const GlowContraction *c, GlowValue *const *ins) {
  GlowBuilder b = glow_builder_before(c->node);
  GlowValue *bias = ins[GLOW_CONTRACTION_B];
  bool product = c->node->op == GLOW_OP_MAT_MUL;
  GlowNode *fresh = glow_build(&b, c->node->op, ins, product ? 2 : 3, c->node->members, NULL);
  if (!fresh || !product || !bias)
    return fresh ? &fresh->results[0] : NULL;
  return glow_build2(&b, GLOW_OP_ADD, &fresh->results[0], bias, NULL, NULL);
}

bool glow_is_per_channel(const GlowType *t, uint32_t rank, uint32_t axis, int64_t channels) {
  if (!glow_type_is_static(t) || t->rank > rank)
    return false;
  for (uint32_t i = 0; i < t->rank; i++) {
    int64_t size = t->dims[i].size;
    if (size != 1 && !(rank - t->rank + i == axis && size == channels))
      return false;
  }
  return true;
}

bool glow_is_affine(const GlowNode *n) {
  return n->op == GLOW_OP_ADD || n->op == GLOW_OP_SUB || n->op == GLOW_OP_MUL ||
         n->op == GLOW_OP_DIV;
}

GlowValue *glow_norm_factor(GlowBuilder *b, const GlowNode *norm, GlowValue *scale,
                            GlowValue *var) {
  float epsilon = ((const GlowBatchNormalizationMembers *)norm->members)->epsilon;
  GlowValue *eps = var ? glow_build_scalar(b, var->type->kind, epsilon) : NULL;
  GlowValue *root = glow_then1(b, GLOW_OP_SQRT, glow_then2(b, GLOW_OP_ADD, var, eps), NULL);
  return glow_then2(b, GLOW_OP_DIV, scale, root);
}
