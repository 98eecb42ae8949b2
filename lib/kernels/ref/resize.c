/* Resize: an axis after the other, the last one first. Coordinates, weights and sums are double,
 * and one rounding ends it; to choose the nearest element, the quotient by the scale is rounded to
 * float first, so that 1 / (1 / 3 in float) is 3. A place of the result along an axis is a sum over
 * neighbours in ascending order, one chain of fused multiply-adds from +0; weights that fall on the
 * same element at the border are added before, and elements of weight 0 take no part. */
#include "kernels/ref/ref.h"

typedef struct GlowResizeAxis {
  int64_t in, out;
  double scale;
  double length;     /* of the result before it was rounded down */
  double start, end; /* of the crop */
  bool fraction;     /* the scale is out / in exactly */
  bool same;         /* the axis stays as it is */
} GlowResizeAxis;

typedef struct GlowResizePlan {
  const GlowResizeMembers *m;
  const GlowBuf *x;
  GlowResizeAxis axes[GLOW_MAX_RANK];
} GlowResizePlan;

/* What one place along an axis takes: `count` elements from `first` on. */
typedef struct GlowTaps {
  int64_t first, count;
  double *weights; /* in scratch, as many as the axis has elements */
} GlowTaps;

/* ---- The plan -------------------------------------------------------------------------------- */

static double real_at(const GlowBuf *b, int64_t i) {
  double v;
  glow_load_real(b, i, 1, 1, &v);
  return v;
}

static uint32_t listed_axis(const GlowResizeMembers *m, uint32_t rank, uint32_t k) {
  int64_t axis = m->axes.count ? glow_array_at(m->axes, int64_t, k) : (int64_t)k;
  return (uint32_t)(axis < 0 ? axis + rank : axis);
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

/* Y has elements, so X has too. */
static bool plan(const GlowCall *call, GlowResizePlan *p) {
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
  return true;
}

/* ---- Coordinates ----------------------------------------------------------------------------- */

/* v / scale. */
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

/* Whether place i is beyond X, where the crop is filled. */
static bool is_outside(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i) {
  if (p->m->coordinate_transformation_mode != GLOW_COORDINATES_TF_CROP_AND_RESIZE || a->same)
    return false;
  double x = coordinate(p, a, i);
  return !(x >= 0 && x <= (double)(a->in - 1));
}

static int64_t limited(double v, int64_t n) {
  return v > 0 ? v < (double)n ? (int64_t)v : n - 1 : 0;
}

/* The nearest element, or -1 for what is filled. */
static int64_t nearest(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i) {
  if (a->same)
    return i;
  if (is_outside(p, a, i))
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

/* The elements that place i takes, with their weights. A shrinking axis has a wider filter if that
 * is wanted; its weights are divided by their sum, and so are those that lost some outside. */
static void find_taps(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i, GlowTaps *t) {
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

/* to[outer, out, inner] from from[outer, in, inner]. */
static void resize_axis(const GlowResizePlan *p, const GlowResizeAxis *a, const double *from,
                        double *to, int64_t outer, int64_t inner, double *weights) {
  GlowTaps t = {.weights = weights};
  for (int64_t i = 0; i < a->out; i++) {
    if (is_outside(p, a, i))
      continue; /* filled in the end */
    find_taps(p, a, i, &t);
    for (int64_t o = 0; o < outer; o++) {
      double *row = to + (o * a->out + i) * inner;
      const double *source = from + (o * a->in + t.first) * inner;
      for (int64_t j = 0; j < inner; j++)
        row[j] = 0;
      for (int64_t k = 0; k < t.count; k++)
        for (int64_t j = 0; weights[k] != 0 && j < inner; j++)
          row[j] = glow_fma(weights[k], source[k * inner + j], row[j]);
    }
  }
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* The largest tensor between X and Y. */
static size_t most_elements(const GlowBuf *x, const GlowBuf *y) {
  int64_t most = glow_buf_elements(x), now = most;
  for (uint32_t a = x->rank; a-- > 0 && now > 0;) {
    now = now / x->dims[a] * y->dims[a];
    most = now > most ? now : most;
  }
  return (size_t)most;
}

static int64_t longest_axis(const GlowBuf *x) {
  int64_t most = 0;
  for (uint32_t a = 0; a < x->rank; a++)
    most = x->dims[a] > most ? x->dims[a] : most;
  return most;
}

/* Nearest: an index for each place of each axis. Otherwise two tensors in double and weights. */
size_t glow_scratch_resize(const GlowCall *call) {
  const GlowResizeMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *y = &call->out[0];
  size_t places = 0;
  for (uint32_t a = 0; a < y->rank; a++)
    places += (size_t)y->dims[a];
  if (m->mode == GLOW_RESIZE_MODE_NEAREST)
    return places * sizeof(int64_t);
  return (2 * most_elements(x, y) + (size_t)longest_axis(x)) * sizeof(double);
}

/* One row along the last axis, element by element; -1 stays as it is. */
#define GATHER(T)                                                                                  \
  for (int64_t i = 0; i < n; i++)                                                                  \
    if (at[i] >= 0)                                                                                \
      ((T *)c->dst + c->dst_offset)[i] = ((const T *)c->src + c->src_offset)[at[i]];               \
  return;
typedef uint8_t Unit8 __attribute__((may_alias));
typedef uint16_t Unit16 __attribute__((may_alias));
typedef uint32_t Unit32 __attribute__((may_alias));
typedef uint64_t Unit64 __attribute__((may_alias));

static void gather_row(const GlowBoxCopy *c, const int64_t *at, int64_t n) {
  switch (c->bits) {
  case 8:
    GATHER(Unit8)
  case 16:
    GATHER(Unit16)
  case 32:
    GATHER(Unit32)
  case 64:
    GATHER(Unit64)
  default:
    for (int64_t i = 0; i < n; i++) {
      GlowBoxCopy one = *c;
      one.dst_offset += i;
      one.src_offset += at[i];
      if (at[i] >= 0)
        glow_box_copy(&one);
    }
  }
}

/* Rows of the last axis, or of all axes at the end that stay. */
static void resize_nearest(const GlowResizePlan *p, GlowBuf *y, int64_t *table) {
  const GlowBuf *x = p->x;
  const int64_t *at[GLOW_MAX_RANK];
  int64_t index[GLOW_MAX_RANK] = {0}, run = 1;
  uint32_t moving = x->rank;
  for (uint32_t a = 0; a < x->rank; a++) {
    at[a] = table;
    for (int64_t i = 0; i < p->axes[a].out; i++)
      *table++ = nearest(p, &p->axes[a], i);
  }
  while (moving > 0 && p->axes[moving - 1].same)
    run *= x->dims[--moving];
  bool rows = moving == x->rank && moving > 0;
  run = rows ? y->dims[--moving] : run;
  GlowBoxCopy c = {.dst = y->data, .src = x->data, .bits = glow_ref_bits(y->kind), .rank = !rows};
  c.dims[0] = run;
  c.dst_strides[0] = c.src_strides[0] = 1;
  do {
    bool filled = false;
    c.src_offset = 0;
    for (uint32_t a = 0; a < moving; a++) {
      filled |= at[a][index[a]] < 0;
      c.src_offset += at[a][index[a]] * x->strides[a];
    }
    if (!filled && rows)
      gather_row(&c, at[moving], run);
    else if (!filled)
      glow_box_copy(&c);
    for (int64_t j = 0; j < run; j++)
      if (filled || (rows && at[moving][j] < 0))
        glow_ref_store_number(y, c.dst_offset + j, (double)p->m->extrapolation_value);
    c.dst_offset += run;
  } while (glow_next_index(moving, y->dims, index));
}

/* Stores v, or what fills the crop. */
static void store(const GlowResizePlan *p, GlowBuf *y, const double *v) {
  int64_t index[GLOW_MAX_RANK] = {0}, to = 0;
  bool crop = p->m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  do {
    bool filled = false;
    for (uint32_t a = 0; crop && a < y->rank && !filled; a++)
      filled = is_outside(p, &p->axes[a], index[a]);
    glow_ref_store_number(y, to, filled ? (double)p->m->extrapolation_value : v[to]);
    to++;
  } while (glow_next_index(y->rank, y->dims, index));
}

static void interpolate(const GlowResizePlan *p, GlowBuf *y, double *scratch) {
  const GlowBuf *x = p->x;
  size_t most = most_elements(x, y);
  double *from = scratch, *to = from + most, *weights = to + most;
  int64_t outer = glow_buf_elements(x), inner = 1;
  glow_load_real(x, 0, 1, outer, from);
  for (uint32_t i = x->rank; i-- > 0;) {
    const GlowResizeAxis *a = &p->axes[i];
    outer /= a->in;
    if (!a->same) {
      resize_axis(p, a, from, to, outer, inner, weights);
      double *swap = from;
      from = to;
      to = swap;
    }
    inner *= a->out;
  }
  store(p, y, from);
}

GlowRunError glow_kernel_resize(GlowCall *call) {
  GlowBuf *y = &call->out[0];
  GlowResizePlan p;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  if (glow_buf_elements(&call->in[0]) == 0 || !plan(call, &p))
    return GLOW_RUN_VALUE;
  if (p.m->mode == GLOW_RESIZE_MODE_NEAREST)
    resize_nearest(&p, y, call->scratch);
  else
    interpolate(&p, y, call->scratch);
  return GLOW_RUN_OK;
}
