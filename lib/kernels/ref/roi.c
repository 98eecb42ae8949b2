/* RoiAlign and MaxRoiPool: regions of feature maps [batch, channels, height, width].
 *
 * RoiAlign computes in double and rounds once. A sample is interpolated between four elements; the
 * mean is one chain of fused multiply-adds over the samples of a cell in row-major order, and the
 * maximum is over the four weighted elements of each sample, as ONNX defines it. Samples more than
 * one element outside are 0. MaxRoiPool divides a region into cells by exact integers. */
#include "kernels/ref/ref.h"

/* One axis of a region. */
typedef struct GlowRoiAxis {
  int64_t extent;     /* of X */
  double start, cell; /* where the region begins; the size of a cell */
  double samples;     /* in a cell */
} GlowRoiAxis;

/* A sample between two neighbours on an axis: their indices and weights. */
typedef struct GlowSample {
  int64_t low, high;
  double low_weight, high_weight;
} GlowSample;

/* ---- RoiAlign -------------------------------------------------------------------------------- */

static bool roi_axis(const GlowRoiAlignMembers *m, double start, double end, uint32_t cells,
                     int64_t extent, GlowRoiAxis *a) {
  bool half = m->coordinate_transformation_mode == GLOW_ROI_COORDINATES_HALF_PIXEL;
  double scale = (double)m->spatial_scale, shift = half ? 0.5 : 0;
  *a = (GlowRoiAxis){.extent = extent, .start = start * scale - shift};
  double size = end * scale - shift - a->start;
  if (!(glow_fabs(a->start) < 0x1p31) || !(glow_fabs(size) < 0x1p31))
    return false;
  size = !half && size < 1 ? 1 : size;
  a->cell = size / cells;
  a->samples = m->sampling_ratio ? m->sampling_ratio : glow_ceil(a->cell);
  a->samples = a->samples > 0 ? a->samples : 0;
  return true;
}

/* Samples [first, end) of a cell that may lie on X or within one element of it. */
static void samples_inside(const GlowRoiAxis *a, double origin, int64_t *first, int64_t *end) {
  double step = a->cell / a->samples, from = 0, to = a->samples;
  if (step > 0) {
    double low = glow_floor((-1 - origin) / step - 1),
           high = glow_ceil(((double)a->extent - origin) / step + 1);
    from = low > from ? low : from;
    to = high < to ? high : to;
  }
  *first = (int64_t)from;
  *end = to > from ? (int64_t)to : *first;
}

/* Sample i of a cell; false if it is outside. */
static bool sample_at(const GlowRoiAxis *a, double origin, int64_t i, GlowSample *s) {
  double v = origin + ((double)i + 0.5) * a->cell / a->samples, size = (double)a->extent;
  if (v < -1 || v > size)
    return false;
  v = v > 0 ? v : 0;
  bool last = v >= size - 1;
  s->low = last ? a->extent - 1 : (int64_t)v;
  s->high = last ? s->low : s->low + 1;
  s->high_weight = last ? 0 : v - (double)s->low;
  s->low_weight = 1 - s->high_weight;
  return true;
}

/* A running sum or maximum. */
typedef struct GlowPooled {
  bool max, any;
  double value;
} GlowPooled;

static void take(GlowPooled *p, double weight, double v) {
  if (!p->max)
    p->value = weight != 0 ? glow_fma(weight, v, p->value) : p->value;
  else
    p->value = p->any ? glow_max_d(p->value, weight * v) : weight * v;
  p->any = true;
}

static void take_sample(GlowPooled *p, const GlowBuf *x, int64_t base, const GlowSample *v,
                        const GlowSample *h) {
  int64_t rows[2] = {v->low, v->high}, columns[2] = {h->low, h->high};
  double row_weights[2] = {v->low_weight, v->high_weight};
  double column_weights[2] = {h->low_weight, h->high_weight};
  for (int i = 0; i < 4; i++) {
    double e;
    int64_t at = base + rows[i / 2] * x->strides[2] + columns[i % 2] * x->strides[3];
    glow_load_real(x, at, 1, 1, &e);
    take(p, row_weights[i / 2] * column_weights[i % 2], e);
  }
}

static double align_cell(const GlowRoiAlignMembers *m, const GlowBuf *x, int64_t base,
                         const GlowRoiAxis *axes, const int64_t *cell) {
  GlowPooled p = {.max = m->mode == GLOW_ROI_MODE_MAX};
  double origin[2], count = axes[0].samples * axes[1].samples;
  int64_t first[2], end[2];
  if (count == 0)
    return 0;
  for (int i = 0; i < 2; i++) {
    origin[i] = axes[i].start + (double)cell[i] * axes[i].cell;
    samples_inside(&axes[i], origin[i], &first[i], &end[i]);
  }
  double seen = 0;
  for (int64_t i = first[0]; i < end[0]; i++) {
    GlowSample v, h;
    if (!sample_at(&axes[0], origin[0], i, &v))
      continue;
    for (int64_t j = first[1]; j < end[1]; j++) {
      if (!sample_at(&axes[1], origin[1], j, &h))
        continue;
      take_sample(&p, x, base, &v, &h);
      seen++;
    }
  }
  if (p.max && seen < count)
    take(&p, 0, 0);
  return p.max ? p.value : p.value / count;
}

GlowRunError glow_kernel_roi_align(GlowCall *call) {
  const GlowRoiAlignMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *rois = &call->in[1], *batches = &call->in[2];
  GlowBuf *y = &call->out[0];
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  if (x->dims[2] == 0 || x->dims[3] == 0 || rois->dims[1] != 4 || rois->dims[0] != y->dims[0] ||
      batches->dims[0] != y->dims[0])
    return GLOW_RUN_SHAPE;
  for (int64_t r = 0; r < y->dims[0]; r++) {
    int64_t batch = glow_ref_int(batches, r), to = r * y->strides[0];
    double box[4];
    GlowRoiAxis axes[2];
    call->detail = batch;
    if (batch < 0 || batch >= x->dims[0])
      return GLOW_RUN_INDEX;
    glow_load_real(rois, r * 4, 1, 4, box);
    if (!roi_axis(m, box[1], box[3], m->output_height, x->dims[2], &axes[0]) ||
        !roi_axis(m, box[0], box[2], m->output_width, x->dims[3], &axes[1]))
      return GLOW_RUN_VALUE;
    int64_t index[3] = {0};
    do {
      int64_t base = batch * x->strides[0] + index[0] * x->strides[1];
      glow_ref_store_number(y, to++, align_cell(m, x, base, axes, index + 1));
    } while (glow_next_index(3, y->dims + 1, index));
  }
  return GLOW_RUN_OK;
}

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

/* Rounds v * scale to an integer, halves away from 0; false if no map has such a place. */
static bool whole(double v, float scale, int64_t *result) {
  double product = (double)(float)(v * (double)scale), size = glow_fabs(product);
  if (!(size < 0x1p31))
    return false;
  *result = (int64_t)glow_floor(size + 0.5);
  *result = product < 0 ? -*result : *result;
  return true;
}

/* Elements [from, to) of cell i of a region, on an axis of n. */
static void cell_range(int64_t start, int64_t end, int64_t cells, int64_t i, int64_t n,
                       int64_t *from, int64_t *to) {
  int64_t size = end - start + 1 > 1 ? end - start + 1 : 1;
  *from = start + i * size / cells;
  *to = start + ((i + 1) * size + cells - 1) / cells;
  *from = *from < 0 ? 0 : *from < n ? *from : n;
  *to = *to < 0 ? 0 : *to < n ? *to : n;
}

static double largest(const GlowBuf *x, int64_t base, const int64_t *from, const int64_t *to) {
  GlowPooled p = {.max = true};
  for (int64_t i = from[0]; i < to[0]; i++)
    for (int64_t j = from[1]; j < to[1]; j++) {
      double v;
      glow_load_real(x, base + i * x->strides[2] + j * x->strides[3], 1, 1, &v);
      take(&p, 1, v);
    }
  return p.value;
}

GlowRunError glow_kernel_max_roi_pool(GlowCall *call) {
  const GlowMaxRoiPoolMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *rois = &call->in[1];
  GlowBuf *y = &call->out[0];
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  if (x->dims[2] == 0 || x->dims[3] == 0 || rois->dims[1] != 5)
    return GLOW_RUN_SHAPE;
  for (int64_t r = 0; r < y->dims[0]; r++) {
    double box[5];
    int64_t batch, corner[4], to = r * y->strides[0], index[3] = {0};
    glow_load_real(rois, r * 5, 1, 5, box);
    batch = call->detail = glow_trunc_i64(box[0]);
    if (!(box[0] >= 0) || batch >= x->dims[0])
      return GLOW_RUN_INDEX;
    for (int i = 0; i < 4; i++)
      if (!whole(box[i + 1], m->spatial_scale, &corner[i]))
        return GLOW_RUN_VALUE;
    do {
      int64_t from[2], end[2], base = batch * x->strides[0] + index[0] * x->strides[1];
      for (int a = 0; a < 2; a++)
        cell_range(corner[1 - a], corner[3 - a], y->dims[2 + a], index[1 + a], x->dims[2 + a],
                   &from[a], &end[a]);
      glow_ref_store_number(y, to++, largest(x, base, from, end));
    } while (glow_next_index(3, y->dims + 1, index));
  }
  return GLOW_RUN_OK;
}
