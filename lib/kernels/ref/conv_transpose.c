/* ConvTranspose of any spatial rank, in gather form: an output is one chain of fused multiply-adds
 * from the bias over the input elements that it takes part in,
 *
 *   out[o] = bias + sum of x[i] * w[k] over taps k where o + pad = i * stride + k * dilation
 *
 * in the order of Convolution: blocks of 16 input channels, taps ascending, channels. The input of
 * one image and group is packed as [place][channel], the filter as [panel][k][16 output channels].
 * Outputs whose places differ by the stride of the last axis share their taps: up to 6 of them are
 * computed at a time. */
#include "kernels/ref/ref.h"
#include "kernels/ref/tile.h"

enum { LANES = GLOW_TILE_COLUMNS };

typedef struct Plan {
  const GlowBuf *x, *w, *b; /* b may be absent */
  GlowBuf *y;
  uint32_t spatial, c_axis, first_axis; /* axes of X, Y and, but for the inputs, of W */
  int64_t groups, in_channels, out_channels, panels; /* channels: of one group */
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK], before[GLOW_MAX_RANK];
  int64_t taps, places; /* products of W's and X's spatial extents */
  bool wide;            /* computes in double */
  size_t weights_at, taps_at, total;
} Plan;

/* A phase: outputs of one line of Y whose places differ by multiples of the stride. A Tap is a tap
 * that they may have, and where its input is for the first of them. */
typedef struct Tap {
  int64_t tap, place; /* place: of the first element of the input's line in X */
  int64_t column;     /* the input's index in that line; output j has column + j */
} Tap;

static Plan plan_of(const GlowCall *call) {
  const GlowConvTransposeMembers *m = call->members;
  Plan p = {.x = &call->in[0], .w = &call->in[1], .b = &call->in[2], .y = &call->out[0]};
  bool nhwc = m->layout == GLOW_LAYOUT_NHWC;
  p.spatial = p.x->rank - 2;
  p.c_axis = nhwc ? p.x->rank - 1 : 1;
  p.first_axis = nhwc ? 1 : 2;
  p.groups = m->group;
  p.in_channels = p.w->dims[0] / p.groups;
  p.out_channels = p.w->dims[p.c_axis];
  p.panels = (p.out_channels + LANES - 1) / LANES;
  p.wide = p.x->kind == GLOW_KIND_DOUBLE;
  p.taps = p.places = 1;
  for (uint32_t i = 0; i < p.spatial; i++) {
    p.stride[i] = glow_listed(m->strides, i, 1);
    p.dilation[i] = glow_listed(m->dilations, i, 1);
    p.before[i] = glow_listed(m->pads, i, 0);
    p.taps *= p.w->dims[p.first_axis + i];
    p.places *= p.x->dims[p.first_axis + i];
  }
  size_t size = p.wide ? sizeof(double) : sizeof(float);
  p.weights_at = glow_align64((size_t)(p.places * p.in_channels) * size);
  p.taps_at =
      p.weights_at + glow_align64((size_t)(p.panels * p.taps * p.in_channels * LANES) * size);
  p.total = p.taps_at + (size_t)p.taps * sizeof(Tap);
  return p;
}

size_t glow_scratch_conv_transpose(const GlowCall *call) { return plan_of(call).total; }

/* Finds the taps of a phase, and returns how many: of outputs at `index` along all axes but the
 * last, and from `phase` on along the last. */
static int64_t find_taps(const Plan *p, const int64_t *index, int64_t phase, Tap *taps) {
  int64_t k[GLOW_MAX_RANK] = {0}, count = 0, kernel[GLOW_MAX_RANK];
  uint32_t last = p->spatial - 1;
  for (uint32_t i = 0; i < p->spatial; i++)
    kernel[i] = p->w->dims[p->first_axis + i];
  for (int64_t t = 0; t < p->taps; t++) {
    Tap tap = {.tap = t};
    bool meets = true;
    for (uint32_t i = 0; meets && i < p->spatial; i++) {
      int64_t o = i == last ? phase : index[i], in = p->x->dims[p->first_axis + i];
      int64_t at = o + p->before[i] - k[i] * p->dilation[i];
      meets = at % p->stride[i] == 0;
      if (i == last) {
        tap.column = at / p->stride[i];
      } else {
        meets = meets && at >= 0 && at / p->stride[i] < in;
        tap.place = tap.place * in + at / p->stride[i];
      }
    }
    tap.place *= p->x->dims[p->first_axis + last];
    if (meets)
      taps[count++] = tap;
    glow_next_index(p->spatial, kernel, k);
  }
  return count;
}

/* Whether tap t meets an input for output number j of its phase. */
static inline bool is_inside(const Plan *p, const Tap *t, int64_t j) {
  int64_t column = t->column + j;
  return column >= 0 && column < p->x->dims[p->first_axis + p->spatial - 1];
}

/* How many outputs of a phase, from number j on and below `end`, have the same taps: at most 6. */
static int64_t alike(const Plan *p, const Tap *taps, int64_t count, int64_t j, int64_t end) {
  int64_t rows = 1;
  for (; rows < GLOW_TILE_ROWS && j + rows < end; rows++)
    for (int64_t t = 0; t < count; t++)
      if (is_inside(p, &taps[t], j) != is_inside(p, &taps[t], j + rows))
        return rows;
  return rows;
}

#define T float
#define NAME(x) x##_float
#define LOAD glow_load_float
#define STORE glow_store_float
#include "kernels/ref/conv_transpose_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD glow_load_double
#define STORE glow_store_double
#include "kernels/ref/conv_transpose_body.inc"

GlowRunError glow_kernel_conv_transpose(GlowCall *call) {
  Plan p = plan_of(call);
  if (glow_buf_elements(p.y) == 0)
    return GLOW_RUN_OK;
  (p.wide ? transpose_double : transpose_float)(&p, call->scratch);
  return GLOW_RUN_OK;
}
