/* Reductions, and what goes along lines. */
#include "test/library/cases.h"

#include <stdio.h>

static const char *flag(Program *p) { return draw(p, 2) ? "true" : "false"; }

/* Lines of some length, or many of them beside each other. */
static Shape draw_lines(Program *p, GlowKind kind) {
  Shape s = draw_shape(p, kind, 1, 4, 6);
  s.dims[draw(p, (uint32_t)s.rank)] = draw_in(p, 1, 40);
  return s;
}

/* Lines to reduce, along which axes, and what comes of them. */
typedef struct Reduction {
  Shape x, y;
  int axes[MOST_DIMS], count;
  bool keep;
} Reduction;

static Reduction draw_reduction(Program *p, GlowKind kind) {
  Reduction r = {.x = draw_lines(p, kind), .y = {.kind = kind}, .keep = draw(p, 2)};
  for (int a = 0; a < r.x.rank; a++) {
    bool reduced = draw(p, 2) || (a == r.x.rank - 1 && !r.count);
    if (reduced)
      r.axes[r.count++] = draw(p, 2) ? a : a - r.x.rank;
    if (!reduced || r.keep)
      r.y.dims[r.y.rank++] = reduced ? 1 : r.x.dims[a];
  }
  return r;
}

/* x: the number of the operand. */
static void put_reduction(Program *p, const char *name, const Reduction *r, int x) {
  put(p, "  reduce_%s @out @v%d", name, declare(p, &r->y));
  put(p, ", @in @v%d, @in @v%d", x, declare_ints(p, r->count, r->axes));
  put(p, " {keep = %s, ", r->keep ? "true" : "false");
  put_shards(p);
}

void case_reduce(Program *p) {
  static const char *const names[] = {"sum", "mean", "prod", "max", "min"};
  Reduction r = draw_reduction(p, draw_kind(p, NUMBERS));
  put_reduction(p, names[draw(p, 5)], &r, declare(p, &r.x));
}

/* Two in a row; those along the last axes alone become one. */
void case_reduce_range(Program *p) {
  Reduction r = draw_reduction(p, GLOW_KIND_FLOAT);
  const int x = declare(p, &r.x);
  const bool turned = draw(p, 2);
  put_reduction(p, turned ? "max" : "min", &r, x);
  put_reduction(p, turned ? "min" : "max", &r, x);
}

/* ---- Rows through several steps -------------------------------------------------------------- */

/* Rows over the axes of x from `first` on; `each` has one element for each of them, `axes` is the
 * number of the list of axes. */
typedef struct Rows {
  Shape x, each;
  int first, axes;
} Rows;

static Rows draw_rows(Program *p) {
  int list[MOST_DIMS], count = 0;
  Rows r = {.x = draw_lines(p, GLOW_KIND_FLOAT)};
  r.each = r.x;
  r.first = draw_in(p, 0, r.x.rank - 1);
  for (int a = r.first; a < r.x.rank; a++) {
    list[count++] = draw(p, 2) ? a : a - r.x.rank;
    r.each.dims[a] = 1;
  }
  r.axes = declare_ints(p, count, list);
  return r;
}

/* A buffer of the program: the number k of %bk. */
static int put_alloc(Program *p, const Shape *s) {
  put(p, "  %%b%d = alloc ", p->values);
  put_type(&p->body, s);
  put(p, "\n");
  return p->values++;
}

static void put_deallocs(Program *p, int first, int last) {
  for (int b = first; b <= last; b++)
    put(p, "  dealloc %%b%d\n", b);
}

/* Softmax or LogSoftmax, of which some elements may be far below the largest one. */
void case_softmax(Program *p) {
  const Rows r = draw_rows(p);
  const bool log = draw(p, 2), apart = log || draw(p, 2);
  const int y = declare(p, &r.x), in = declare(p, &r.x), x = put_alloc(p, &r.x);
  const int max = put_alloc(p, &r.each), d = put_alloc(p, &r.x);
  const int e = apart ? put_alloc(p, &r.x) : d;
  put(p, "  stack @out %%b%d, @in @v%d\n    ^body(%%v : float<>) = {\n", x, in);
  put(p, "      %%f = Splat() {value = %s} : float<>\n", draw(p, 2) ? "1.0" : "80.0");
  put(p, "      %%y = Mul(%%v, %%f) : float<>\n      yield %%y\n    }\n");
  put(p, "  reduce_max @out %%b%d, @in %%b%d, @in @v%d\n", max, x, r.axes);
  put(p, "  sub @out %%b%d, @in %%b%d, @in %%b%d\n", d, x, max);
  put(p, "  exp @out %%b%d, @in %%b%d\n", e, d);
  put(p, "  reduce_sum @out %%b%d, @in %%b%d, @in @v%d\n", max, e, r.axes);
  if (log)
    put(p, "  log @out %%b%d, @in %%b%d\n", max, max);
  put(p, "  %s @out @v%d, @in %%b%d", log ? "sub" : "div", y, log ? d : e);
  put(p, ", @in %%b%d {", max);
  put_shards(p);
  put_deallocs(p, x, e);
}

/* One number for each row, for all, for each of the last rows, or for each column. */
static int draw_numbers(Program *p, const Rows *r, bool of_rows) {
  Shape s = r->each;
  const uint32_t which = draw(p, of_rows ? 3 : 4);
  for (int a = 0; a < s.rank; a++) {
    if (which == 1 || (which == 2 && a == 0))
      s.dims[a] = 1;
    else if (which == 3)
      s.dims[a] = a < r->first ? 1 : r->x.dims[a];
  }
  return declare(p, &s);
}

void case_normalize(Program *p) {
  const Rows r = draw_rows(p);
  const bool centered = draw(p, 2), outside = draw(p, 2), factor = draw(p, 2);
  const bool scale = draw(p, 2), bias = draw(p, 2);
  const int y = declare(p, &r.x), in = declare(p, &r.x);
  const int factors = draw_numbers(p, &r, true), scales = draw_numbers(p, &r, false);
  const int biases = draw_numbers(p, &r, false);
  const int row = put_alloc(p, &r.each), d = put_alloc(p, &r.x), e = put_alloc(p, &r.x);
  char from[16];
  snprintf(from, sizeof from, centered ? "%%b%d" : "@v%d", centered ? d : in);
  if (centered) {
    put(p, "  reduce_mean @out %%b%d, @in @v%d, @in @v%d\n", row, in, r.axes);
    put(p, "  sub @out %%b%d, @in @v%d, @in %%b%d\n", d, in, row);
  }
  put(p, "  mul @out %%b%d, @in %s, @in %s\n", e, from, from);
  put(p, "  reduce_mean @out %%b%d, @in %%b%d, @in @v%d\n", row, e, r.axes);
  put(p, "  stack @out %%b%d, @in %%b%d\n    ^body(%%v : float<>) = {\n", row, row);
  put(p, "      %%c = Splat() {value = 0.25} : float<>\n");
  put(p, outside ? "      %%a = Sqrt(%%v) : float<>\n      %%r = Add(%%a, %%c) : float<>\n"
                 : "      %%a = Add(%%v, %%c) : float<>\n      %%r = Sqrt(%%a) : float<>\n");
  put(p, "      %%y = Reciprocal(%%r) : float<>\n      yield %%y\n    }\n");
  if (factor)
    put(p, "  mul @out %%b%d, @in %%b%d, @in @v%d\n", row, row, factors);
  put(p, "  mul @out %%b%d, @in %s, @in %%b%d\n", e, from, row);
  if (scale)
    put(p, "  mul @out %%b%d, @in %%b%d, @in @v%d\n", e, e, scales);
  if (bias)
    put(p, "  add @out @v%d, @in %%b%d, @in @v%d {", y, e, biases);
  else
    put(p, "  copy @out @v%d, @in %%b%d {", y, e);
  put_shards(p);
  put_deallocs(p, row, e);
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

void case_det(Program *p) {
  const int n = draw_in(p, 1, draw(p, 4) ? 6 : 40), count = draw_in(p, 1, 5);
  const Shape x = shape(draw_kind(p, FLOATS), NULL, 3, count, n, n);
  Shape y = shape(x.kind, NULL, 1, count);
  put(p, "  det @out @v%d, @in @v%d {", declare(p, &y), declare(p, &x));
  put_shards(p);
}
