/* The gradient rule of MaxRoiPool by X: the operator as nodes, a maximum over the whole map of
 * which all but the elements of a cell are hidden. Cells are whole elements; they follow from Rois
 * by steps that have no derivative. */
#include "autodiff/sample.h"

/* Column i of Rois as whole numbers, [regions, 1] of i64: times spatial_scale, rounded to float,
 * then halves away from 0. */
static GlowValue *corner(const GlowGrad *g, int64_t i) {
  const GlowMaxRoiPoolMembers *m = g->n->members;
  GlowValue *v = glow_build_part(g->b, g->n, glow_grad_wide(g, 1), 1, i, i + 1, 1);
  GlowKind kind = v ? v->type->kind : GLOW_KIND_FLOAT;
  v = glow_then_cast(g->b, by(g, GLOW_OP_MUL, v, (double)m->spatial_scale), GLOW_KIND_FLOAT);
  v = glow_then_cast(g->b, v, kind);
  GlowValue *size = by(g, GLOW_OP_ADD, glow_then1(g->b, GLOW_OP_ABS, v, NULL), 0.5);
  size = glow_then1(g->b, GLOW_OP_FLOOR, size, NULL);
  v = two(g, GLOW_OP_MUL, glow_then1(g->b, GLOW_OP_SIGN, v, NULL), size);
  return glow_then_cast(g->b, v, GLOW_KIND_I64);
}

/* bool [regions, cells, extent]: which elements of an axis each cell takes. The region goes from
 * column `first` of Rois to the one two further on. */
static GlowValue *taken(const GlowGrad *g, int64_t first, int64_t cells, int64_t extent) {
  GlowValue *start = corner(g, first), *end = corner(g, first + 2);
  GlowValue *size = two(g, GLOW_OP_SUB, end, start);
  size = by(g, GLOW_OP_MAX, by(g, GLOW_OP_ADD, size, 1), 1);
  GlowValue *cell = glow_build_count(g->b, g->n, cells, 1);
  GlowValue *next = by(g, GLOW_OP_ADD, cell, 1);
  GlowValue *from = by(g, GLOW_OP_DIV, two(g, GLOW_OP_MUL, size, cell), (double)cells);
  GlowValue *to = by(g, GLOW_OP_ADD, two(g, GLOW_OP_MUL, size, next), (double)(cells - 1));
  to = by(g, GLOW_OP_DIV, to, (double)cells);
  int64_t dims[] = {glow_grad_in(g, 1)->type->dims[0].size, cells, 1};
  from = glow_build_shaped(g->b, g->n, two(g, GLOW_OP_ADD, start, from), 3, dims);
  to = glow_build_shaped(g->b, g->n, two(g, GLOW_OP_ADD, start, to), 3, dims);
  GlowValue *element = glow_build_count(g->b, g->n, extent, 1);
  return two(g, GLOW_OP_AND, two(g, GLOW_OP_GREATER_OR_EQUAL, element, from),
             two(g, GLOW_OP_LESS, element, to));
}

bool glow_grad_max_roi_pool(GlowGrad *g) {
  GlowValue *x = glow_grad_in(g, 0), *rois = glow_grad_in(g, 1);
  const GlowType *t = x->type, *y = g->dy[0]->type;
  if (!glow_type_is_static(t) || !glow_type_is_static(rois->type) || !glow_type_is_static(y))
    return false;
  int64_t n = rois->type->dims[0].size, rows = y->dims[2].size, columns = y->dims[3].size;
  int64_t high = t->dims[2].size, wide = t->dims[3].size;
  GlowValue *image = glow_build_part(g->b, g->n, rois, 1, 0, 1, 1);
  image = glow_build_shaped(g->b, g->n, glow_then_cast(g->b, image, GLOW_KIND_I64), 1, &n);
  GlowValue *maps = glow_build_picked(g->b, x, image, 0);
  maps = glow_build_shaped(g->b, g->n, maps, 6, (int64_t[]){n, t->dims[1].size, 1, 1, high, wide});
  GlowValue *in_row = glow_build_shaped(g->b, g->n, taken(g, 2, rows, high), 6,
                                        (int64_t[]){n, 1, rows, 1, high, 1});
  GlowValue *in_column = glow_build_shaped(g->b, g->n, taken(g, 1, columns, wide), 6,
                                           (int64_t[]){n, 1, 1, columns, 1, wide});
  GlowValue *inside = two(g, GLOW_OP_AND, in_row, in_column);
  GlowValue *hidden = glow_build_scalar(g->b, t->kind, -__builtin_inf());
  static const int64_t last[] = {4, 5};
  GlowValue *axes = glow_constant_ints(g->b->module, g->n, "map", last, 2);
  GlowValue *any = two(g, GLOW_OP_REDUCE_MAX, inside, axes);
  GlowValue *v = glow_then3(g->b, GLOW_OP_WHERE, inside, maps, hidden);
  v = two(g, GLOW_OP_REDUCE_MAX, v, axes);
  v = glow_then3(g->b, GLOW_OP_WHERE, any, v, glow_build_scalar(g->b, t->kind, 0));
  v = glow_grad_shaped(g, v, y);
  return glow_grad_through(g, &v);
}
