/* Reductions, and what goes along lines. */
#include "test/library/cases.h"

static const char *flag(Program *p) { return draw(p, 2) ? "true" : "false"; }

/* Lines of some length, or many of them beside each other. */
static Shape draw_lines(Program *p, GlowKind kind) {
  Shape s = draw_shape(p, kind, 1, 4, 6);
  s.dims[draw(p, (uint32_t)s.rank)] = draw_in(p, 1, 40);
  return s;
}

void case_reduce(Program *p) {
  static const char *const names[] = {"sum", "mean", "prod", "max", "min"};
  Shape x = draw_lines(p, draw_kind(p, NUMBERS)), y = {.kind = x.kind};
  int axes[MOST_DIMS], count = 0;
  bool keep = draw(p, 2);
  for (int a = 0; a < x.rank; a++) {
    bool reduced = draw(p, 2) || (a == x.rank - 1 && !count);
    if (reduced)
      axes[count++] = draw(p, 2) ? a : a - x.rank;
    if (!reduced || keep)
      y.dims[y.rank++] = reduced ? 1 : x.dims[a];
  }
  put(p, "  reduce_%s @out @v%d", names[draw(p, 5)], declare(p, &y));
  put(p, ", @in @v%d, @in @v%d", declare(p, &x), declare_ints(p, count, axes));
  put(p, " {keep = %s, ", keep ? "true" : "false");
  put_shards(p);
}

void case_arg_max(Program *p) {
  Shape x = draw_lines(p, draw_kind(p, NUMBERS)), y = {.kind = GLOW_KIND_I64};
  int axis = (int)draw(p, (uint32_t)x.rank);
  bool keep = draw(p, 2);
  if (!x.dims[axis])
    x.dims[axis] = 1;
  for (int a = 0; a < x.rank; a++)
    if (a != axis || keep)
      y.dims[y.rank++] = a == axis ? 1 : x.dims[a];
  put(p, "  arg_max @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, " {axis = %d, keep = %s, last = %s, ", draw(p, 2) ? axis : axis - x.rank,
      keep ? "true" : "false", flag(p));
  put_shards(p);
}

/* Short lines beside each other, lines of all kinds, and long ones of which little is wanted. */
void case_top_k(Program *p) {
  const GlowKind kind = draw_kind(p, NUMBERS);
  Shape x = draw(p, 3) ? draw_lines(p, kind)
                       : shape(kind, NULL, 2, draw_in(p, 1, 2), draw_in(p, 1, 6000));
  int axis = draw(p, 2) ? x.rank - 1 : (int)draw(p, (uint32_t)x.rank), n = x.dims[axis];
  Shape y = x, at = x;
  y.dims[axis] = draw(p, 4) ? draw_in(p, 0, n < 12 ? n : 12) : draw_in(p, 0, n);
  at.dims[axis] = y.dims[axis];
  at.kind = GLOW_KIND_I64;
  put(p, "  top_k @out @v%d, @out @v%d", declare(p, &y), declare(p, &at));
  put(p, ", @in @v%d", declare(p, &x));
  put(p, ", @in @v%d", declare_int(p, y.dims[axis]));
  put(p, " {axis = %d, largest = %s, ", draw(p, 2) ? axis : axis - x.rank, flag(p));
  put_shards(p);
}

void case_cum(Program *p) {
  Shape x = draw_lines(p, draw_kind(p, NUMBERS));
  int axis = (int)draw(p, (uint32_t)x.rank);
  put(p, "  cum_%s @out @v%d", draw(p, 2) ? "sum" : "prod", declare(p, &x));
  put(p, ", @in @v%d, @in @v%d", declare(p, &x), declare_int(p, draw(p, 2) ? axis : axis - x.rank));
  put(p, " {exclusive = %s, reverse = %s, ", flag(p), flag(p));
  put_shards(p);
}

void case_one_hot(Program *p) {
  Shape x = draw_shape(p, draw_kind(p, NUMBERS), 0, 3, 6), y = x;
  GlowKind kind = draw_kind(p, NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL));
  const Shape values = shape(kind, NULL, 1, 2);
  int depth = draw_in(p, 1, 20), axis = (int)draw(p, (uint32_t)x.rank + 1);
  y.kind = kind;
  y.rank++;
  for (int a = y.rank - 1; a > axis; a--)
    y.dims[a] = x.dims[a - 1];
  y.dims[axis] = depth;
  put(p, "  one_hot @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d, @in @v%d", declare_int(p, depth), declare(p, &values));
  put(p, " {axis = %d, ", draw(p, 2) ? axis : axis - y.rank);
  put_shards(p);
}

void case_trilu(Program *p) {
  Shape x = draw_shape(p, draw_kind(p, NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL)), 2, 4, 9);
  int y = declare(p, &x);
  put(p, "  trilu @out @v%d, @in @v%d", y, draw(p, 3) ? declare(p, &x) : y);
  if (draw(p, 3))
    put(p, ", @in @v%d", declare_int(p, draw_in(p, -10, 10)));
  else
    put(p, ", @in none");
  put(p, " {upper = %s, ", flag(p));
  put_shards(p);
}
