/* Gradient rules of operators that sample maps: the operator as nodes that have derivatives.
 *
 *   GridSample  samples where Grid says
 *   DeformConv  samples of X for each tap, times Mask, then a MatMul with the filters
 *   RoiAlign    means of linear samples of a region: a product with a matrix for each axis */
#include "autodiff/sample.h"
#include "lower/window.h"

static bool are_known(const GlowGrad *g) {
  for (uint32_t i = 0; i < glow_node_nins(g->n); i++)
    if (glow_grad_in(g, i) && !glow_type_is_static(glow_grad_in(g, i)->type))
      return false;
  return glow_type_is_static(g->dy[0]->type);
}

static int64_t extent(const GlowType *t, uint32_t first, uint32_t end) {
  int64_t n = 1;
  for (uint32_t i = first; i < end; i++)
    n *= t->dims[i].size;
  return n;
}

/* ---- GridSample ------------------------------------------------------------------------------ */

bool glow_grad_grid_sample(GlowGrad *g) {
  const GlowGridSampleMembers *m = g->n->members;
  GlowValue *x = glow_grad_wide(g, 0), *grid = glow_grad_in(g, 1);
  if (!are_known(g) || !x || x->type->rank - 2 > 4)
    return false;
  uint32_t spatial = x->type->rank - 2;
  int64_t batch = grid->type->dims[0].size, places = extent(grid->type, 1, grid->type->rank - 1);
  GlowSampling s = {
      .mode = m->mode, .padding = m->padding_mode, .corners = m->align_corners, .x = x};
  s.spatial = spatial;
  grid = glow_then_cast(g->b, grid, x->type->kind);
  grid = glow_build_shaped(g->b, g->n, grid, 3, (int64_t[]){batch, places, spatial});
  for (uint32_t a = 0; a < spatial; a++) {
    double size = (double)x->type->dims[2 + a].size, scale = (size - m->align_corners) / 2;
    int64_t at = spatial - 1 - a;
    GlowValue *v = grid ? glow_build_part(g->b, g->n, grid, 2, at, at + 1, 1) : NULL;
    v = glow_build_shaped(g->b, g->n, v, 2, (int64_t[]){batch, places});
    s.place[a] = by(g, GLOW_OP_ADD, by(g, GLOW_OP_MUL, v, scale), (size - 1) / 2);
  }
  GlowValue *y = glow_build_samples(g, &s);
  y = y ? glow_build_permuted(g->b, y, (uint32_t[]){0, 2, 1}, 3) : NULL;
  y = glow_grad_shaped(g, y, g->dy[0]->type);
  return glow_grad_through(g, &y);
}

/* ---- DeformConv ------------------------------------------------------------------------------ */

typedef struct Deform {
  uint32_t spatial;
  int64_t batch, groups, offset_groups, channels, filters, taps, outputs; /* channels: of X */
} Deform;

/* Along spatial axis a, where taps of windows lie without offsets: [1, 1, taps, out...]. */
static GlowValue *undisturbed(const GlowGrad *g, const Deform *d, uint32_t a) {
  const GlowDeformConvMembers *m = g->n->members;
  const GlowType *w = glow_grad_in(g, 1)->type, *y = g->dy[0]->type;
  GlowModule *module = g->b->module;
  int64_t *taps = GLOW_NEW_ARRAY(module->arena, int64_t, (size_t)d->taps + 1);
  int64_t out = y->dims[2 + a].size, inner = extent(w, 3 + a, w->rank);
  int64_t *windows = GLOW_NEW_ARRAY(module->arena, int64_t, (size_t)out + 1);
  for (int64_t t = 0; t < d->taps; t++)
    taps[t] = t / inner % w->dims[2 + a].size * glow_listed(m->dilations, a, 1) -
              glow_listed(m->pads, a, 0);
  for (int64_t i = 0; i < out; i++)
    windows[i] = i * glow_listed(m->strides, a, 1);
  GlowValue *tap =
      glow_constant_numbers(module, g->n, "taps", glow_sum_kind(w->kind), taps, (uint32_t)d->taps);
  GlowValue *window = glow_constant_numbers(module, g->n, "windows", glow_sum_kind(w->kind),
                                            windows, (uint32_t)out);
  return two(g, GLOW_OP_ADD, glow_build_along(g->b, g->n, tap, 3 + d->spatial, 2),
             glow_build_along(g->b, g->n, window, 3 + d->spatial, 3 + a));
}

/* Along spatial axis a, where each tap of each window lies: [batch * offset groups, taps * out]. */
static GlowValue *places_of(const GlowGrad *g, const Deform *d, uint32_t a) {
  const GlowType *y = g->dy[0]->type;
  int64_t split[] = {d->batch * d->offset_groups * d->taps, d->spatial, d->outputs};
  int64_t wide[GLOW_MAX_RANK] = {d->batch, d->offset_groups, d->taps};
  for (uint32_t i = 0; i < d->spatial; i++)
    wide[3 + i] = y->dims[2 + i].size;
  GlowValue *v = glow_build_shaped(g->b, g->n, glow_grad_wide(g, 2), 3, split);
  v = v ? glow_build_part(g->b, g->n, v, 1, a, a + 1, 1) : NULL;
  v = glow_build_shaped(g->b, g->n, v, 3 + d->spatial, wide);
  v = two(g, GLOW_OP_ADD, v, undisturbed(g, d, a));
  return glow_build_shaped(g->b, g->n, v, 2,
                           (int64_t[]){d->batch * d->offset_groups, d->taps * d->outputs});
}

/* [batch, groups, channels of a group * taps, outputs]. */
static GlowValue *columns_of(const GlowGrad *g, const Deform *d) {
  GlowValue *x = glow_grad_wide(g, 0), *mask = glow_grad_wide(g, 4);
  int64_t maps = d->batch * d->offset_groups, each = d->channels / d->offset_groups;
  int64_t dims[GLOW_MAX_RANK] = {maps, each}, places = d->taps * d->outputs;
  GlowSampling s = {.mode = GLOW_RESIZE_MODE_LINEAR, .padding = GLOW_GRID_PADDING_ZEROS};
  for (uint32_t i = 0; i < d->spatial; i++)
    dims[2 + i] = x->type->dims[2 + i].size;
  s.spatial = d->spatial;
  s.x = glow_build_shaped(g->b, g->n, x, 2 + d->spatial, dims);
  for (uint32_t a = 0; a < d->spatial; a++)
    s.place[a] = places_of(g, d, a);
  GlowValue *v = s.x ? glow_build_samples(g, &s) : NULL;
  if (mask)
    v = two(g, GLOW_OP_MUL, v,
            glow_build_shaped(g->b, g->n, mask, 3, (int64_t[]){maps, places, 1}));
  v = v ? glow_build_permuted(g->b, v, (uint32_t[]){0, 2, 1}, 3) : NULL;
  return glow_build_shaped(
      g->b, g->n, v, 4,
      (int64_t[]){d->batch, d->groups, d->channels / d->groups * d->taps, d->outputs});
}

bool glow_grad_deform_conv(GlowGrad *g) {
  const GlowDeformConvMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *w = glow_grad_in(g, 1)->type;
  if (!are_known(g) || x->rank - 2 > 4)
    return false;
  Deform d = {.spatial = x->rank - 2, .groups = m->group, .offset_groups = m->offset_group};
  d.batch = x->dims[0].size;
  d.channels = x->dims[1].size;
  d.filters = w->dims[0].size;
  d.taps = extent(w, 2, w->rank);
  d.outputs = extent(g->dy[0]->type, 2, x->rank);
  int64_t rows[] = {d.groups, d.filters / d.groups, d.channels / d.groups * d.taps};
  GlowValue *filters = glow_build_shaped(g->b, g->n, glow_grad_wide(g, 1), 3, rows);
  GlowValue *y = two(g, GLOW_OP_MAT_MUL, filters, columns_of(g, &d)), *bias = glow_grad_wide(g, 3);
  y = glow_grad_shaped(g, y, g->dy[0]->type);
  if (bias)
    y = two(g, GLOW_OP_ADD, y, glow_along_channels(g->b, g->n, bias, x->rank));
  return glow_grad_through(g, &y);
}

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* How much cells take of the elements along an axis, [regions, 1, cells, extent]; the region lies
 * between columns `low` and `low` + 2 of Rois. */
static GlowValue *shares(const GlowGrad *g, int64_t low, int64_t cells, int64_t size) {
  const GlowRoiAlignMembers *m = g->n->members;
  GlowValue *rois = glow_grad_wide(g, 1);
  bool half = m->coordinate_transformation_mode == GLOW_ROI_COORDINATES_HALF_PIXEL;
  int64_t samples = m->sampling_ratio, count = cells * samples, regions = rois->type->dims[0].size;
  double scale = (double)m->spatial_scale, shift = half ? 0.5 : 0;
  GlowValue *end[2];
  for (int i = 0; i < 2; i++) {
    end[i] = glow_build_part(g->b, g->n, rois, 1, low + 2 * i, low + 2 * i + 1, 1);
    end[i] = by(g, GLOW_OP_SUB, by(g, GLOW_OP_MUL, end[i], scale), shift);
  }
  GlowValue *length = two(g, GLOW_OP_SUB, end[1], end[0]);
  if (!half)
    length = by(g, GLOW_OP_MAX, length, 1);
  /* Sample s of all lies (s + 1/2) / count along the region. */
  int64_t *odd = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++)
    odd[i] = 2 * i + 1;
  GlowValue *part =
      glow_constant_numbers(g->b->module, g->n, "samples", rois->type->kind, odd, (uint32_t)count);
  part = by(g, GLOW_OP_DIV, glow_build_along(g->b, g->n, part, 2, 1), (double)(2 * count));
  GlowValue *at = two(g, GLOW_OP_ADD, end[0], two(g, GLOW_OP_MUL, length, part));
  at = glow_build_shaped(g->b, g->n, at, 3, (int64_t[]){regions, count, 1});
  if (!at)
    return NULL;
  GlowKind kind = at->type->kind;
  GlowValue *there = two(g, GLOW_OP_AND, by(g, GLOW_OP_GREATER_OR_EQUAL, at, -1),
                         by(g, GLOW_OP_LESS_OR_EQUAL, at, (double)size));
  GlowValue *inside = glow_then3(g->b, GLOW_OP_CLIP, at, glow_build_scalar(g->b, kind, 0),
                                 glow_build_scalar(g->b, kind, (double)(size - 1)));
  GlowValue *elements = glow_then_cast(g->b, glow_build_count(g->b, g->n, size, 1), kind);
  GlowValue *far = glow_then1(g->b, GLOW_OP_ABS, two(g, GLOW_OP_SUB, inside, elements), NULL);
  GlowValue *weight = glow_then1(
      g->b, GLOW_OP_RELU, by(g, GLOW_OP_ADD, glow_then1(g->b, GLOW_OP_NEG, far, NULL), 1), NULL);
  weight = two(g, GLOW_OP_MUL, weight, glow_then_cast(g->b, there, kind));
  weight = glow_build_shaped(g->b, g->n, weight, 4, (int64_t[]){regions, cells, samples, size});
  weight = by(g, GLOW_OP_DIV, glow_grad_summed(g, weight, (int64_t[]){2}, 1), (double)samples);
  return glow_build_shaped(g->b, g->n, weight, 4, (int64_t[]){regions, 1, cells, size});
}

bool glow_grad_roi_align(GlowGrad *g) {
  const GlowRoiAlignMembers *m = g->n->members;
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  if (m->mode != GLOW_ROI_MODE_AVG || m->sampling_ratio == 0) {
    glow_error(g->b->module->ctx, glow_node_loc(g->n),
               "RoiAlign has a derivative only with mode = avg and a sampling_ratio");
    return false;
  }
  if (!are_known(g))
    return false;
  GlowValue *rows = shares(g, 1, y->dims[2].size, x->dims[2].size);
  GlowValue *columns = shares(g, 0, y->dims[3].size, x->dims[3].size);
  columns = columns ? glow_build_permuted(g->b, columns, (uint32_t[]){0, 1, 3, 2}, 4) : NULL;
  GlowValue *maps = glow_build_picked(g->b, glow_grad_wide(g, 0), glow_grad_in(g, 2), 0);
  GlowValue *v = two(g, GLOW_OP_MAT_MUL, two(g, GLOW_OP_MAT_MUL, rows, maps), columns);
  return glow_grad_through(g, &v);
}
