/* DeformConv of any spatial rank (ONNX, version 22).
 *
 * For each place of the result, all taps of all input channels are sampled first. A sample is
 * linear between the 2^spatial neighbours of its place, in double: one chain of fused multiply-adds
 * in ascending order, without the neighbours that lie outside or have weight 0. It is multiplied by
 * the mask and rounded to the accumulator. A place that is NaN gives NaN. The filters then run over
 * these samples in Convolution's order: blocks of 16 channels, taps, channels. */
#include "kernels/ref/ref.h"
#include "num/fma.h"

typedef struct Plan {
  const GlowBuf *x, *w, *offset, *mask;
  uint32_t spatial;
  int64_t channels, group_channels, filters, taps, places; /* places: of X */
  int64_t offset_groups, outputs;
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK], before[GLOW_MAX_RANK];
  size_t samples_at, total; /* scratch: W, then samples */
} Plan;

static Plan plan_of(const GlowCall *call) {
  const GlowDeformConvMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *w = &call->in[1], *y = &call->out[0];
  Plan p = {.x = x, .w = w, .offset = &call->in[2], .mask = &call->in[4]};
  p.spatial = x->rank - 2;
  p.channels = x->dims[1];
  p.group_channels = w->dims[1];
  p.filters = w->dims[0] / m->group;
  p.taps = glow_ref_extent(w, 2, w->rank);
  p.places = glow_ref_extent(x, 2, x->rank);
  p.outputs = glow_ref_extent(y, 2, y->rank);
  p.offset_groups = m->offset_group;
  for (uint32_t i = 0; i < p.spatial; i++) {
    p.stride[i] = glow_listed(m->strides, i, 1);
    p.dilation[i] = glow_listed(m->dilations, i, 1);
    p.before[i] = glow_listed(m->pads, i, 0);
  }
  size_t size = x->kind == GLOW_KIND_DOUBLE ? sizeof(double) : sizeof(float);
  p.samples_at = glow_align64((size_t)glow_buf_elements(w) * size);
  p.total = p.samples_at + (size_t)(p.channels * p.taps) * size;
  return p;
}

size_t glow_scratch_deform_conv(const GlowCall *call) { return plan_of(call).total; }

static double real_at(const GlowBuf *b, int64_t i) {
  double v;
  glow_load_real(b, i, 1, 1, &v);
  return v;
}

/* ---- Sampling -------------------------------------------------------------------------------- */

/* The neighbours of one tap's place: offsets within a channel of X, and their weights. */
typedef struct Neighbours {
  uint32_t count;
  bool is_nan;
  double mask;
  int64_t at[1 << (GLOW_MAX_RANK - 2)];
  double weight[1 << (GLOW_MAX_RANK - 2)];
} Neighbours;

/* `place`: the coordinates in X, one for each spatial axis. */
static void find_neighbours(const Plan *p, const double *place, Neighbours *s) {
  int64_t low[GLOW_MAX_RANK];
  bool inside = true;
  s->count = 0;
  s->is_nan = false;
  for (uint32_t i = 0; i < p->spatial; i++) {
    s->is_nan |= place[i] != place[i];
    inside = inside && place[i] > -1 && place[i] < (double)p->x->dims[2 + i];
    low[i] = inside ? (int64_t)FLOOR(place[i]) : 0;
  }
  for (uint32_t corner = 0; inside && corner < 1u << p->spatial; corner++) {
    double weight = 1;
    int64_t at = 0;
    for (uint32_t i = 0; i < p->spatial; i++) {
      bool high = corner >> (p->spatial - 1 - i) & 1;
      int64_t index = low[i] + high;
      double above = place[i] - (double)low[i];
      weight *= index < 0 || index >= p->x->dims[2 + i] ? 0 : high ? above : 1 - above;
      at = at * p->x->dims[2 + i] + index;
    }
    s->at[s->count] = at;
    s->weight[s->count] = weight;
    s->count += weight != 0;
  }
}

/* The neighbours of tap `tap` (at index k of the window) for result number `output` of image n. */
static void place_tap(const Plan *p, int64_t n, int64_t offset_group, int64_t tap, const int64_t *k,
                      const int64_t *index, int64_t output, Neighbours *s) {
  double place[GLOW_MAX_RANK];
  int64_t row = (n * p->offset_groups + offset_group) * p->taps + tap;
  for (uint32_t i = 0; i < p->spatial; i++) {
    int64_t at = index[i] * p->stride[i] - p->before[i] + k[i] * p->dilation[i];
    place[i] = (double)at + real_at(p->offset, (row * p->spatial + i) * p->outputs + output);
  }
  find_neighbours(p, place, s);
  s->mask = glow_buf_present(p->mask) ? real_at(p->mask, row * p->outputs + output) : 1;
}

static double sample(const Plan *p, const Neighbours *s, int64_t image) {
  double sum = s->is_nan ? __builtin_nan("") : 0;
  for (uint32_t i = 0; i < s->count; i++)
    sum = glow_fma(s->weight[i], real_at(p->x, image + s->at[i]), sum);
  return glow_buf_present(p->mask) ? sum * s->mask : sum;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

#define SUMS(T, FMA, LOAD, STORE)                                                                  \
  /* All taps of all channels: samples[channel * taps + tap]. */                                   \
  static void samples_##T(const Plan *p, int64_t n, const int64_t *index, int64_t output,          \
                          T *samples) {                                                            \
    int64_t each = p->channels / p->offset_groups;                                                 \
    for (int64_t g = 0; g < p->offset_groups; g++) {                                               \
      int64_t k[GLOW_MAX_RANK] = {0};                                                              \
      for (int64_t tap = 0; tap < p->taps; tap++) {                                                \
        Neighbours s;                                                                              \
        place_tap(p, n, g, tap, k, index, output, &s);                                             \
        for (int64_t c = g * each; c < (g + 1) * each; c++)                                        \
          samples[c * p->taps + tap] = (T)sample(p, &s, (n * p->channels + c) * p->places);        \
        glow_next_index(p->spatial, p->w->dims + 2, k);                                            \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  /* One filter over the samples of its group. */                                                  \
  static T filter_##T(const Plan *p, const T *w, const T *samples, T sum) {                        \
    for (int64_t c = 0; c < p->group_channels; c += 16) {                                          \
      int64_t end = p->group_channels - c < 16 ? p->group_channels : c + 16;                       \
      for (int64_t tap = 0; tap < p->taps; tap++)                                                  \
        for (int64_t i = c; i < end; i++)                                                          \
          sum = FMA(samples[i * p->taps + tap], w[i * p->taps + tap], sum);                        \
    }                                                                                              \
    return sum;                                                                                    \
  }                                                                                                \
  static void place_##T(const Plan *p, const GlowBuf *b, GlowBuf *y, int64_t n, int64_t output,    \
                        const T *w, const T *samples) {                                            \
    int64_t size = p->group_channels * p->taps;                                                    \
    for (int64_t f = 0; f < y->dims[1]; f++) {                                                     \
      T bias = 0;                                                                                  \
      if (glow_buf_present(b))                                                                     \
        LOAD(b, f, 1, 1, &bias);                                                                   \
      T sum = filter_##T(p, w + f * size, samples + f / p->filters * size, bias);                  \
      STORE(y, (n * y->dims[1] + f) * p->outputs + output, 1, 1, &sum);                            \
    }                                                                                              \
  }                                                                                                \
  static void deform_##T(const Plan *p, const GlowBuf *b, GlowBuf *y, char *scratch) {             \
    T *w = (T *)scratch, *samples = (T *)(scratch + p->samples_at);                                \
    LOAD(p->w, 0, 1, glow_buf_elements(p->w), w);                                                  \
    for (int64_t n = 0; n < y->dims[0]; n++) {                                                     \
      int64_t index[GLOW_MAX_RANK] = {0};                                                          \
      for (int64_t output = 0; output < p->outputs; output++) {                                    \
        samples_##T(p, n, index, output, samples);                                                 \
        place_##T(p, b, y, n, output, w, samples);                                                 \
        glow_next_index(p->spatial, y->dims + 2, index);                                           \
      }                                                                                            \
    }                                                                                              \
  }
SUMS(float, glow_fmaf, glow_load_float, glow_store_float)
SUMS(double, glow_fma, glow_load_double, glow_store_double)

GlowRunError glow_kernel_deform_conv(GlowCall *call) {
  GlowBuf *y = &call->out[0];
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  Plan p = plan_of(call);
  if (y->kind == GLOW_KIND_DOUBLE)
    deform_double(&p, &call->in[3], y, call->scratch);
  else
    deform_float(&p, &call->in[3], y, call->scratch);
  return GLOW_RUN_OK;
}
