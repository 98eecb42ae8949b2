/* Resizes along some axes of an image, samples of a grid, and grids under affine maps. */
#include "test/library/cases.h"

static void put_resize(Program *p, GlowKind kind, const char *mode, bool antialias) {
  static const char *const coordinates[] = {"half_pixel",         "half_pixel_symmetric",
                                            "pytorch_half_pixel", "align_corners",
                                            "asymmetric",         "tf_half_pixel_for_nn"};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  Shape x = shape(kind, NULL, 4, draw_in(p, 1, 2), draw_in(p, 1, 20), draw_in(p, 1, 9),
                  draw_in(p, 1, 40));
  if (draw(p, 3) == 0)
    x.layout = "NCHW16c";
  Shape y = x;
  int first = x.layout ? 2 : draw_in(p, 1, 2), axes[3], count = 4 - first, sizes[3];
  for (int i = 0; i < count; i++) {
    int a = axes[i] = first + i;
    const int others[] = {draw_in(p, 1, 20), 2 * x.dims[a], (x.dims[a] + 1) / 2, x.dims[a]};
    sizes[i] = y.dims[a] = others[draw(p, 2) ? 0 : 1 + draw(p, 3)];
  }
  put(p, "  resize @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in none, @in none, @in @v%d {mode = %s, axes = ", declare_ints(p, count, sizes), mode);
  put_list(p, count, axes);
  put(p, ", coordinate_transformation_mode = %s, nearest_mode = %s, ", coordinates[draw(p, 6)],
      nearest[draw(p, 4)]);
  put(p, "antialias = %s, exclude_outside = %s, ", antialias ? "true" : "false",
      draw(p, 3) ? "false" : "true");
  put_shards(p);
}

void case_resize_nearest(Program *p) {
  put_resize(p, draw_kind(p, NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL)), "nearest", false);
}

void case_resize(Program *p) {
  const GlowKindSet kinds = FLOATS | GLOW_KIND_BIT(GLOW_KIND_U8) | GLOW_KIND_BIT(GLOW_KIND_I8);
  put_resize(p, draw_kind(p, kinds), draw(p, 2) ? "linear" : "cubic", draw(p, 3) == 0);
}

static void put_grid_sample(Program *p, GlowKind kind, const char *mode) {
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  const int axes = draw_in(p, 1, 3);
  Shape x = {.kind = kind, .rank = axes + 2, .dims = {draw_in(p, 1, 2), draw_in(p, 1, 9)}}, y = x;
  Shape grid = {.kind = draw_kind(p, FLOATS), .rank = axes + 2, .dims = {x.dims[0]}};
  for (int a = 0; a < axes; a++) {
    x.dims[a + 2] = draw_in(p, 1, axes == 1 ? 40 : 9);
    y.dims[a + 2] = grid.dims[a + 1] = draw_in(p, 1, axes == 1 ? 90 : 9);
  }
  grid.dims[axes + 1] = axes;
  put(p, "  grid_sample @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {mode = %s, padding_mode = %s, align_corners = %s, ", declare(p, &grid), mode,
      paddings[draw(p, 3)], draw(p, 2) ? "true" : "false");
  put_shards(p);
}

void case_grid_nearest(Program *p) {
  put_grid_sample(p, draw_kind(p, NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL)), "nearest");
}

void case_grid_sample(Program *p) {
  const GlowKindSet kinds = FLOATS | GLOW_KIND_BIT(GLOW_KIND_U8) | GLOW_KIND_BIT(GLOW_KIND_I8);
  put_grid_sample(p, draw_kind(p, kinds), draw(p, 2) ? "linear" : "cubic");
}

void case_affine_grid(Program *p) {
  const int axes = draw_in(p, 2, 3);
  Shape theta = shape(draw_kind(p, FLOATS), NULL, 3, draw_in(p, 1, 3), axes, axes + 1);
  Shape y = {.kind = theta.kind, .rank = axes + 2, .dims = {theta.dims[0]}};
  int sizes[5] = {theta.dims[0], draw_in(p, 1, 3)};
  for (int a = 0; a < axes; a++)
    sizes[a + 2] = y.dims[a + 1] = draw_in(p, 1, a == axes - 1 ? 60 : 6);
  y.dims[axes + 1] = axes;
  put(p, "  affine_grid @out @v%d, @in @v%d", declare(p, &y), declare(p, &theta));
  put(p, ", @in @v%d {align_corners = %s, ", declare_ints(p, axes + 2, sizes),
      draw(p, 2) ? "true" : "false");
  put_shards(p);
}
