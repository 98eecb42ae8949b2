/* GridSample of plain, dense buffers with up to three spatial axes, AffineGrid with two or three. */
#include "cpu/work.h"

bool glow_grid_element(GlowKind kind, int64_t *element) {
  *element = kind == GLOW_KIND_FLOAT     ? GLOW_GRID_ELEMENT_FLOAT
             : kind == GLOW_KIND_DOUBLE  ? GLOW_GRID_ELEMENT_DOUBLE
             : kind == GLOW_KIND_FLOAT16 ? GLOW_GRID_ELEMENT_HALF
                                         : GLOW_GRID_ELEMENT_BFLOAT;
  return kind == GLOW_KIND_FLOAT || kind == GLOW_KIND_DOUBLE || kind == GLOW_KIND_FLOAT16 ||
         kind == GLOW_KIND_BFLOAT16;
}

static int64_t padding_of(uint32_t padding) {
  return padding == GLOW_GRID_PADDING_ZEROS    ? GLOW_GRID_PAD_ZEROS
         : padding == GLOW_GRID_PADDING_BORDER ? GLOW_GRID_PAD_BORDER
                                               : GLOW_GRID_PAD_REFLECTION;
}

/* False, with s->why, if the reference kernel must do it. */
static bool read_params(GlowSelect *s, const GlowGridSampleMembers *m, const GlowView *x,
                        const GlowView *y, GlowGridParams *p) {
  p->images = x->dims[0];
  p->channels = x->dims[1];
  p->axes = x->rank - 2;
  p->places = glow_view_extent(y, 2, y->rank);
  p->in_plane = glow_view_extent(x, 2, x->rank);
  if (p->axes > GLOW_GRID_AXES || p->in_plane < 1 || p->in_plane > INT32_MAX)
    return glow_select_fail(s, "it has more than three spatial axes, or too many elements");
  p->taps = m->mode == GLOW_RESIZE_MODE_NEAREST ? 1 : m->mode == GLOW_RESIZE_MODE_LINEAR ? 2 : 4;
  p->neighbours = 1;
  for (uint32_t a = 0; a < p->axes; a++) {
    p->in[a] = x->dims[a + 2];
    p->stride[a] = x->strides[a + 2];
    p->neighbours *= p->taps;
  }
  p->padding = padding_of(m->padding_mode);
  p->align = m->align_corners;
  return true;
}

bool glow_select_grid_sample(GlowSelect *s, const GlowNode *n) {
  GlowView x, grid, y;
  GlowGridParams p = {0};
  GlowSetup setup = {0};
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_in(n, 1), &grid) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y))
    return false;
  if (!glow_view_extent(&y, 0, y.rank))
    return true;
  if (!read_params(s, n->members, &x, &y, &p))
    return false;
  GlowKind kind = y.type->kind;
  int64_t bits = glow_kind_info[kind].bits;
  if (!glow_grid_element(grid.type->kind, &p.element) || bits > 64 ||
      (p.taps > 1 && !glow_find_grid_sample(kind)))
    return glow_select_fail(s, "there is no kernel for its kind");
  if (p.taps > 1) {
    GlowGridSamplePlaces at = {.y = y.place, .x = x.place, .grid = grid.place};
    glow_setup_grid_sample(&s->cpu, &p, &setup);
    glow_work_grid_sample(s, n, kind, &p, &setup, &at);
    return true;
  }
  GlowGridNearestVariant width = bits == 8    ? GLOW_GRID_NEAREST_8
                                 : bits == 16 ? GLOW_GRID_NEAREST_16
                                 : bits == 32 ? GLOW_GRID_NEAREST_32
                                              : GLOW_GRID_NEAREST_64;
  GlowGridNearestPlaces at = {.y = y.place, .x = x.place, .grid = grid.place};
  glow_setup_grid_nearest(&s->cpu, &p, &setup);
  glow_work_grid_nearest(s, n, width, &p, &setup, &at);
  return true;
}

bool glow_select_affine_grid(GlowSelect *s, const GlowNode *n) {
  const GlowAffineGridMembers *m = n->members;
  GlowView theta, y;
  GlowAffineGridParams p = {0};
  if (!glow_select_dense(s, glow_node_in(n, GLOW_AFFINE_GRID_IN_THETA), &theta) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y))
    return false;
  p.axes = y.rank - 2;
  if (p.axes < 2 || p.axes > GLOW_GRID_AXES)
    return glow_select_fail(s, "it has not two or three spatial axes");
  if (!glow_grid_element(y.type->kind, &p.element))
    return glow_select_fail(s, "there is no kernel for its kind");
  for (uint32_t a = 0; a < p.axes; a++) {
    p.n[a] = y.dims[a + 1];
    p.divisor[a] = m->align_corners ? glow_max64(p.n[a] - 1, 1) : p.n[a];
  }
  p.pitch = glow_div_up(p.n[p.axes - 1] * p.axes, GLOW_AFFINE_PERIOD) * GLOW_AFFINE_PERIOD;
  GlowWorkSpec spec = {.units = glow_view_extent(&y, 0, y.rank - 2)};
  GlowAffineGridPlaces at = {.y = y.place, .theta = theta.place};
  if (glow_view_extent(&y, 0, y.rank) > 0)
    glow_work_affine_grid(s, n, &p, &at, &spec)->scratch = 2 * p.pitch * (int64_t)sizeof(double);
  return true;
}
