/* GridSample for any number of spatial axes. Coordinates, weights and sums are double, rounded
 * once. An element of the result is a chain of fused multiply-adds from +0 over the neighbours of
 * its place in row-major order; the weight of a neighbour is a product over the axes. Neighbours of
 * weight 0 take no part; with zeros as padding, nor do those outside of X. For the nearest element
 * a coordinate is rounded to float, then to even. */
#include "kernels/ref/ref.h"

/* The neighbours of a place along an axis: indices (-1: outside) and weights. */
typedef struct GlowNeighbours {
  int64_t count, index[4];
  double weight[4];
} GlowNeighbours;

/* v reflected at low and high until it lies between them. */
static double reflect(double v, double low, double high) {
  double range = high - low;
  if (range <= 0 || !(glow_fabs(v) < 0x1p52))
    return low;
  double beyond = v < low ? low - v : v > high ? v - high : -1;
  if (beyond < 0)
    return v;
  double turns = glow_floor(beyond / range), rest = beyond - turns * range;
  bool even = glow_floor(turns / 2) * 2 == turns, below = v < low;
  return even == below ? low + rest : high - rest;
}

static double clamp(double v, double low, double high) {
  return v > low ? v < high ? v : high : low;
}

/* The element at index i of an axis of n, as the padding says. */
static int64_t inside(const GlowGridSampleMembers *m, double i, int64_t n) {
  double edge = m->align_corners ? 0 : 0.5;
  if (m->padding_mode == GLOW_GRID_PADDING_ZEROS)
    return i >= 0 && i < (double)n ? (int64_t)i : -1;
  if (m->padding_mode == GLOW_GRID_PADDING_REFLECTION)
    i = reflect(i, -edge, (double)n - 1 + edge);
  return (int64_t)clamp(i, 0, (double)n - 1);
}

/* Where coordinate v between -1 and 1 lies on an axis of n, after padding. */
static double place_on(const GlowGridSampleMembers *m, double v, int64_t n) {
  double size = (double)n, edge = m->align_corners ? 0 : 0.5;
  double x = m->align_corners ? (v + 1) / 2 * (size - 1) : ((v + 1) * size - 1) / 2;
  if (m->mode == GLOW_RESIZE_MODE_NEAREST)
    x = glow_rint((double)(float)x);
  double low = -edge, high = size - 1 + edge;
  if (x >= low && x <= high)
    return x;
  if (m->padding_mode == GLOW_GRID_PADDING_BORDER && m->mode != GLOW_RESIZE_MODE_CUBIC)
    return clamp(x, 0, size - 1);
  if (m->padding_mode == GLOW_GRID_PADDING_REFLECTION)
    return reflect(x, low, high);
  return clamp(x, -4, size + 4); /* from there on all neighbours are outside; NaN is -4 */
}

static void find_neighbours(const GlowGridSampleMembers *m, double v, int64_t n,
                            GlowNeighbours *s) {
  const double a = -0.75;
  double x = place_on(m, v, n), base = glow_floor(x), t = x - base, u = 1 - t;
  if (m->mode == GLOW_RESIZE_MODE_NEAREST) {
    *s = (GlowNeighbours){.count = 1, .index = {inside(m, x, n)}, .weight = {1}};
    return;
  }
  bool linear = m->mode == GLOW_RESIZE_MODE_LINEAR;
  *s = (GlowNeighbours){.count = linear ? 2 : 4, .weight = {u, t}};
  if (!linear) {
    s->weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    s->weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    s->weight[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    s->weight[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
  }
  for (int64_t k = 0; k < s->count; k++)
    s->index[k] = inside(m, base + (double)(linear ? k : k - 1), n);
}

/* The chain over all neighbours, of the channel at `base`. */
static double interpolate(const GlowBuf *x, const GlowNeighbours *axes, int64_t base) {
  uint32_t spatial = x->rank - 2;
  int64_t counts[GLOW_MAX_RANK], k[GLOW_MAX_RANK] = {0};
  double sum = 0;
  for (uint32_t a = 0; a < spatial; a++)
    counts[a] = axes[a].count;
  do {
    int64_t at = base;
    double weight = 1, v;
    for (uint32_t a = 0; a < spatial; a++) {
      int64_t index = axes[a].index[k[a]];
      weight = index < 0 ? 0 : weight * axes[a].weight[k[a]];
      at += index * x->strides[a + 2];
    }
    if (weight != 0) {
      glow_load_real(x, at, 1, 1, &v);
      sum = glow_fma(weight, v, sum);
    }
  } while (glow_next_index(spatial, counts, k));
  return sum;
}

/* Copies the nearest element, or zero bits. */
static void copy_nearest(const GlowBuf *x, GlowBuf *y, const GlowNeighbours *axes, int64_t base,
                         int64_t to) {
  static const uint64_t zero[2] = {0, 0};
  GlowBoxCopy one = {.dst = y->data, .src = x->data, .dst_offset = to, .src_offset = base};
  one.bits = glow_ref_bits(y->kind);
  for (uint32_t a = 0; a + 2 < x->rank; a++) {
    if (axes[a].index[0] < 0) {
      one.src = zero;
      one.src_offset = 0;
      break;
    }
    one.src_offset += axes[a].index[0] * x->strides[a + 2];
  }
  glow_box_copy(&one);
}

GlowRunError glow_kernel_grid_sample(GlowCall *call) {
  const GlowGridSampleMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *grid = &call->in[1];
  GlowBuf *y = &call->out[0];
  uint32_t spatial = x->rank - 2;
  int64_t index[GLOW_MAX_RANK] = {0}, dims[GLOW_MAX_RANK], from = 0;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  if (grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != spatial)
    return GLOW_RUN_SHAPE;
  for (uint32_t a = 2; a < x->rank; a++)
    if (x->dims[a] == 0)
      return GLOW_RUN_SHAPE;
  for (uint32_t a = 0; a < y->rank; a++)
    dims[a] = a == 1 ? 1 : y->dims[a];
  do {
    GlowNeighbours axes[GLOW_MAX_RANK];
    double v[GLOW_MAX_RANK];
    glow_load_real(grid, from, 1, spatial, v);
    from += spatial;
    for (uint32_t a = 0; a < spatial; a++)
      find_neighbours(m, v[spatial - 1 - a], x->dims[a + 2], &axes[a]);
    int64_t to = glow_index_offset(y, index), base = index[0] * x->strides[0];
    for (int64_t c = 0; c < y->dims[1]; c++, to += y->strides[1], base += x->strides[1]) {
      if (m->mode == GLOW_RESIZE_MODE_NEAREST)
        copy_nearest(x, y, axes, base, to);
      else
        glow_ref_store_number(y, to, interpolate(x, axes, base));
    }
  } while (glow_next_index(y->rank, dims, index));
  return GLOW_RUN_OK;
}
