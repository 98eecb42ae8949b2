/* RoiAlign and MaxRoiPool: regions of maps [images, channels, height, width].
 *
 * What a region reads is planned once for all channels. RoiAlign has for each axis lists of two
 * neighbours and their weights in double, with weight 0 where a sample is outside; a vector of
 * cells of one row is summed for up to four channels at a time. The chain of a cell is the
 * reference kernel's: fused multiply-adds from +0 over the samples in row-major order. MaxRoiPool
 * takes the maxima of columns first, of integers in the order of the contract.
 *
 * Units are regions, then groups of channels. A plan stays while units have it in common. */
#include "kernels/kernels.h"

#include "doubles.h"
#include "glow/rt.h"
#include "grid_element.h"
#include "num/half.h"
#include "num/math.h"

#define EACH _Pragma("clang loop vectorize(enable) interleave(disable)")

enum { GROUP = 4 };

#define PLAIN(v) (v)
#define TO_FLOAT(v) ((float)(v))

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Which unit: a region and some of its channels. */
typedef struct Unit {
  int64_t region, channel, channels;
} Unit;
INLINE Unit unit_of(const GlowRegionParams *p, int64_t u) {
  const int64_t groups = (p->channels + GROUP - 1) / GROUP;
  Unit one = {.region = u / groups, .channel = u % groups * GROUP};
  one.channels = least(p->channels - one.channel, GROUP);
  return one;
}

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* One axis of a region: where it begins, the size of a cell, samples in a cell. */
typedef struct Axis {
  double start, cell, samples;
} Axis;

INLINE bool align_axis(const GlowRegionParams *p, int a, double begin, double end, Axis *axis) {
  const double scale = (double)glow_float_from_bits((uint32_t)p->scale), shift = p->half ? 0.5 : 0;
  axis->start = begin * scale - shift;
  double size = end * scale - shift - axis->start;
  if (!(glow_fabs(axis->start) < 0x1p31) || !(glow_fabs(size) < 0x1p31))
    return false;
  size = !p->half && size < 1 ? 1 : size;
  axis->cell = size / (double)p->cells[a];
  axis->samples = p->ratio ? (double)p->ratio : glow_ceil(axis->cell);
  axis->samples = axis->samples > 0 ? axis->samples : 0;
  return true;
}

/* The axes of a region; false if no map has such a place. */
INLINE bool align_axes(const GlowRegionParams *p, const void *rois, int64_t region, Axis *axes) {
  bool fine = true;
  UNROLL for (int a = 0; a < 2; a++) fine &=
      align_axis(p, a, grid_number(p->element, rois, region * 4 + 1 - a),
                 grid_number(p->element, rois, region * 4 + 3 - a), &axes[a]);
  return fine;
}

/* Samples [first, end) of a cell may lie on X or within one element of it. */
INLINE void samples_inside(const Axis *a, double origin, double extent, int64_t *first,
                           int64_t *end) {
  double step = a->cell / a->samples, from = 0, to = a->samples;
  if (step > 0) {
    const double low = glow_floor((-1 - origin) / step - 1),
                 high = glow_ceil((extent - origin) / step + 1);
    from = low > from ? low : from;
    to = high < to ? high : to;
  }
  *first = (int64_t)from;
  *end = to > from ? (int64_t)to : *first;
}

/* Samples of all cells of an axis: sample s of cell i has its neighbours and their weights at
 * i * cell_step + s * sample_step. */
typedef struct Samples {
  int64_t cell_step, sample_step, count; /* count: of a cell, at most */
  int32_t *low, *high;
  double *low_weight, *high_weight;
} Samples;

INLINE void plan_sample(const Axis *a, int64_t extent, double origin, int64_t i, int64_t stride,
                        const Samples *to, int64_t at) {
  const double size = (double)extent;
  double v = origin + ((double)i + 0.5) * a->cell / a->samples;
  if (v < -1 || v > size)
    return;
  v = v > 0 ? v : 0;
  const bool last = v >= size - 1;
  const int64_t low = last ? extent - 1 : (int64_t)v, high = last ? low : low + 1;
  const double weight = last ? 0 : v - (double)low;
  to->low[at] = (int32_t)(low * stride);
  to->high[at] = (int32_t)(high * stride);
  to->low_weight[at] = 1 - weight;
  to->high_weight[at] = weight;
}

/* places: of one sample of all cells. */
INLINE void plan_axis(const GlowRoiParams *p, int a, const Axis *axis, int64_t stride,
                      int64_t places, Samples *to) {
  const int64_t cells = p->map.cells[a];
  const double extent = (double)p->map.in[a];
  int64_t first, end;
  to->count = 0;
  if (axis->samples == 0)
    return;
  ROLLED for (int64_t i = 0; i < cells; i++) {
    samples_inside(axis, axis->start + (double)i * axis->cell, extent, &first, &end);
    to->count = most(to->count, end - first);
  }
  ROLLED for (int64_t k = 0; k < to->count * places; k++) {
    to->low[k] = to->high[k] = 0;
    to->low_weight[k] = to->high_weight[k] = 0;
  }
  to->cell_step = a ? 1 : to->count;
  to->sample_step = a ? places : 1;
  ROLLED for (int64_t i = 0; i < cells; i++) {
    const double origin = axis->start + (double)i * axis->cell;
    samples_inside(axis, origin, extent, &first, &end);
    ROLLED for (int64_t s = first; s < end; s++)
        plan_sample(axis, p->map.in[a], origin, s, stride, to,
                    i * to->cell_step + (s - first) * to->sample_step);
  }
}

/* The lists of rows and of columns, in scratch memory. */
typedef struct Plan {
  Samples axes[2];
  double count; /* samples of a cell */
} Plan;

INLINE void plan_region(const GlowRoiParams *p, const void *rois, int64_t region, char *scratch,
                        Plan *plan) {
  const int64_t places[] = {p->map.cells[0], p->pitch}, samples[] = {p->rows, p->columns};
  Axis axes[2];
  align_axes(&p->map, rois, region, axes);
  UNROLL for (int a = 0; a < 2; a++) {
    const int64_t n = places[a] * samples[a];
    Samples *s = &plan->axes[a];
    s->low_weight = (double *)scratch;
    s->high_weight = s->low_weight + n;
    s->low = (int32_t *)(s->high_weight + n);
    s->high = s->low + n;
    scratch += n * 24;
    plan_axis(p, a, &axes[a], a ? 1 : p->map.in[1], places[a], s);
  }
  plan->count = axes[0].samples * axes[1].samples;
}

/* Means of cells [j, j + LANES) of row i, for N channels of X. */
#define MEAN(kind, S, C, LOAD, N)                                                                  \
  INLINE void kind##_join##N(const GlowRoiParams *p, const S *x, double row_weight,                \
                             const double *weight, const int32_t *at, Doubles *sum) {              \
    typedef C Loaded __attribute__((vector_size(LANES * sizeof(C))));                              \
    const Doubles w = row_weight * *(const Doubles *)weight;                                       \
    const Longs some = (Longs)(w != 0);                                                            \
    UNROLL for (int c = 0; c < N; c++) {                                                           \
      Loaded v;                                                                                    \
      UNROLL for (int l = 0; l < LANES; l++) v[l] = LOAD(x[at[l] + c * p->map.plane]);             \
      const Doubles next = doubles_fma(w, __builtin_convertvector(v, Doubles), sum[c]);            \
      sum[c] = (Doubles)(((Longs)next & some) | ((Longs)sum[c] & ~some));                          \
    }                                                                                              \
  }                                                                                                \
  INLINE void kind##_mean##N(const GlowRoiParams *p, const Plan *plan, const S *x, int64_t i,      \
                             int64_t j, Doubles *sums) {                                           \
    const Samples *rows = &plan->axes[0], *columns = &plan->axes[1];                               \
    Doubles sum[N];                                                                                \
    UNROLL for (int c = 0; c < N; c++) sum[c] = (Doubles){0};                                      \
    ROLLED for (int64_t r = 0; r < rows->count; r++) {                                             \
      const int64_t row = i * rows->count + r;                                                     \
      const S *low = x + rows->low[row], *high = x + rows->high[row];                              \
      ROLLED for (int64_t s = 0; s < columns->count; s++) {                                        \
        const int64_t at = s * p->pitch + j;                                                       \
        kind##_join##N(p, low, rows->low_weight[row], columns->low_weight + at, columns->low + at, \
                       sum);                                                                       \
        kind##_join##N(p, low, rows->low_weight[row], columns->high_weight + at,                   \
                       columns->high + at, sum);                                                   \
        kind##_join##N(p, high, rows->high_weight[row], columns->low_weight + at,                  \
                       columns->low + at, sum);                                                    \
        kind##_join##N(p, high, rows->high_weight[row], columns->high_weight + at,                 \
                       columns->high + at, sum);                                                   \
      }                                                                                            \
    }                                                                                              \
    UNROLL for (int c = 0; c < N; c++) sums[c] =                                                   \
        plan->count == 0 ? (Doubles){0} : sum[c] / plan->count;                                    \
  }

#define MEANS(kind, S, STORE, N)                                                                   \
  INLINE void kind##_means##N(const GlowRoiParams *p, const Plan *plan, const S *restrict x,       \
                              S *restrict y) {                                                     \
    const int64_t cells = p->map.cells[0] * p->map.cells[1];                                       \
    ROLLED for (int64_t i = 0; i < p->map.cells[0]; i++)                                           \
        ROLLED for (int64_t j = 0; j < p->map.cells[1]; j += LANES) {                              \
      Doubles sums[N];                                                                             \
      double each[N * LANES];                                                                      \
      const int64_t left = least(p->map.cells[1] - j, LANES);                                      \
      kind##_mean##N(p, plan, x, i, j, sums);                                                      \
      __builtin_memcpy(each, sums, sizeof each);                                                   \
      ROLLED for (int64_t l = 0; l < left; l++) UNROLL for (int c = 0; c < N; c++)                 \
          y[c * cells + i * p->map.cells[1] + j + l] = STORE(each[c * LANES + l]);                 \
    }                                                                                              \
  }

/* The maximum over the weighted elements of all samples of a cell; samples outside are 0. */
#define LARGEST(kind, S, LOAD)                                                                     \
  INLINE double kind##_largest(const GlowRoiParams *p, const Plan *plan, const S *x, int64_t i,    \
                               int64_t j) {                                                        \
    const Samples *rows = &plan->axes[0], *columns = &plan->axes[1];                               \
    double top = 0, seen = 0;                                                                      \
    ROLLED for (int64_t r = i * rows->count; r < (i + 1) * rows->count; r++)                       \
        ROLLED for (int64_t s = j; s < j + columns->count * p->pitch; s += p->pitch) {             \
      const double v[] = {rows->low_weight[r], rows->high_weight[r]},                              \
                   h[] = {columns->low_weight[s], columns->high_weight[s]};                        \
      const int32_t row[] = {rows->low[r], rows->high[r]},                                         \
                    column[] = {columns->low[s], columns->high[s]};                                \
      if (v[0] + v[1] == 0 || h[0] + h[1] == 0)                                                    \
        continue;                                                                                  \
      ROLLED for (int k = 0; k < 4; k++) {                                                         \
        const double e = v[k / 2] * h[k % 2] * (double)LOAD(x[row[k / 2] + column[k % 2]]);        \
        top = seen == 0 && k == 0 ? e : glow_max_d(top, e);                                        \
      }                                                                                            \
      seen++;                                                                                      \
    }                                                                                              \
    return plan->count == 0 || seen == 0 ? 0 : seen < plan->count ? glow_max_d(top, 0) : top;      \
  }

#define ALIGN(kind, S, C, LOAD, STORE)                                                             \
  MEAN(kind, S, C, LOAD, 4)                                                                        \
  MEAN(kind, S, C, LOAD, 1)                                                                        \
  MEANS(kind, S, STORE, 4)                                                                         \
  MEANS(kind, S, STORE, 1)                                                                         \
  LARGEST(kind, S, LOAD)                                                                           \
  void glow_roi_align_##kind(const GlowRoiParams *params, void *const *ptrs, int64_t begin,        \
                             int64_t end, char *scratch) {                                         \
    const GlowRoiParams copy = *params, *const p = &copy; /* no store changes it */                \
    const int64_t cells = p->map.cells[0] * p->map.cells[1];                                       \
    Plan plan = {0};                                                                               \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const Unit one = unit_of(&p->map, u);                                                        \
      const int64_t image = GLOW_ROI_ALIGN_PTRS(ptrs).batches[one.region];                         \
      const S *x = (const S *)ptrs[1] + (image * p->map.channels + one.channel) * p->map.plane;    \
      S *y = (S *)ptrs[0] + (one.region * p->map.channels + one.channel) * cells;                  \
      if (u == begin || !one.channel)                                                              \
        plan_region(p, ptrs[2], one.region, scratch, &plan);                                       \
      if (p->map.max)                                                                              \
        ROLLED for (int64_t i = 0; i < one.channels * cells; i++) y[i] =                           \
            STORE(kind##_largest(p, &plan, x + i / cells * p->map.plane,                           \
                                 i % cells / p->map.cells[1], i % p->map.cells[1]));               \
      else if (one.channels == GROUP)                                                              \
        kind##_means4(p, &plan, x, y);                                                             \
      else                                                                                         \
        ROLLED for (int64_t c = 0; c < one.channels; c++)                                          \
            kind##_means1(p, &plan, x + c * p->map.plane, y + c * cells);                          \
    }                                                                                              \
  }
ALIGN(float, float, float, PLAIN, TO_FLOAT)
ALIGN(double, double, double, PLAIN, PLAIN)
ALIGN(float16, uint16_t, float, glow_half_to_float, glow_half_from_double)
ALIGN(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_double)

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

/* Rounds v * scale to an integer, halves away from 0; false if no map has such a place. */
INLINE bool whole(const GlowRegionParams *p, double v, int64_t *result) {
  const double scale = (double)glow_float_from_bits((uint32_t)p->scale);
  const double product = (double)(float)(v * scale), size = glow_fabs(product);
  if (!(size < 0x1p31))
    return false;
  *result = (int64_t)glow_floor(size + 0.5);
  *result = product < 0 ? -*result : *result;
  return true;
}

INLINE bool corners_of(const GlowRegionParams *p, const void *rois, int64_t region,
                       int64_t *corners) {
  bool fine = true;
  UNROLL for (int i = 0; i < 4; i++) fine &=
      whole(p, grid_number(p->element, rois, region * 5 + 1 + i), &corners[i]);
  return fine;
}

/* Cell i of an axis has elements [range[2 * i], range[2 * i + 1]). */
INLINE void plan_ranges(int64_t start, int64_t end, int64_t cells, int64_t n, int64_t *range) {
  const int64_t size = most(end - start + 1, 1);
  ROLLED for (int64_t i = 0; i < cells; i++) {
    range[2 * i] = least(most(start + i * size / cells, 0), n);
    range[2 * i + 1] = least(most(start + ((i + 1) * size + cells - 1) / cells, 0), n);
  }
}

/* Integers in the order of the numbers, -0 below +0, and one for all NaNs above them. */
#define KEYS(kind, F, I, high)                                                                     \
  INLINE I key_##kind(F v) {                                                                       \
    const I bits = (I)glow_##F##_bits(v), key = bits ^ (bits >> (8 * sizeof(I) - 1) & (high));     \
    return v == v ? key : (high);                                                                  \
  }                                                                                                \
  INLINE F of_key_##kind(I key) {                                                                  \
    const I bits = key ^ (key >> (8 * sizeof(I) - 1) & (high));                                    \
    return glow_##F##_from_bits((uint##kind##_t)bits);                                             \
  }
KEYS(32, float, int32_t, INT32_MAX)
KEYS(64, double, int64_t, INT64_MAX)

/* A channel of a region. top: maxima of the columns of a row of cells, as keys. */
#define LARGEST_CELLS(kind, S, I, KEY, STORE)                                                      \
  INLINE void kind##_cells(const GlowRoiParams *p, const int64_t *rows, const int64_t *columns,    \
                           const S *restrict x, I *restrict top, S *restrict y) {                  \
    const int64_t first = columns[0], end = columns[2 * p->map.cells[1] - 1];                      \
    ROLLED for (int64_t i = 0; i < p->map.cells[0]; i++) {                                         \
      const int64_t row = rows[2 * i], stop = rows[2 * i + 1];                                     \
      const S *from = x + row * p->map.in[1];                                                      \
      if (row < stop)                                                                              \
        EACH for (int64_t j = first; j < end; j++) top[j] = KEY(from[j]);                          \
      ROLLED for (int64_t r = row + 1; r < stop; r++) {                                            \
        from += p->map.in[1];                                                                      \
        EACH for (int64_t j = first; j < end; j++) {                                               \
          const I key = KEY(from[j]);                                                              \
          top[j] = key > top[j] ? key : top[j];                                                    \
        }                                                                                          \
      }                                                                                            \
      ROLLED for (int64_t j = 0; j < p->map.cells[1]; j++) {                                       \
        int64_t c = columns[2 * j];                                                                \
        const int64_t last = columns[2 * j + 1];                                                   \
        I best = KEY(0);                                                                           \
        if (row < stop && c < last)                                                                \
          best = top[c++];                                                                         \
        ROLLED for (; row < stop && c < last; c++) best = top[c] > best ? top[c] : best;           \
        y[i * p->map.cells[1] + j] = STORE(best);                                                  \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  void glow_max_roi_pool_##kind(const GlowRoiParams *params, void *const *ptrs, int64_t begin,     \
                                int64_t end, char *scratch) {                                      \
    const GlowRoiParams copy = *params, *const p = &copy; /* no store changes it */                \
    const int64_t cells = p->map.cells[0] * p->map.cells[1];                                       \
    int64_t *rows = (int64_t *)scratch, *columns = rows + 2 * p->map.cells[0];                     \
    int64_t image = 0;                                                                             \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const Unit one = unit_of(&p->map, u);                                                        \
      if (u == begin || !one.channel) {                                                            \
        int64_t corner[4];                                                                         \
        corners_of(&p->map, ptrs[2], one.region, corner);                                          \
        plan_ranges(corner[1], corner[3], p->map.cells[0], p->map.in[0], rows);                    \
        plan_ranges(corner[0], corner[2], p->map.cells[1], p->map.in[1], columns);                 \
        image = glow_trunc_i64(grid_number(p->map.element, ptrs[2], one.region * 5));              \
      }                                                                                            \
      ROLLED for (int64_t c = one.channel; c < one.channel + one.channels; c++) kind##_cells(      \
          p, rows, columns, (const S *)ptrs[1] + (image * p->map.channels + c) * p->map.plane,     \
          (I *)(columns + 2 * p->map.cells[1]),                                                    \
          (S *)ptrs[0] + (one.region * p->map.channels + c) * cells);                              \
    }                                                                                              \
  }
#define HALF_KEY(v) key_32(glow_half_to_float((uint16_t)(v)))
#define BFLOAT_KEY(v) key_32(glow_bfloat_to_float((uint16_t)(v)))
#define OF_HALF_KEY(k) glow_half_from_float(of_key_32(k))
#define OF_BFLOAT_KEY(k) glow_bfloat_from_float(of_key_32(k))
LARGEST_CELLS(float, float, int32_t, key_32, of_key_32)
LARGEST_CELLS(double, double, int64_t, key_64, of_key_64)
LARGEST_CELLS(float16, uint16_t, int32_t, HALF_KEY, OF_HALF_KEY)
LARGEST_CELLS(bfloat16, uint16_t, int32_t, BFLOAT_KEY, OF_BFLOAT_KEY)

/* ---- Checks ---------------------------------------------------------------------------------- */

/* The fault stands behind the operands. */
void glow_check_regions(const GlowRegionParams *p, void *const *ptrs, int64_t begin, int64_t end,
                        char *scratch) {
  const void *rois = GLOW_CHECK_REGIONS_PTRS(ptrs).rois;
  const int64_t *batches = GLOW_CHECK_REGIONS_PTRS(ptrs).batches;
  GlowFault *fault = ptrs[2];
  (void)scratch;
  ROLLED for (int64_t r = begin; r < end; r++) {
    const double first = batches ? 0 : grid_number(p->element, rois, r * 5);
    const int64_t image = batches ? batches[r] : glow_trunc_i64(first);
    Axis axes[2];
    int64_t corners[4];
    const bool fine = batches ? align_axes(p, rois, r, axes) : corners_of(p, rois, r, corners);
    const bool there = first >= 0 && image >= 0 && image < p->images;
    if (fine && there)
      continue;
    fault->error = there ? GLOW_FAULT_VALUE : GLOW_FAULT_INDEX;
    fault->detail = image;
    return;
  }
}
