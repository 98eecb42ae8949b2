/* Resize: one axis after the other, the last one first. Coordinates, weights and sums are double;
 * the result is rounded once. A place of the result along an axis is a sum over neighbours in
 * ascending order, one chain of fused multiply-adds from +0; elements of weight 0 take no part. */
#include "kernels/ref/resize_plan.h"

/* to[outer, out, inner] from from[outer, in, inner]. */
static void resize_axis(const GlowResizePlan *p, const GlowResizeAxis *a, const double *from,
                        double *to, int64_t outer, int64_t inner, double *weights) {
  GlowTaps t = {.weights = weights};
  for (int64_t i = 0; i < a->out; i++) {
    if (glow_resize_is_outside(p, a, i))
      continue; /* see store */
    glow_resize_taps(p, a, i, &t);
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

/* The memory of `b` as a plain buffer: its physical axes, then its blocks as axes. */
static GlowBuf flat(const GlowBuf *b) {
  GlowBuf f = *b;
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL];
  f.rank = glow_ref_physical(b, dims, strides);
  f.rank = f.rank > GLOW_MAX_RANK ? GLOW_MAX_RANK : f.rank; /* the plan refuses more */
  f.nblocks = 0;
  for (uint32_t a = 0; a < f.rank; a++) {
    f.dims[a] = dims[a];
    f.strides[a] = strides[a];
  }
  return f;
}

/* The number of elements of the largest tensor on the way from X to Y. */
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
  GlowBuf x = flat(&call->in[0]), y = flat(&call->out[0]);
  size_t places = 0;
  for (uint32_t a = 0; a < y.rank; a++)
    places += (size_t)y.dims[a];
  if (m->mode == GLOW_RESIZE_MODE_NEAREST)
    return places * sizeof(int64_t);
  return (2 * most_elements(&x, &y) + (size_t)longest_axis(&x)) * sizeof(double);
}

/* One row along the last axis, element by element; places whose index is -1 stay as they are. */
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

/* Copies in runs: rows along the last axis if it changes, else boxes of all axes at the end that
 * stay. */
static void resize_nearest(const GlowResizePlan *p, GlowBuf *y, int64_t *table) {
  const GlowBuf *x = p->x;
  const int64_t *at[GLOW_MAX_RANK];
  int64_t index[GLOW_MAX_RANK] = {0}, run = 1;
  uint32_t moving = x->rank;
  for (uint32_t a = 0; a < x->rank; a++) {
    at[a] = table;
    for (int64_t i = 0; i < p->axes[a].out; i++)
      *table++ = glow_resize_nearest(p, &p->axes[a], i);
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

/* Stores v; places outside of the crop get extrapolation_value. */
static void store(const GlowResizePlan *p, GlowBuf *y, const double *v) {
  int64_t index[GLOW_MAX_RANK] = {0}, to = 0;
  bool crop = p->m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE;
  do {
    bool filled = false;
    for (uint32_t a = 0; crop && a < y->rank && !filled; a++)
      filled = glow_resize_is_outside(p, &p->axes[a], index[a]);
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
  GlowResizePlan p;
  if (glow_buf_elements(&call->out[0]) == 0)
    return GLOW_RUN_OK;
  if (glow_buf_elements(&call->in[0]) == 0 || !glow_resize_plan(call, &p))
    return GLOW_RUN_VALUE;
  GlowBuf x = flat(&call->in[0]), y = flat(&call->out[0]);
  p.x = &x;
  if (p.m->mode == GLOW_RESIZE_MODE_NEAREST)
    resize_nearest(&p, &y, call->scratch);
  else
    interpolate(&p, &y, call->scratch);
  if (call->out[0].nblocks)
    glow_ref_clear_padding(&call->out[0]);
  return GLOW_RUN_OK;
}
