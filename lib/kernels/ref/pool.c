/* MaxPool, AveragePool and LpPool over windows of any spatial rank, in any layout.
 *
 * A window is clipped to the input; its elements are visited in ascending spatial order. Maximum:
 * the first of equals, a NaN above all. Mean: a chain of additions from +0, then one division by
 * the number of elements, which with count_include_pad counts padding, but not what ceil mode adds
 * beyond it. Norm: the same chain over |x|^p (x * x for p = 2), then the root. */
#include "kernels/ref/ref.h"

typedef struct GlowPoolPlan {
  const GlowBuf *x;
  uint32_t spatial, c_axis, first_axis; /* number of spatial axes; of channels; first spatial one */
  int64_t kernel[GLOW_MAX_RANK], stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  int64_t before[GLOW_MAX_RANK], after[GLOW_MAX_RANK], out[GLOW_MAX_RANK];
  bool include_pad;
  float norm; /* LpPool's p */
} GlowPoolPlan;

/* One window: taps [first, end) of each axis lie inside the input; `origin` is tap 0's index. */
typedef struct GlowWindow {
  int64_t first[GLOW_MAX_RANK], count[GLOW_MAX_RANK], origin[GLOW_MAX_RANK];
  int64_t elements; /* inside */
  int64_t divisor;  /* for the mean */
} GlowWindow;

static GlowPoolPlan pool_plan(const GlowBuf *x, const GlowBuf *y, int layout, GlowArray kernels,
                              GlowArray strides, GlowArray pads, GlowArray dilations) {
  GlowPoolPlan p = {.x = x, .spatial = x->rank - 2};
  bool nhwc = layout == GLOW_LAYOUT_NHWC;
  p.c_axis = nhwc ? x->rank - 1 : 1;
  p.first_axis = nhwc ? 1 : 2;
  for (uint32_t i = 0; i < p.spatial; i++) {
    p.kernel[i] = glow_listed(kernels, i, 1);
    p.stride[i] = glow_listed(strides, i, 1);
    p.dilation[i] = glow_listed(dilations, i, 1);
    p.before[i] = glow_listed(pads, i, 0);
    p.after[i] = glow_listed(pads, p.spatial + i, 0);
    p.out[i] = y->dims[p.first_axis + i];
  }
  return p;
}

static GlowWindow window_at(const GlowPoolPlan *p, const int64_t *place) {
  GlowWindow w = {.elements = 1, .divisor = 1};
  for (uint32_t i = 0; i < p->spatial; i++) {
    int64_t n = p->x->dims[p->first_axis + i], d = p->dilation[i];
    int64_t o = place[i] * p->stride[i] - p->before[i];
    int64_t first = o < 0 ? (-o + d - 1) / d : 0;
    int64_t end = n > o ? (n - o + d - 1) / d : 0;
    end = end < p->kernel[i] ? end : p->kernel[i];
    int64_t limit = n + p->after[i] > o ? (n + p->after[i] - o + d - 1) / d : 0;
    limit = limit < p->kernel[i] ? limit : p->kernel[i];
    w.origin[i] = o;
    w.first[i] = first;
    w.count[i] = end > first ? end - first : 0;
    w.elements *= w.count[i];
    w.divisor *= p->include_pad ? limit : w.count[i];
  }
  return w;
}

/* The input index of tap `tap` (counted from the first inside), and its part of the offset. */
static int64_t tap_offset(const GlowPoolPlan *p, const GlowWindow *w, const int64_t *tap,
                          int64_t *index) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < p->spatial; i++) {
    index[i] = w->origin[i] + (w->first[i] + tap[i]) * p->dilation[i];
    offset += glow_axis_offset(p->x, p->first_axis + i, index[i]);
  }
  return offset;
}

/* The flat index into X as ONNX counts it: row-major over batch, channel and space, or column-major
 * over space. In NHWC, channels come behind space. */
static int64_t flat_index(const GlowPoolPlan *p, int64_t n, int64_t c, const int64_t *index,
                          bool column_major) {
  int64_t at = 0, size = 1;
  for (uint32_t i = 0; i < p->spatial; i++)
    size *= p->x->dims[p->first_axis + i];
  if (column_major) {
    for (uint32_t i = p->spatial; i-- > 0;)
      at = at * p->x->dims[p->first_axis + i] + index[i];
  } else {
    for (uint32_t i = 0; i < p->spatial; i++)
      at = at * p->x->dims[p->first_axis + i] + index[i];
  }
  if (p->c_axis == 1)
    return (n * p->x->dims[1] + c) * size + at;
  return (n * size + at) * p->x->dims[p->c_axis] + c;
}

/* An element of any kind, comparable: doubles hold every float exactly. */
typedef struct GlowElement {
  double real;
  int64_t integer;
} GlowElement;

static GlowElement element_at(const GlowBuf *b, int64_t offset) {
  GlowElement e = {0, 0};
  if (b->quantized || glow_ref_class(b) >= GLOW_ROW_INT) {
    glow_load_int(b, offset, 1, 1, &e.integer);
  } else if (b->kind == GLOW_KIND_DOUBLE) {
    glow_load_double(b, offset, 1, 1, &e.real);
  } else {
    float v;
    glow_load_float(b, offset, 1, 1, &v);
    e.real = (double)v;
  }
  return e;
}
static bool above(const GlowElement *a, const GlowElement *b, GlowRowClass cls) {
  if (cls == GLOW_ROW_UINT)
    return (uint64_t)a->integer > (uint64_t)b->integer;
  if (cls == GLOW_ROW_INT)
    return a->integer > b->integer;
  return a->real > b->real || (a->real != a->real && b->real == b->real);
}

typedef struct GlowMaxPlace {
  int64_t offset; /* in X; -1: the window is empty */
  int64_t flat;
} GlowMaxPlace;

static GlowMaxPlace window_max(const GlowPoolPlan *p, const int64_t *place, int64_t n, int64_t c,
                               bool column_major, GlowRowClass cls) {
  GlowWindow w = window_at(p, place);
  GlowMaxPlace best = {-1, 0};
  if (w.elements == 0)
    return best;
  int64_t base = glow_axis_offset(p->x, 0, n) + glow_axis_offset(p->x, p->c_axis, c);
  int64_t tap[GLOW_MAX_RANK] = {0}, index[GLOW_MAX_RANK];
  GlowElement top = {0, 0};
  do {
    int64_t offset = base + tap_offset(p, &w, tap, index);
    GlowElement e = element_at(p->x, offset);
    if (best.offset < 0 || above(&e, &top, cls)) {
      best.offset = offset;
      best.flat = flat_index(p, n, c, index, column_major);
      top = e;
    }
  } while (glow_next_index(p->spatial, w.count, tap));
  return best;
}

/* What an empty window gives: the lowest number of the kind. */
static void store_lowest(GlowBuf *y, int64_t offset, GlowRowClass cls) {
  GlowBuf plain = *y;
  plain.quantized = false;
  uint32_t bits = glow_ref_bits(y->kind);
  int64_t low = cls == GLOW_ROW_INT ? (int64_t)(~UINT64_C(0) << (bits - 1)) : 0;
  float f = -__builtin_inff();
  double d = -__builtin_inf();
  if (cls == GLOW_ROW_DOUBLE)
    glow_store_double(y, offset, 1, 1, &d);
  else if (cls == GLOW_ROW_FLOAT)
    glow_store_float(y, offset, 1, 1, &f);
  else
    glow_store_int(&plain, offset, 1, 1, &low);
}

GlowRunError glow_kernel_max_pool(GlowCall *call) {
  const GlowMaxPoolMembers *m = call->members;
  GlowBuf *y = &call->out[0], *arg = &call->out[1];
  GlowBuf x = call->in[0], plain = *y;
  x.quantized = plain.quantized = false; /* quantization keeps the order */
  GlowPoolPlan p = pool_plan(&x, y, m->layout, m->kernels, m->strides, m->pads, m->dilations);
  GlowRowClass cls = glow_ref_class(&x);
  glow_ref_clear_padding(y);
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  GlowBoxCopy one = {.dst = y->data, .src = x.data, .bits = glow_ref_bits(y->kind)};
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    int64_t c = index[p.c_axis], to = glow_index_offset(y, index);
    GlowMaxPlace best = window_max(&p, index + p.first_axis, index[0], c, m->column_major, cls);
    if (best.offset < 0) {
      store_lowest(y, to, cls);
    } else {
      one.dst_offset = to;
      one.src_offset = best.offset;
      glow_box_copy(&one);
    }
    if (call->nout > 1 && glow_buf_present(arg))
      glow_store_int(arg, glow_index_offset(arg, index), 1, 1, &best.flat);
  } while (glow_next_index(y->rank, y->dims, index));
  return GLOW_RUN_OK;
}

/* Along the last axis the taps are a run. */
#define CHAIN(NAME, T, LOAD, TERM)                                                                 \
  static T NAME##_##T(const GlowPoolPlan *p, const GlowWindow *w, int64_t base) {                  \
    int64_t tap[GLOW_MAX_RANK] = {0}, index[GLOW_MAX_RANK];                                        \
    uint32_t last = p->spatial - 1;                                                                \
    T sum = 0, row[64];                                                                            \
    do {                                                                                           \
      for (int64_t done = 0; done < w->count[last]; done += 64) {                                  \
        int64_t n = w->count[last] - done < 64 ? w->count[last] - done : 64;                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
          tap[last] = done + i;                                                                    \
          LOAD(p->x, base + tap_offset(p, w, tap, index), 1, 1, &row[i]);                          \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                            \
          sum += TERM(row[i], p->norm);                                                            \
      }                                                                                            \
      tap[last] = 0;                                                                               \
    } while (glow_next_index(last, w->count, tap));                                                \
    return sum;                                                                                    \
  }
#define ELEMENT(v, p) (v)
#define POWER(v, p) ((p) == 1 ? ABS(v) : (p) == 2 ? (v) * (v) : POW(ABS(v), (p)))
CHAIN(mean, float, glow_load_float, ELEMENT)
CHAIN(mean, double, glow_load_double, ELEMENT)
CHAIN(powers, float, glow_load_float, POWER)
CHAIN(powers, double, glow_load_double, POWER)

GlowRunError glow_kernel_average_pool(GlowCall *call) {
  const GlowAveragePoolMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  GlowPoolPlan p = pool_plan(x, y, m->layout, m->kernels, m->strides, m->pads, m->dilations);
  p.include_pad = m->count_include_pad;
  glow_ref_clear_padding(y);
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  bool wide = x->kind == GLOW_KIND_DOUBLE;
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    GlowWindow w = window_at(&p, index + p.first_axis);
    int64_t base = glow_axis_offset(x, 0, index[0]), to = glow_index_offset(y, index);
    base += glow_axis_offset(x, p.c_axis, index[p.c_axis]);
    if (wide) {
      double v = (w.elements ? mean_double(&p, &w, base) : 0.0) / (double)w.divisor;
      glow_store_double(y, to, 1, 1, &v);
    } else {
      float v = (w.elements ? mean_float(&p, &w, base) : 0.0f) / (float)w.divisor;
      glow_store_float(y, to, 1, 1, &v);
    }
  } while (glow_next_index(y->rank, y->dims, index));
  return GLOW_RUN_OK;
}

#define ROOT(sum, p, one) ((p) == 1 ? (sum) : (p) == 2 ? SQRT(sum) : POW(sum, (one) / (p)))

GlowRunError glow_kernel_lp_pool(GlowCall *call) {
  const GlowLpPoolMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  GlowPoolPlan p = pool_plan(x, y, m->layout, m->kernels, m->strides, m->pads, m->dilations);
  p.norm = m->p;
  glow_ref_clear_padding(y);
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    GlowWindow w = window_at(&p, index + p.first_axis);
    int64_t base = glow_axis_offset(x, 0, index[0]), to = glow_index_offset(y, index);
    base += glow_axis_offset(x, p.c_axis, index[p.c_axis]);
    if (x->kind == GLOW_KIND_DOUBLE) {
      double sum = w.elements ? powers_double(&p, &w, base) : 0.0, norm = (double)m->p;
      sum = ROOT(sum, norm, 1.0);
      glow_store_double(y, to, 1, 1, &sum);
    } else {
      float sum = w.elements ? powers_float(&p, &w, base) : 0.0f;
      sum = ROOT(sum, m->p, 1.0f);
      glow_store_float(y, to, 1, 1, &sum);
    }
  } while (glow_next_index(y->rank, y->dims, index));
  return GLOW_RUN_OK;
}
