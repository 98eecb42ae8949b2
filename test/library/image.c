/* Regions of maps, samples where offsets say, and what goes back to where windows were. */
#include "test/library/cases.h"

/* Whole numbers in [low, 12] as `kind`, so that none is infinite. */
static int declare_whole(Program *p, const Shape *s, int low) {
  Shape bytes = *s;
  bytes.kind = GLOW_KIND_I8;
  const int to = declare(p, s), from = declare_between(p, &bytes, low, 12);
  put(p, "  cast @out @v%d, @in @v%d {to = %s}\n", to, from, glow_kind_info[s->kind].name);
  return to;
}

/* ---- Regions --------------------------------------------------------------------------------- */

static Shape draw_map(Program *p, GlowKind kind, int images) {
  return shape(kind, NULL, 4, images, draw_in(p, 1, 9), draw_in(p, 1, 14), draw_in(p, 1, 30));
}

void case_roi_align(Program *p) {
  const int regions = draw_in(p, 1, 4), images = draw_in(p, 1, 3);
  Shape x = draw_map(p, draw_kind(p, FLOATS), images), y = x;
  Shape rois = shape(x.kind, NULL, 2, regions, 4), batches = shape(GLOW_KIND_I64, NULL, 1, regions);
  y.dims[0] = regions;
  y.dims[2] = draw_in(p, 1, 7);
  y.dims[3] = draw_in(p, 1, 20);
  const int boxes = declare_whole(p, &rois, -12);
  const int from = declare_between(p, &batches, 0, images - 1);
  put(p, "  roi_align @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d, @in @v%d {mode = %s, coordinate_transformation_mode = %s, ", boxes, from,
      draw(p, 3) ? "avg" : "max", draw(p, 2) ? "half_pixel" : "output_half_pixel");
  put(p, "output_height = %d, output_width = %d, sampling_ratio = %d, ", y.dims[2], y.dims[3],
      draw(p, 2) ? draw_in(p, 1, 3) : 0);
  put(p, "spatial_scale = %s, ", draw(p, 2) ? "0.75" : "2.5");
  put_shards(p);
}

void case_max_roi_pool(Program *p) {
  const int regions = draw_in(p, 1, 4);
  Shape x = draw_map(p, draw_kind(p, FLOATS), 13), y = x;
  Shape rois = shape(x.kind, NULL, 2, regions, 5);
  y.dims[0] = regions;
  y.dims[2] = draw_in(p, 1, 7);
  y.dims[3] = draw_in(p, 1, 7);
  const int boxes = declare_whole(p, &rois, 0);
  put(p, "  max_roi_pool @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {pooled_shape = [%d, %d], ", boxes, y.dims[2], y.dims[3]);
  put(p, "spatial_scale = %s, ", draw(p, 2) ? "0.75" : "2.5");
  put_shards(p);
}

void case_check_regions(Program *p) {
  if (draw(p, 2))
    case_roi_align(p);
  else
    case_max_roi_pool(p);
}

/* ---- Windows --------------------------------------------------------------------------------- */

enum { AXES = 3 };

void case_max_unpool(Program *p) {
  const int axes = draw_in(p, 1, AXES);
  Shape x = {.kind = draw_kind(p, NUMBERS), .rank = axes + 2}, y;
  int kernels[AXES], strides[AXES], extents[AXES + 2], elements = 1;
  const bool larger = draw(p, 3) == 0;
  for (int a = 0; a < x.rank; a++)
    x.dims[a] = draw_in(p, 1, a < 2 ? 3 : 9);
  y = x;
  for (int a = 0; a < axes; a++) {
    strides[a] = draw_in(p, 1, 3);
    kernels[a] = draw_in(p, 1, 3);
    y.dims[a + 2] = (x.dims[a + 2] - 1) * strides[a] + kernels[a];
  }
  for (int a = 0; a < y.rank; a++) {
    elements *= y.dims[a];
    y.dims[a] += larger && a >= 2 ? draw_in(p, 0, 2) : 0;
    extents[a] = y.dims[a];
  }
  Shape indices = x;
  indices.kind = GLOW_KIND_I64;
  const int at = declare_between(p, &indices, 0, elements - 1);
  put(p, "  max_unpool @out @v%d, @in @v%d, @in @v%d, ", declare(p, &y), declare(p, &x), at);
  if (larger)
    put(p, "@in @v%d", declare_ints(p, y.rank, extents));
  else
    put(p, "@in none");
  put(p, " {kernels = ");
  put_list(p, axes, kernels);
  put(p, ", strides = ");
  put_list(p, axes, strides);
  put(p, ", ");
  put_shards(p);
}

void case_col2_im(Program *p) {
  const int axes = draw_in(p, 1, AXES);
  Shape y = {.kind = draw_kind(p, FLOATS), .rank = axes + 2};
  Shape x = {.kind = y.kind, .rank = 3};
  int kernels[AXES], strides[AXES], dilations[AXES], pads[2 * AXES];
  y.dims[0] = x.dims[0] = draw_in(p, 1, 2);
  y.dims[1] = x.dims[1] = draw_in(p, 1, 3);
  x.dims[2] = 1;
  for (int a = 0; a < axes; a++) {
    kernels[a] = draw_in(p, 1, 4);
    strides[a] = draw(p, 2) ? 1 : draw_in(p, 1, 3);
    dilations[a] = draw_in(p, 1, 2);
    pads[a] = draw_in(p, 0, 2);
    pads[a + axes] = draw_in(p, 0, 2);
    const int reach = (kernels[a] - 1) * dilations[a] + 1;
    y.dims[a + 2] = reach + draw_in(p, 0, axes == 1 ? 90 : axes == 2 ? 20 : 4);
    x.dims[1] *= kernels[a];
    x.dims[2] *= (y.dims[a + 2] + pads[a] + pads[a + axes] - reach) / strides[a] + 1;
  }
  put(p, "  col2_im @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d", declare_ints(p, axes, y.dims + 2));
  put(p, ", @in @v%d {strides = ", declare_ints(p, axes, kernels));
  put_list(p, axes, strides);
  put(p, ", dilations = ");
  put_list(p, axes, dilations);
  put(p, ", pads = ");
  put_list(p, 2 * axes, pads);
  put(p, ", ");
  put_shards(p);
}

void case_deform_conv(Program *p) {
  const int axes = draw_in(p, 1, AXES), group = draw_in(p, 1, 2), each = draw_in(p, 1, 20);
  const int offset_group = draw(p, 2) ? 1 : group, images = draw_in(p, 1, 2);
  const int filters = group * draw_in(p, 1, 20);
  Shape x = shape(GLOW_KIND_FLOAT, NULL, axes + 2, images, group * each, 1, 1, 1);
  Shape w = shape(GLOW_KIND_FLOAT, NULL, axes + 2, filters, each, 1, 1, 1), y = x, offset = x, mask;
  int kernels[AXES], taps = 1;
  for (int a = 0; a < axes; a++) {
    kernels[a] = w.dims[a + 2] = draw_in(p, 1, axes == 3 ? 2 : 3);
    x.dims[a + 2] = kernels[a] + draw_in(p, 0, axes == 1 ? 40 : 6);
    y.dims[a + 2] = offset.dims[a + 2] = x.dims[a + 2] - kernels[a] + 1;
    taps *= kernels[a];
  }
  y.dims[1] = filters;
  offset.dims[1] = offset_group * taps * axes;
  mask = offset;
  mask.dims[1] = offset_group * taps;
  Shape bias = shape(GLOW_KIND_FLOAT, NULL, 1, filters);
  put(p, "  deform_conv @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d", declare(p, &w));
  put(p, ", @in @v%d", declare(p, &offset));
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &bias));
  else
    put(p, ", @in none");
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &mask));
  else
    put(p, ", @in none");
  put(p, " {group = %d, offset_group = %d, ", group, offset_group);
  put_shards(p);
}
