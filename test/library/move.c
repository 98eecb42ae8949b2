/* What puts elements elsewhere: copies of boxes, zeros, transpositions. */
#include "test/library/cases.h"

static const GlowKindSet any = NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL);

/* A tensor of rank 4, blocked by channels or not. */
static Shape draw_image(Program *p, bool blocked) {
  const char *layout = !blocked ? NULL : draw(p, 4) ? "NCHW16c" : "NCHW8c";
  return shape(draw_kind(p, any), layout, 4, draw_in(p, 1, 2), draw_in(p, 1, 40), draw_in(p, 1, 5),
               draw_in(p, 1, 6));
}

static void put_relayout(Program *p) {
  Shape x = draw_image(p, draw(p, 2)), y = x;
  y.layout = draw(p, 2) ? NULL : "NCHW16c";
  put(p, "  relayout @out @v%d, @in @v%d {", declare(p, &y), declare(p, &x));
  put_shards(p);
}

/* Whole axes, or a part of some. */
static void put_slice(Program *p) {
  Shape x = draw_image(p, draw(p, 2)), y = x;
  int axes[] = {0, 1, 2, 3}, starts[4], ends[4], steps[4];
  for (int a = 0; a < 4; a++) {
    bool back = (a != 1 || !x.layout) && draw(p, 3) == 0;
    int from = draw_in(p, 0, x.dims[a] - 1), step = a == 1 && x.layout ? 1 : draw_in(p, 1, 3);
    y.dims[a] = draw_in(p, 1, ((back ? from : x.dims[a] - 1 - from)) / step + 1);
    steps[a] = back ? -step : step;
    starts[a] = from;
    ends[a] = from + y.dims[a] * steps[a];
    ends[a] = ends[a] < 0 ? -100 : ends[a]; /* before the first one */
  }
  put(p, "  slice @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d, @in @v%d", declare_ints(p, 4, starts), declare_ints(p, 4, ends));
  put(p, ", @in @v%d, @in @v%d {", declare_ints(p, 4, axes), declare_ints(p, 4, steps));
  put_shards(p);
}

static void put_concat(Program *p) {
  Shape x = draw_image(p, draw(p, 2)), y = x, second = x;
  int axis = draw_in(p, 0, 3);
  second.dims[axis] = draw_in(p, 1, 20);
  y.dims[axis] += second.dims[axis];
  put(p, "  concat @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {axis = %d, ", declare(p, &second), axis);
  put_shards(p);
}

static void put_split(Program *p) {
  Shape x = draw_image(p, draw(p, 2)), first = x, second = x;
  int axis = draw_in(p, 0, 3);
  second.dims[axis] = draw_in(p, 1, 20);
  x.dims[axis] += second.dims[axis];
  const int sizes[] = {first.dims[axis], second.dims[axis]};
  put(p, "  split @out @v%d, @out @v%d", declare(p, &first), declare(p, &second));
  put(p, ", @in @v%d, @in @v%d {axis = %d, ", declare(p, &x), declare_ints(p, 2, sizes), axis);
  put_shards(p);
}

static void put_pad(Program *p) {
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  Shape x = draw_image(p, draw(p, 2)), y = x;
  const Shape value = shape(x.kind, NULL, 0);
  int mode = draw_in(p, 0, 3), pads[8] = {0};
  for (int a = 0; a < 4; a++) {
    int most = mode == 1 ? x.dims[a] - 1 : x.dims[a];
    for (int k = 0; k < 2 && draw(p, 2); k++)
      pads[a + 4 * k] = draw_in(p, 0, most > 3 ? 3 : most);
    y.dims[a] += pads[a] + pads[a + 4];
  }
  put(p, "  pad @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d", declare_ints(p, 8, pads));
  if (mode == 0 && draw(p, 2))
    put(p, ", @in @v%d", declare(p, &value));
  else
    put(p, ", @in none");
  put(p, ", @in none {mode = %s, ", modes[mode]);
  put_shards(p);
}

/* Expand, or Tile. */
static void put_repeat(Program *p) {
  Shape x = draw_shape(p, draw_kind(p, any), 1, 4, 5), y = x;
  int times[MOST_DIMS];
  bool tile = draw(p, 2);
  for (int a = 0; a < x.rank; a++) {
    times[a] = draw_in(p, 1, 3);
    if (tile)
      y.dims[a] *= times[a];
    else if (draw(p, 2))
      x.dims[a] = 1;
  }
  put(p, "  %s @out @v%d, @in @v%d", tile ? "tile" : "expand", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {", declare_ints(p, x.rank, tile ? times : y.dims));
  put_shards(p);
}

void case_move(Program *p) {
  static Case *const cases[] = {put_relayout, put_slice, put_concat,
                                put_split,    put_pad,   put_repeat};
  cases[draw(p, sizeof cases / sizeof *cases)](p);
}

/* A block of channels that is not full, or padding by zeros. */
void case_zero(Program *p) {
  Shape x = draw_image(p, false), y = x;
  int pads[] = {0, 0, draw_in(p, 0, 2), 1, 0, draw_in(p, 0, 3), 0, draw_in(p, 0, 2)};
  bool relayout = draw(p, 2);
  if (relayout)
    y.layout = "NCHW16c";
  for (int a = 0; a < 4 && !relayout; a++)
    y.dims[a] += pads[a] + pads[a + 4];
  put(p, "  %s @out @v%d, @in @v%d", relayout ? "relayout" : "pad", declare(p, &y), declare(p, &x));
  if (!relayout)
    put(p, ", @in @v%d, @in none, @in none", declare_ints(p, 8, pads));
  put(p, " {");
  put_shards(p);
}

/* Of at least four rows and columns, else it is no transposition. */
void case_transpose(Program *p) {
  Shape x = draw_shape(p, draw_kind(p, any), 2, 5, 4), y = x;
  int perm[MOST_DIMS];
  for (int a = 0; a < x.rank; a++) {
    int k = (int)draw(p, (uint32_t)a + 1);
    perm[a] = perm[k];
    perm[k] = a;
  }
  if (perm[x.rank - 1] == x.rank - 1) { /* the innermost axis must move */
    perm[x.rank - 1] = perm[0];
    perm[0] = x.rank - 1;
  }
  x.dims[x.rank - 1] = draw_in(p, 4, 40);
  x.dims[perm[x.rank - 1]] = draw_in(p, 4, 40);
  for (int a = 0; a < x.rank; a++)
    y.dims[a] = x.dims[perm[a]];
  put(p, "  transpose @out @v%d, @in @v%d {perm = ", declare(p, &y), declare(p, &x));
  put_list(p, x.rank, perm);
  put(p, ", ");
  put_shards(p);
}

/* An axis of extent 2 becomes the innermost one, the innermost one its neighbour; or the other way
 * around. */
static void put_pairs(Program *p, bool apart) {
  Shape x = draw_shape(p, draw_kind(p, any), 2, 6, 4), y = x;
  int perm[MOST_DIMS], back[MOST_DIMS], others = 0;
  int last = x.rank - 1, pair = (int)draw(p, (uint32_t)last);
  for (int a = 0; a < last; a++) {
    if (a == pair)
      continue;
    int k = (int)draw(p, (uint32_t)others + 1);
    perm[others++] = perm[k];
    perm[k] = a;
  }
  perm[last - 1] = last;
  perm[last] = pair;
  x.dims[last] = draw_in(p, 2, 40);
  x.dims[pair] = 2;
  for (int a = 0; a < x.rank; a++) {
    y.dims[a] = x.dims[perm[a]];
    back[perm[a]] = a;
  }
  int to = declare(p, apart ? &x : &y), from = declare(p, apart ? &y : &x);
  put(p, "  transpose @out @v%d, @in @v%d {perm = ", to, from);
  put_list(p, x.rank, apart ? back : perm);
  put(p, ", ");
  put_shards(p);
}

void case_interleave(Program *p) { put_pairs(p, false); }
void case_deinterleave(Program *p) { put_pairs(p, true); }
