/* The gradient rule of DFT, a linear map whose adjoint is the transform the other way: of N points
 * N times the inverse, or 1 / N times the forward one. What was left out of a one-sided result is
 * 0; from a one-sided spectrum to a real line, each point that stands for two counts twice. */
#include "autodiff/parts.h"

/* v cut, or padded with zeros behind, to this extent along an axis. */
static GlowValue *fit(const GlowGrad *g, GlowValue *v, uint32_t axis, int64_t extent) {
  int64_t have = v ? v->type->dims[axis].size : 0;
  if (v && have > extent)
    return glow_build_part(g->b, g->n, v, axis, 0, extent, 1);
  return v ? glow_build_padded(g->b, g->n, v, axis, 0, extent - have) : NULL;
}

static GlowValue *scaled(const GlowGrad *g, GlowOp op, GlowValue *v, int64_t by) {
  return v ? glow_then2(g->b, op, v, glow_build_scalar(g->b, v->type->kind, (double)by)) : NULL;
}

/* dY of a real line of n samples, which a spectrum of n / 2 + 1 points gave. */
static GlowValue *back_to_spectrum(const GlowGrad *g, uint32_t axis, int64_t n) {
  GlowDFTMembers m = {.axis = axis, .onesided = true};
  GlowValue *v = glow_then1(g->b, GLOW_OP_DFT, g->dy[0], &m);
  int64_t points = n / 2 + 1, *times = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)points);
  for (int64_t k = 0; k < points; k++)
    times[k] = k == 0 || 2 * k == n ? 1 : 2;
  if (!v)
    return NULL;
  GlowValue *list =
      glow_constant_numbers(g->b->module, g->n, "times", v->type->kind, times, (uint32_t)points);
  list = glow_build_along(g->b, g->n, list, v->type->rank, axis);
  return scaled(g, GLOW_OP_DIV, glow_then2(g->b, GLOW_OP_MUL, v, list), n);
}

/* The number of points of the transform; 0 if it is not known. */
static int64_t length_of(const GlowGrad *g, uint32_t axis) {
  const GlowDFTMembers *m = g->n->members;
  const GlowValue *length = glow_grad_in(g, GLOW_DFT_IN_LENGTH);
  const GlowTensor *known = length ? glow_value_known(length) : NULL;
  if (m->inverse || !m->onesided)
    return g->dy[0]->type->dims[axis].size;
  if (length)
    return known ? glow_tensor_get_int(known, 0) : 0;
  return glow_grad_in(g, 0)->type->dims[axis].size;
}

bool glow_grad_dft(GlowGrad *g) {
  const GlowDFTMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(g->dy[0]->type))
    return false;
  uint32_t axis = glow_grad_axis(m->axis, x);
  int64_t n = length_of(g, axis);
  if (n == 0)
    return false;
  GlowValue *v = g->dy[0];
  if (m->inverse && m->onesided) {
    v = back_to_spectrum(g, axis, n);
  } else {
    GlowDFTMembers other = {.axis = axis, .inverse = !m->inverse};
    v = glow_then1(g->b, GLOW_OP_DFT, fit(g, v, axis, n), &other);
    v = scaled(g, m->inverse ? GLOW_OP_DIV : GLOW_OP_MUL, v, n);
  }
  v = fit(g, v, x->rank - 1, x->dims[x->rank - 1].size);
  return glow_grad_put(g, 0, fit(g, v, axis, x->dims[axis].size));
}
