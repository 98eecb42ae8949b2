/* Resizes along some axes of an image. */
#include "test/library/cases.h"

static void put_resize(Program *p, GlowKind kind, const char *mode, bool antialias) {
  static const char *const coordinates[] = {"half_pixel",         "half_pixel_symmetric",
                                            "pytorch_half_pixel", "align_corners",
                                            "asymmetric",         "tf_half_pixel_for_nn"};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  Shape x = shape(kind, NULL, 4, draw_in(p, 1, 2), draw_in(p, 1, 20), draw_in(p, 1, 9),
                  draw_in(p, 1, 12));
  if (draw(p, 3) == 0)
    x.layout = "NCHW16c";
  Shape y = x;
  int first = x.layout ? 2 : draw_in(p, 1, 2), axes[3], count = 4 - first, sizes[3];
  for (int i = 0; i < count; i++) {
    int a = axes[i] = first + i;
    sizes[i] = y.dims[a] = draw(p, 4) ? draw(p, 4) ? draw_in(p, 1, 20) : 2 * x.dims[a] : x.dims[a];
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
