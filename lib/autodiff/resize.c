/* The gradient rule of Resize. Along an axis it is a product with a matrix, of which row i is what
 * Resize makes of a line with 1 at place i: Resize of the identity. dX is the product of these
 * matrices and dY, axis by axis. */
#include "autodiff/parts.h"

/* Whether scales are given, not sizes. */
static bool has_scales(const GlowGrad *g) {
  const GlowValue *scales = glow_grad_in(g, GLOW_RESIZE_IN_SCALES);
  return scales && !(glow_type_is_static(scales->type) && glow_type_elements(scales->type) == 0);
}

/* The begin and end of the crop along listed axis k of n; NULL if there is none. */
static GlowValue *crop_of(const GlowGrad *g, uint32_t k, uint32_t n) {
  const GlowResizeMembers *m = g->n->members;
  GlowValue *roi = glow_grad_in(g, GLOW_RESIZE_IN_ROI);
  if (m->coordinate_transformation_mode != GLOW_COORDINATES_TF_CROP_AND_RESIZE)
    return NULL;
  GlowValue *ends[] = {glow_build_part(g->b, g->n, roi, 0, k, k + 1, 1),
                       glow_build_part(g->b, g->n, roi, 0, k + n, k + n + 1, 1)};
  return glow_build_concat(g->b, ends, 2, 0);
}

/* [in, out] for an axis, which is number k of n in the lists. What lies outside of a crop takes
 * nothing. */
static GlowValue *matrix_of(const GlowGrad *g, uint32_t axis, uint32_t k, uint32_t n) {
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  int64_t in = x->dims[axis].size, out = y->dims[axis].size, second = 1;
  GlowModule *module = g->b->module;
  GlowResizeMembers m = *(const GlowResizeMembers *)g->n->members;
  m.axes = glow_array_i64(module, &second, 1);
  m.extrapolation_value = 0;
  const GlowType *square = glow_type_exact(module->ctx, x->kind, 2, (int64_t[]){in, in});
  GlowValue *unit =
      glow_then1(g->b, GLOW_OP_EYE_LIKE, glow_build_filled(g->b, square, (GlowScalar){.f = 0}),
                 &(GlowEyeLikeMembers){.kind = x->kind});
  GlowValue *ins[] = {unit, crop_of(g, k, n), NULL, NULL};
  if (has_scales(g))
    ins[2] = glow_build_part(g->b, g->n, glow_grad_in(g, GLOW_RESIZE_IN_SCALES), 0, k, k + 1, 1);
  else
    ins[3] = glow_constant_ints(module, g->n, "size", &out, 1);
  const GlowType *whole = glow_type_exact(module->ctx, x->kind, 2, (int64_t[]){in, out});
  GlowNodeSpec spec = {.op = GLOW_OP_RESIZE, .ins = ins, .nins = 4, .members = &m, .types = &whole};
  GlowNode *node = unit ? glow_node_create(g->b, &spec) : NULL;
  return node ? &node->results[0] : NULL;
}

bool glow_grad_resize(GlowGrad *g) {
  const GlowResizeMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  int64_t dims[GLOW_MAX_RANK];
  GlowValue *v = g->dy[0];
  bool crop = m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  if (!glow_type_is_static(x) || !glow_type_is_static(y))
    return false;
  if (m->keep_aspect_ratio_policy != GLOW_ASPECT_POLICY_STRETCH && !has_scales(g)) {
    glow_error(g->b->module->ctx, glow_node_loc(g->n),
               "Resize has a derivative only with keep_aspect_ratio_policy = stretch");
    return false;
  }
  uint32_t n = m->axes.count ? m->axes.count : x->rank;
  for (uint32_t i = 0; i < x->rank; i++)
    dims[i] = y->dims[i].size;
  for (uint32_t k = 0; v && k < n; k++) {
    uint32_t axis = m->axes.count ? glow_grad_axis(glow_array_at(m->axes, int64_t, k), x) : k;
    int64_t before = 1, rest = 1;
    if (x->dims[axis].size == dims[axis] && !crop && !has_scales(g))
      continue;
    for (uint32_t i = 0; i < x->rank; i++)
      if (i != axis)
        *(i < axis ? &before : &rest) *= dims[i];
    v = glow_build_shaped(g->b, g->n, v, 3, (int64_t[]){before, dims[axis], rest});
    v = glow_then2(g->b, GLOW_OP_MAT_MUL, matrix_of(g, axis, k, n), v);
    dims[axis] = x->dims[axis].size;
    v = glow_build_shaped(g->b, g->n, v, x->rank, dims);
  }
  return glow_grad_put(g, 0, v);
}
