/* Pools. */
#include "test/library/cases.h"

enum { AXES = 3 };

typedef struct Pool {
  Shape x, y;
  int axes, kernels[AXES], strides[AXES], pads[2 * AXES], dilations[AXES];
  bool nhwc;
  bool apart; /* windows of 2 elements side by side */
  int slides; /* if not 0: windows of so many elements along both axes move by one */
} Pool;

/* No window is all padding, which means and norms of windows do not have. */
static void draw_axis(Program *p, Pool *t, int a, int most) {
  int at = t->nhwc ? 1 + a : 2 + a, kernel = t->apart    ? 2
                                             : t->slides ? t->slides
                                                         : draw_in(p, 1, 4);
  int dilation = t->dilations[a] = t->apart || t->slides || draw(p, 4) ? 1 : draw_in(p, 1, 2);
  t->kernels[a] = kernel;
  t->strides[a] = t->apart ? 2 : t->slides ? 1 : draw_in(p, 1, 3);
  for (int k = 0; k < 2; k++)
    t->pads[a + k * t->axes] = draw(p, 2) && (k || !t->apart) ? draw_in(p, 0, kernel - 1) : 0;
  int reach = (kernel - 1) * dilation + 1;
  t->x.dims[at] = reach + draw_in(p, 0, most);
  t->y.dims[at] = (t->x.dims[at] + t->pads[a] + t->pads[a + t->axes] - reach) / t->strides[a] + 1;
}

static Pool draw_pool(Program *p, GlowKind kind, bool plain) {
  Pool t = {.axes = draw_in(p, 1, AXES), .nhwc = !plain && draw(p, 3) == 0};
  bool blocked = !plain && !t.nhwc && draw(p, 2);
  if (blocked)
    t.axes = 2;
  t.apart = plain && draw(p, 3) == 0;
  if (plain && !t.apart && draw(p, 2)) {
    t.slides = draw(p, 2) ? 3 : 5;
    t.axes = 2;
  }
  t.x.kind = t.y.kind = kind;
  t.x.rank = t.y.rank = t.axes + 2;
  t.x.layout = t.y.layout = blocked ? "NCHW16c" : NULL;
  t.x.dims[0] = t.y.dims[0] = draw_in(p, 1, 2);
  int channel = t.nhwc ? t.axes + 1 : 1;
  t.x.dims[channel] = t.y.dims[channel] = draw_in(p, 1, blocked || t.nhwc ? 36 : 4);
  for (int a = 0; a < t.axes; a++)
    draw_axis(p, &t, a,
              t.axes == 1 || ((t.apart || t.slides) && a == t.axes - 1) ? 40
              : t.axes == 2                                             ? 8
                                                                        : 3);
  return t;
}

static void put_pool(Program *p, const Pool *t) {
  put(p, " {layout = %s, kernels = ", t->nhwc ? "NHWC" : "NCHW");
  put_list(p, t->axes, t->kernels);
  put(p, ", strides = ");
  put_list(p, t->axes, t->strides);
  put(p, ", pads = ");
  put_list(p, 2 * t->axes, t->pads);
  put(p, ", dilations = ");
  put_list(p, t->axes, t->dilations);
  put(p, ", ");
}

static void put_max_pool(Program *p, const Pool *t) {
  put(p, "  max_pool @out @v%d, @out none", declare(p, &t->y));
  put(p, ", @in @v%d", declare(p, &t->x));
  put_pool(p, t);
  put_shards(p);
}

void case_max_pool(Program *p) {
  Pool t = draw_pool(p, draw_kind(p, NUMBERS), false);
  put_max_pool(p, &t);
}

static void put_max_pool_arg(Program *p, GlowKind kind) {
  Pool t = draw_pool(p, kind, true);
  Shape at = t.y;
  at.kind = GLOW_KIND_I64;
  put(p, "  max_pool @out @v%d, @out @v%d", declare(p, &t.y), declare(p, &at));
  put(p, ", @in @v%d", declare(p, &t.x));
  put_pool(p, &t);
  put(p, "column_major = %s, ", draw(p, 3) ? "false" : "true");
  put_shards(p);
}

void case_max_pool_arg(Program *p) {
  const GlowKindSet kinds = GLOW_KIND_BIT(GLOW_KIND_FLOAT) | GLOW_KIND_BIT(GLOW_KIND_DOUBLE) |
                            GLOW_KIND_BIT(GLOW_KIND_FLOAT16) | GLOW_KIND_BIT(GLOW_KIND_I8) |
                            GLOW_KIND_BIT(GLOW_KIND_U8);
  put_max_pool_arg(p, draw_kind(p, kinds));
}

static void put_average_pool(Program *p, const Pool *t) {
  put(p, "  average_pool @out @v%d, @in @v%d", declare(p, &t->y), declare(p, &t->x));
  put_pool(p, t);
  put(p, "count_include_pad = %s, ", draw(p, 2) ? "true" : "false");
  put_shards(p);
}

void case_average_pool(Program *p) {
  Pool t = draw_pool(p, draw_kind(p, FLOATS), false);
  put_average_pool(p, &t);
}

static void put_lp_pool(Program *p, const Pool *t, int norm) {
  put(p, "  lp_pool @out @v%d, @in @v%d", declare(p, &t->y), declare(p, &t->x));
  put_pool(p, t);
  put(p, "p = %d.0, ", norm);
  put_shards(p);
}

void case_lp_pool(Program *p) {
  Pool t = draw_pool(p, draw_kind(p, FLOATS), false);
  put_lp_pool(p, &t, draw_in(p, 1, 3));
}

static void put_row_pool(Program *p, const Pool *t) {
  const int what = draw(p, 4);
  if (what < 2)
    put_max_pool(p, t);
  else if (what == 2)
    put_average_pool(p, t);
  else
    put_lp_pool(p, t, draw_in(p, 1, 2));
}

/* Windows are whole planes. */
void case_pool_planes(Program *p) {
  Pool t = draw_pool(p, GLOW_KIND_FLOAT, true);
  t.x.dims[1] = t.y.dims[1] = draw_in(p, 1, 40);
  for (int a = 0; a < t.axes; a++) {
    t.x.dims[2 + a] = t.kernels[a] = draw_in(p, 1, t.axes == 1 ? 40 : t.axes == 2 ? 9 : 4);
    t.y.dims[2 + a] = t.dilations[a] = 1;
    t.pads[a] = t.pads[a + t.axes] = 0;
  }
  put_row_pool(p, &t);
}

/* Also maps of several bands. */
void case_pool_rows(Program *p) {
  Pool t = draw_pool(p, GLOW_KIND_FLOAT, true);
  if (t.axes == 2 && draw(p, 3) == 0) {
    const int more = draw_in(p, 20, 120);
    t.x.dims[2] += more * t.strides[0];
    t.y.dims[2] += more;
  }
  put_row_pool(p, &t);
}

void case_pool_rows_arg(Program *p) { put_max_pool_arg(p, GLOW_KIND_FLOAT); }
