/* Where a Resize takes its elements from. Coordinates and weights are double; to choose the nearest
 * element, the quotient by the scale is rounded to float first, so that 1 / (1 / 3 in float) is 3.
 * Weights that fall on the same element at the border are added. */
#include "kernels/ref/resize_plan.h"

/* ---- The plan -------------------------------------------------------------------------------- */

static double real_at(const GlowBuf *b, int64_t i) {
  double v;
  glow_load_real(b, i, 1, 1, &v);
  return v;
}

static uint32_t listed_axis(const GlowResizeMembers *m, uint32_t rank, uint32_t k) {
  int64_t axis = m->axes.count ? glow_array_at(m->axes, int64_t, k) : (int64_t)k;
  return glow_ref_axis(axis, rank);
}

static double common_scale(const GlowResizePlan *p, const GlowBuf *sizes, uint32_t n) {
  double scale = 0;
  for (uint32_t k = 0; k < n; k++) {
    double in = (double)p->x->dims[listed_axis(p->m, p->x->rank, k)];
    double s = (double)glow_ref_int(sizes, k) / in;
    bool better =
        p->m->keep_aspect_ratio_policy == GLOW_ASPECT_POLICY_NOT_LARGER ? s < scale : s > scale;
    scale = k == 0 || better ? s : scale;
  }
  return scale;
}

/* Reads scales or sizes. False if they contradict the extents of the result. */
static bool read_axis(const GlowResizePlan *p, const GlowBuf *scales, const GlowBuf *sizes,
                      double common, uint32_t k, GlowResizeAxis *a) {
  bool keep = p->m->keep_aspect_ratio_policy != GLOW_ASPECT_POLICY_STRETCH;
  if (scales) {
    float scale = (float)real_at(scales, k);
    a->scale = (double)scale;
    a->length = a->scale * (double)a->in;
    if (scale == 1)
      return a->out == a->in;
    return scale > 0 && scale < __builtin_inff() &&
           glow_floorf((float)a->in * scale) == (float)a->out;
  }
  a->fraction = !keep;
  a->scale = keep ? common : (double)a->out / (double)a->in;
  a->length = keep ? common * (double)a->in : (double)a->out;
  return a->out == (keep ? (int64_t)glow_floor(a->length + 0.5) : glow_ref_int(sizes, k));
}

/* From logical axes to physical ones. */
static bool add_blocks(GlowResizePlan *p) {
  const GlowBuf *x = p->x;
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL];
  p->rank = glow_ref_physical(x, dims, strides);
  if (p->rank > GLOW_MAX_RANK)
    return false;
  for (uint32_t a = 0; a < p->rank; a++) {
    if (a < x->rank && !glow_axis_blocked(x, a))
      continue;
    if (a < x->rank && !p->axes[a].same)
      return false;
    p->axes[a] = (GlowResizeAxis){.in = dims[a], .out = dims[a], .same = true};
  }
  return true;
}

bool glow_resize_plan(const GlowCall *call, GlowResizePlan *p) {
  *p = (GlowResizePlan){.m = call->members, .x = &call->in[0]};
  const GlowBuf *x = p->x, *y = &call->out[0], *roi = &call->in[1];
  const GlowBuf *scales = &call->in[2], *sizes = &call->in[3];
  uint32_t n = p->m->axes.count ? p->m->axes.count : x->rank;
  bool crop = p->m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  if (!glow_buf_present(scales) || glow_buf_elements(scales) == 0)
    scales = NULL;
  const GlowBuf *list = scales ? scales : sizes;
  if (n && (!glow_buf_present(list) || glow_buf_elements(list) != n ||
            (crop && (!glow_buf_present(roi) || glow_buf_elements(roi) != 2 * (int64_t)n))))
    return false;
  for (uint32_t i = 0; i < x->rank; i++)
    p->axes[i] = (GlowResizeAxis){.in = x->dims[i], .out = y->dims[i], .same = true};
  double common = n && !scales ? common_scale(p, sizes, n) : 0;
  for (uint32_t k = 0; k < n; k++) {
    GlowResizeAxis *a = &p->axes[listed_axis(p->m, x->rank, k)];
    a->start = crop ? real_at(roi, k) : 0;
    a->end = crop ? real_at(roi, k + n) : 1;
    if (!read_axis(p, scales, sizes, common, k, a))
      return false;
    a->same = !crop && a->in == a->out && a->scale == 1;
  }
  for (uint32_t i = 0; i < x->rank; i++)
    if (p->axes[i].same && p->axes[i].in != p->axes[i].out)
      return false;
  return add_blocks(p);
}

/* ---- Coordinates ----------------------------------------------------------------------------- */

/* v / scale, rounded to float to choose the nearest element. */
static double unscaled(const GlowResizePlan *p, const GlowResizeAxis *a, double v) {
  double q = a->fraction ? v * (double)a->in / (double)a->out : v / a->scale;
  return p->m->mode == GLOW_RESIZE_MODE_NEAREST ? (double)(float)q : q;
}

/* Where place i of the result lies in X. */
static double coordinate(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i) {
  double x = (double)i, last = (double)(a->in - 1), center = (double)a->in / 2;
  switch ((GlowEnumCoordinates)p->m->coordinate_transformation_mode) {
  case GLOW_COORDINATES_HALF_PIXEL:
    return unscaled(p, a, x + 0.5) - 0.5;
  case GLOW_COORDINATES_HALF_PIXEL_SYMMETRIC:
    return center * (1 - (double)a->out / a->length) + unscaled(p, a, x + 0.5) - 0.5;
  case GLOW_COORDINATES_PYTORCH_HALF_PIXEL:
    return a->out > 1 ? unscaled(p, a, x + 0.5) - 0.5 : 0;
  case GLOW_COORDINATES_ALIGN_CORNERS:
    return a->length == 1 ? 0 : x * last / (a->length - 1);
  case GLOW_COORDINATES_ASYMMETRIC:
    return unscaled(p, a, x);
  case GLOW_COORDINATES_TF_HALF_PIXEL_FOR_NN:
    return unscaled(p, a, x + 0.5);
  case GLOW_COORDINATES_TF_CROP_AND_RESIZE:
    return a->out > 1 ? a->start * last + x * (a->end - a->start) * last / (double)(a->out - 1)
                      : 0.5 * (a->start + a->end) * last;
  }
  return 0;
}

bool glow_resize_is_outside(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i) {
  if (p->m->coordinate_transformation_mode != GLOW_COORDINATES_TF_CROP_AND_RESIZE || a->same)
    return false;
  double x = coordinate(p, a, i);
  return !(x >= 0 && x <= (double)(a->in - 1));
}

static int64_t limited(double v, int64_t n) {
  return v > 0 ? v < (double)n ? (int64_t)v : n - 1 : 0;
}

int64_t glow_resize_nearest(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i) {
  if (a->same)
    return i;
  if (glow_resize_is_outside(p, a, i))
    return -1;
  double x = (double)(float)coordinate(p, a, i), r = x;
  switch ((GlowEnumNearestMode)p->m->nearest_mode) {
  case GLOW_NEAREST_MODE_ROUND_PREFER_FLOOR:
    r = glow_ceil(x - 0.5);
    break;
  case GLOW_NEAREST_MODE_ROUND_PREFER_CEIL:
    r = glow_floor(x + 0.5);
    break;
  case GLOW_NEAREST_MODE_FLOOR:
    r = glow_floor(x);
    break;
  case GLOW_NEAREST_MODE_CEIL:
    r = glow_ceil(x);
    break;
  }
  return limited(r, a->in);
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* The filter at distance d. */
static double filter(const GlowResizeMembers *m, double d) {
  double a = (double)m->cubic_coeff_a;
  d = glow_fabs(d);
  if (m->mode == GLOW_RESIZE_MODE_LINEAR)
    return d < 1 ? 1 - d : 0;
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* With `antialias`, the filter of an axis that shrinks is wider. Its weights are divided by their
 * sum, and so are all weights if elements outside are left out (exclude_outside). */
void glow_resize_taps(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i, GlowTaps *t) {
  const GlowResizeMembers *m = p->m;
  double x = coordinate(p, a, i), support = m->mode == GLOW_RESIZE_MODE_LINEAR ? 1 : 2, sum = 0;
  bool wide = m->antialias && a->scale < 1;
  double shrink = wide ? a->scale : 1;
  double low = glow_ceil(x - support / shrink), high = glow_floor(x + support / shrink);
  t->first = limited(low, a->in);
  t->count = limited(high, a->in) - t->first + 1;
  for (int64_t k = 0; k < t->count; k++)
    t->weights[k] = 0;
  bool drop = m->exclude_outside;
  for (double at = low; at <= high; at++) {
    double w = filter(m, (at - x) * shrink);
    if (drop && !(at >= 0 && at < (double)a->in))
      continue;
    t->weights[limited(at, a->in) - t->first] += w;
    sum += w;
  }
  for (int64_t k = 0; (wide || drop) && k < t->count; k++)
    t->weights[k] /= sum;
}
