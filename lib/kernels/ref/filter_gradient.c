/* FilterGradient of any spatial rank: what a Convolution's filter contributes, tap by tap.
 *
 * Of each image, an element of the result is one chain of fused multiply-adds from +0 over the
 * places of DY in row-major order, x[place, tap] * dy[place], where a tap outside of X is +0. The
 * chains of the images are added up in ascending order, from +0.
 *
 * 16 channels of DY are the lanes of a tile, and 6 terms its rows: a term is a tap of an input
 * channel. Lines of DY along the last axis are packed as [panel][column][16], those of X as terms
 * read them. The sums of all terms stand in scratch, so that a chain goes on line by line. */
#include "kernels/ref/ref.h"
#include "kernels/ref/tile.h"

enum { LANES = GLOW_TILE_COLUMNS };

typedef struct Plan {
  const GlowBuf *x, *dy;
  GlowBuf *dw;
  uint32_t spatial;
  int64_t batch, groups, in_channels, out_channels; /* channels: of one group */
  int64_t kernel[GLOW_MAX_RANK], stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  int64_t before[GLOW_MAX_RANK];
  int64_t taps, terms, panels, columns; /* terms: rounded up to whole tiles */
  int64_t width;                        /* elements of a line of X */
  bool wide;                            /* computes in double */
  /* Scratch in elements: sums of all images at 0, of one image, a line of DY, the lines of a tile,
   * a line of X. */
  int64_t image_at, dy_at, lines_at, line_at, total;
} Plan;

static Plan plan_of(const GlowCall *call) {
  const GlowFilterGradientMembers *m = call->members;
  Plan p = {.x = &call->in[0], .dy = &call->in[1], .dw = &call->out[0]};
  p.spatial = p.x->rank - 2;
  p.batch = p.x->dims[0];
  p.groups = m->group;
  p.in_channels = p.x->dims[1] / p.groups;
  p.out_channels = p.dy->dims[1] / p.groups;
  p.wide = p.x->kind == GLOW_KIND_DOUBLE;
  p.taps = 1;
  for (uint32_t i = 0; i < p.spatial; i++) {
    p.kernel[i] = glow_listed(m->kernels, i, 1);
    p.stride[i] = glow_listed(m->strides, i, 1);
    p.dilation[i] = glow_listed(m->dilations, i, 1);
    p.before[i] = glow_listed(m->pads, i, 0);
    p.taps *= p.kernel[i];
  }
  p.terms = (p.in_channels * p.taps + GLOW_TILE_ROWS - 1) / GLOW_TILE_ROWS * GLOW_TILE_ROWS;
  p.panels = (p.out_channels + LANES - 1) / LANES;
  p.columns = p.dy->dims[p.spatial + 1];
  p.width = p.x->dims[p.spatial + 1];
  int64_t sums = p.panels * p.terms * LANES;
  p.image_at = sums;
  p.dy_at = p.image_at + sums;
  p.lines_at = p.dy_at + p.panels * p.columns * LANES;
  p.line_at = p.lines_at + GLOW_TILE_ROWS * p.columns;
  p.total = p.line_at + p.width;
  return p;
}

size_t glow_scratch_filter_gradient(const GlowCall *call) {
  Plan p = plan_of(call);
  return (size_t)p.total * (p.wide ? sizeof(double) : sizeof(float));
}

/* Where a tap of input channel c reads for the places of one line of DY, which `index` names: the
 * offset of a line of X, and the column of the first place in it. False: outside of X. */
static bool find_line(const Plan *p, const int64_t *index, int64_t tap, int64_t *offset,
                      int64_t *column) {
  *offset = 0;
  for (uint32_t i = p->spatial; i-- > 0; tap /= p->kernel[i]) {
    int64_t at = tap % p->kernel[i] * p->dilation[i] - p->before[i];
    if (i + 1 == p->spatial) {
      *column = at;
      continue;
    }
    at += index[i] * p->stride[i];
    if (at < 0 || at >= p->x->dims[2 + i])
      return false;
    *offset += glow_axis_offset(p->x, 2 + i, at);
  }
  return true;
}

#define T float
#define NAME(x) x##_float
#define LOAD_RUN glow_run_load_float
#define STORE glow_store_float
#include "kernels/ref/filter_gradient_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD_RUN glow_run_load_double
#define STORE glow_store_double
#include "kernels/ref/filter_gradient_body.inc"

GlowRunError glow_kernel_filter_gradient(GlowCall *call) {
  Plan p = plan_of(call);
  glow_ref_clear_padding(p.dw);
  (p.wide ? gradient_double : gradient_float)(&p, call->scratch);
  return GLOW_RUN_OK;
}
