/* Convolutions whose result has extent 1 along a spatial axis.
 *
 * -small-conv: the window stands in one place, so its stride becomes 1, and padding at the end that
 * the window does not reach is removed. Exact.
 *
 * -crop-filter: rows and columns of a constant filter that only meet padding are removed, and so is
 * the padding; the new filter is an `eval` Slice. Bounded by u S: a removed tap added w * +0, which
 * changes nothing but the sign of a zero. */
#include "ops/listed.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

/* A convolution along its spatial axes. */
typedef struct Window {
  const GlowConvolutionMembers *members;
  uint32_t spatial, first; /* axes: how many, where in X, W and Y */
  int64_t in[GLOW_MAX_RANK], taps[GLOW_MAX_RANK];
  int64_t out[GLOW_MAX_RANK]; /* 1; -1: more, or it is open */
  uint32_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK];
  uint32_t begin[GLOW_MAX_RANK], end[GLOW_MAX_RANK]; /* padding */
} Window;

static bool read_window(const GlowNode *n, Window *w) {
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type, *y = n->results[0].type;
  const GlowType *filter = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  if (!glow_type_is_known(x) || !glow_type_is_known(y) || !glow_type_is_static(filter) ||
      m->strategy != GLOW_CONV_STRATEGY_DIRECT)
    return false;
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  *w = (Window){.members = m, .spatial = x->rank - 2, .first = last ? 1 : 2};
  for (uint32_t i = 0; i < w->spatial; i++) {
    w->in[i] = x->dims[w->first + i].size;
    bool exact = x->dims[w->first + i].kind == GLOW_DIM_EXACT;
    w->out[i] = exact && glow_dim_is_exact(y->dims[w->first + i], 1) ? 1 : -1;
    w->taps[i] = filter->dims[w->first + i].size;
    w->stride[i] = (uint32_t)glow_listed(m->strides, i, 1);
    w->dilation[i] = (uint32_t)glow_listed(m->dilations, i, 1);
    w->begin[i] = (uint32_t)glow_listed(m->pads, i, 0);
    w->end[i] = (uint32_t)glow_listed(m->pads, w->spatial + i, 0);
  }
  return true;
}

/* How many elements one window covers along axis i. */
static int64_t reach(const Window *w, uint32_t i) { return (w->taps[i] - 1) * w->dilation[i] + 1; }

/* The convolution with other strides, padding and filter. NULL after a diagnostic. */
static GlowNode *rebuild(GlowNode *n, const Window *w, GlowValue *filter) {
  GlowModule *m = n->block->module;
  uint32_t pads[2 * GLOW_MAX_RANK];
  memcpy(pads, w->begin, w->spatial * sizeof *pads);
  memcpy(pads + w->spatial, w->end, w->spatial * sizeof *pads);
  GlowConvolutionMembers members = *w->members;
  members.strides = glow_array_u32(m, w->stride, w->spatial);
  members.pads = glow_array_u32(m, pads, 2 * w->spatial);
  GlowValue *ins[] = {glow_node_in(n, GLOW_CONVOLUTION_IN_X), filter,
                      glow_node_in(n, GLOW_CONVOLUTION_IN_B)};
  GlowBuilder b = glow_builder_before(n);
  return glow_build(&b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL);
}

static bool finish(GlowPassRun *run, GlowNode *n, GlowNode *fresh, const char *what) {
  if (!fresh)
    return false;
  GlowValue *y = &fresh->results[0];
  glow_pass_changed(run, n, "%s", what);
  glow_node_replace(n, &y, 1);
  return true;
}

/* ---- Strides --------------------------------------------------------------------------------- */

static bool drop_stride(GlowNode *n, void *arg) {
  Window w;
  if (n->op != GLOW_OP_CONVOLUTION || !read_window(n, &w))
    return true;
  bool changed = false;
  for (uint32_t i = 0; i < w.spatial; i++) {
    int64_t rest = w.in[i] + w.begin[i] + w.end[i] - reach(&w, i);
    if (w.out[i] != 1 || w.stride[i] == 1 || rest > w.end[i])
      continue;
    w.stride[i] = 1;
    w.end[i] -= (uint32_t)rest;
    changed = true;
  }
  GlowValue *filter = glow_node_in(n, GLOW_CONVOLUTION_IN_W);
  return !changed || finish(arg, n, rebuild(n, &w, filter), "stride becomes 1: one window");
}

bool glow_pass_small_conv(GlowPassRun *run) {
  return glow_block_walk(run->function->body, drop_stride, run);
}

/* ---- Filters --------------------------------------------------------------------------------- */

typedef struct Crop {
  GlowPassRun *run;
  GlowConstness *constness;
} Crop;

/* Removes from axis i the taps that meet padding alone. Returns how many were removed at the start;
 * sets *count to how many are left. */
static int64_t crop_axis(Window *w, uint32_t i, int64_t *count) {
  int64_t step = w->dilation[i], low = w->begin[i] / step, begin = w->begin[i] - low * step;
  int64_t high = (w->in[i] - 1 + begin) / step; /* the last of those left that sees the input */
  *count = w->taps[i];
  if (w->out[i] != 1 || w->in[i] == 0 || low >= w->taps[i])
    return 0;
  int64_t stay = high + 1 < w->taps[i] - low ? high + 1 : w->taps[i] - low;
  int64_t end = (stay - 1) * step + 1 - w->in[i] - begin, rest = end < 0 ? -end : 0;
  if (stay == w->taps[i] || rest >= w->stride[i])
    return 0;
  *count = stay;
  w->taps[i] = stay;
  w->begin[i] = (uint32_t)begin;
  w->end[i] = (uint32_t)(end < 0 ? 0 : end);
  return low;
}

static GlowValue *slice_filter(const Crop *c, const GlowNode *n, const Window *w,
                               const int64_t *starts, const int64_t *ends) {
  GlowModule *m = c->run->module;
  GlowValue *filter = glow_node_in(n, GLOW_CONVOLUTION_IN_W);
  int64_t axes[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < w->spatial; i++)
    axes[i] = w->first + i;
  GlowEval e = glow_eval_create(m, c->run->arena, n);
  GlowValue *ins[] = {glow_eval_copy(&e, filter),
                      glow_constant_ints(m, n, "starts", starts, w->spatial),
                      glow_constant_ints(m, n, "ends", ends, w->spatial),
                      glow_constant_ints(m, n, "axes", axes, w->spatial)};
  GlowNode *slice = glow_build(&e.builder, GLOW_OP_SLICE, ins, 4, NULL, NULL);
  const char *name = filter->name ? filter->name : "filter";
  GlowStr cropped = glow_str_printf(c->run->ctx, "%s.cropped", name);
  return slice ? &glow_eval_finish(&e, &slice->results[0], cropped)->value : NULL;
}

static bool crop(GlowNode *n, void *arg) {
  const Crop *c = arg;
  Window w;
  if (n->op != GLOW_OP_CONVOLUTION || !read_window(n, &w) || w.members->pad ||
      !glow_constness_of(c->constness, glow_node_in(n, GLOW_CONVOLUTION_IN_W)))
    return true;
  int64_t starts[GLOW_MAX_RANK], ends[GLOW_MAX_RANK];
  bool changed = false;
  for (uint32_t i = 0; i < w.spatial; i++) {
    int64_t taps = w.taps[i], count;
    starts[i] = crop_axis(&w, i, &count);
    ends[i] = starts[i] + count;
    changed |= count != taps;
  }
  if (!changed)
    return true;
  GlowValue *filter = slice_filter(c, n, &w, starts, ends);
  return filter && finish(c->run, n, rebuild(n, &w, filter), "the filter loses what sees padding");
}

bool glow_pass_crop_filter(GlowPassRun *run) {
  Crop c = {.run = run, .constness = glow_constness_create(run->arena)};
  return glow_block_walk(run->function->body, crop, &c);
}
