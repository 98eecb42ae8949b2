/* Convolutions of bytes over one or two spatial axes, in both orders of axes; of a channel in each
 * group, if channels are innermost, by a kernel of their own. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "ops/listed.h"

/* The axes of X, W and Y; `rows` is -1 if there is one spatial axis. */
typedef struct Axes {
  int rows, columns, channels;
} Axes;

static int64_t extent(const int64_t *dims, int axis) { return axis < 0 ? 1 : dims[axis]; }
static int64_t stride(const GlowView *v, int axis) { return axis < 0 ? 0 : v->strides[axis]; }

/* Entry of a list for rows (i = 0) or columns (1). */
static int64_t listed(GlowArray a, const Axes *axes, uint32_t i, int64_t initial) {
  if (i == 0 && axes->rows < 0)
    return initial;
  i -= axes->rows < 0;
  return glow_listed(a, i, initial);
}

/* How many zero points there are for `lines` filters, and where. */
static bool read_zeros(GlowSelect *s, const GlowValue *v, GlowPlace *place, int64_t *count) {
  GlowView view;
  *place = glow_place_absent();
  *count = 0;
  if (!v)
    return true;
  if (!glow_select_dense(s, v, &view))
    return false;
  *place = view.place;
  *count = glow_view_extent(&view, 0, view.rank);
  return true;
}

static bool read_filter(GlowSelect *s, const Axes *axes, const GlowView *w, GlowDotConvParams *p) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  p->tap = (p->ic + 3) / 4;
  if (!w->type->layout) {
    p->wo = w->strides[0];
    p->wh = stride(w, axes->rows);
    p->ww = w->strides[axes->columns];
    p->wc = w->strides[axes->channels];
    return true;
  }
  if (axes->channels != 3 || p->groups > 1 || !glow_view_is_dense(w) ||
      !glow_kernel_takes(glow_find_dot_conv(), "w", s->isa, w->type->layout, blocks) ||
      blocks[0] != p->tap)
    return glow_select_fail(s, "its filter has a layout of another kernel");
  p->packed = 1;
  return true;
}

/* Whether a kernel takes channels as lanes. */
static bool has_lanes(const GlowDotConvParams *p) {
  return p->ic == 1 && p->oc == 1 && p->groups > 1 && p->xc == 1 && p->yc == 1 && !p->packed;
}

static void append_lanes(GlowSelect *s, const GlowNode *n, const GlowDotConvParams *c,
                         const GlowDotConvPlaces *at) {
  GlowDotLanesParams p = {.images = c->images, .channels = c->groups, .oh = c->oh, .ow = c->ow};
  GlowDotLanesPlaces to = {
      .y = at->y, .x = at->x, .w = at->w, .x_zero = at->x_zero, .w_zero = at->w_zero};
  static const GlowNarrowNumbers numbers; /* sums need none */
  to.start = to.scale = to.bias = glow_place_absent();
  to.numbers = glow_place_numbers(sizeof numbers);
  p.ih = c->ih, p.iw = c->iw, p.kh = c->kh, p.kw = c->kw, p.sh = c->sh, p.sw = c->sw;
  p.dh = c->dh, p.dw = c->dw, p.pt = c->pt, p.pl = c->pl;
  p.xn = c->xn, p.xh = c->xh, p.xw = c->xw, p.yn = c->yn, p.yh = c->yw * c->ow, p.yw = c->yw;
  p.wo = c->wo, p.wh = c->wh, p.ww = c->ww;
  p.x_signed = c->x_signed, p.w_signed = c->w_signed;
  p.x_zeros = c->x_zeros, p.w_zeros = c->w_zeros;
  GlowSetup setup = {0};
  glow_setup_dot_lanes(&s->cpu, &p, &setup);
  glow_select_numbers(s, glow_work_dot_lanes(s, n, &p, &setup, &to), &numbers, sizeof numbers);
}

/* What a ConvInteger and a Convolution say alike. */
typedef struct Lists {
  int layout;
  int64_t group;
  GlowArray strides, pads, dilations;
} Lists;

static bool select_conv(GlowSelect *s, const GlowNode *n, const Lists *m, const GlowValue *x_zero,
                        const GlowValue *w_zero) {
  const GlowType *filter = glow_node_in(n, GLOW_CONV_INTEGER_IN_W)->type;
  GlowView x, w, y;
  if (!glow_select_view(s, glow_node_in(n, GLOW_CONV_INTEGER_IN_X), &x) ||
      !glow_select_view(s, glow_node_in(n, GLOW_CONV_INTEGER_IN_W), &w) ||
      !glow_select_view(s, glow_node_out(n, 0), &y))
    return false;
  if (x.rank > 4 || x.type->layout || y.type->layout)
    return glow_select_fail(s, "it has more than two spatial axes");
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  const int first = last ? 1 : 2, rank = (int)x.rank;
  const Axes axes = {rank == 4 ? first : -1, rank == 4 ? first + 1 : first, last ? rank - 1 : 1};
  int64_t wdims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < filter->rank; i++)
    wdims[i] = filter->dims[i].size;
  GlowDotConvParams p = {.images = x.dims[0], .groups = m->group ? m->group : 1};
  p.ic = wdims[axes.channels];
  p.oc = wdims[0] / p.groups;
  p.oh = extent(y.dims, axes.rows), p.ow = y.dims[axes.columns];
  p.ih = extent(x.dims, axes.rows), p.iw = x.dims[axes.columns];
  p.kh = extent(wdims, axes.rows), p.kw = wdims[axes.columns];
  p.sh = listed(m->strides, &axes, 0, 1), p.sw = listed(m->strides, &axes, 1, 1);
  p.dh = listed(m->dilations, &axes, 0, 1), p.dw = listed(m->dilations, &axes, 1, 1);
  p.pt = listed(m->pads, &axes, 0, 0), p.pl = listed(m->pads, &axes, 1, 0);
  p.xn = x.strides[0], p.xh = stride(&x, axes.rows), p.xw = x.strides[axes.columns];
  p.xc = x.strides[axes.channels];
  p.yn = y.strides[0], p.yw = y.strides[axes.columns], p.yc = y.strides[axes.channels];
  p.x_signed = x.type->kind == GLOW_KIND_I8, p.w_signed = filter->kind == GLOW_KIND_I8;
  if (glow_view_extent(&y, 0, y.rank) == 0)
    return true;
  if (p.ic == 0 || (p.oh > 1 && stride(&y, axes.rows) != p.yw * p.ow))
    return glow_select_fail(s, "it has no channels, or its result has gaps");
  GlowDotConvPlaces at = {.x = x.place, .w = w.place, .y = y.place};
  if (!read_filter(s, &axes, &w, &p) || !read_zeros(s, x_zero, &at.x_zero, &p.x_zeros) ||
      !read_zeros(s, w_zero, &at.w_zero, &p.w_zeros))
    return false;
  if (has_lanes(&p)) {
    append_lanes(s, n, &p, &at);
    return true;
  }
  GlowSetup setup = {0};
  glow_setup_dot_conv(&s->cpu, &p, &setup);
  glow_work_dot_conv(s, n, &p, &setup, &at);
  return true;
}

bool glow_select_conv_integer(GlowSelect *s, const GlowNode *n) {
  const GlowConvIntegerMembers *m = n->members;
  const Lists lists = {m->layout, m->group, m->strides, m->pads, m->dilations};
  return select_conv(s, n, &lists, glow_node_in(n, GLOW_CONV_INTEGER_IN_XZERO),
                     glow_node_in(n, GLOW_CONV_INTEGER_IN_WZERO));
}

bool glow_select_plain_narrow(GlowSelect *s, const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const Lists lists = {m->layout, m->group, m->strides, m->pads, m->dilations};
  if (m->pad || glow_node_in(n, GLOW_CONVOLUTION_IN_B) || glow_node_epilogue(n) ||
      glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type->kind != GLOW_KIND_I8)
    return glow_select_fail(s, "only a packed filter of i8 has a kernel with more than sums");
  return select_conv(s, n, &lists, NULL, NULL);
}
