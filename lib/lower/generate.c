/* Rules for operators that make tensors from shapes and numbers. They have kernels; -lower=all
 * brings them down to constants, Splat, Expand and arithmetic:
 *
 *   Shape, Size      a constant
 *   ConstantOfShape  Splat, or Expand of one where the shape is open
 *   EyeLike          Equal(row + k, column)        Trilu   Where(column >= row + k, X, 0)
 *   OneHot           Where(Equal(Indices, place), Values[1], Values[0])
 *   Range            Start + i * Delta, i from a constant or from NonZero of so many ones */
#include "lower/lower.h"
#include "ops/lower.h"

static GlowValue *integer(GlowBuilder *b, const GlowNode *n, int64_t v) {
  return glow_constant_int(b->module, n, "number", v);
}

/* 0, 1, ... along an axis of a tensor of that rank. */
static GlowValue *places(GlowBuilder *b, const GlowNode *n, int64_t count, uint32_t rank,
                         uint32_t axis) {
  return glow_build_along(b, n, glow_build_count(b, n, count, 1), rank, axis);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

bool glow_lower_shape(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowShapeMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type;
  const GlowType *y = n->results[0].type;
  if (!glow_type_is_static(x) || !glow_type_is_static(y))
    return false;
  int64_t dims[GLOW_MAX_RANK], start = m->start < 0 ? m->start + x->rank : m->start;
  start = start < 0 ? 0 : start;
  for (int64_t i = 0; i < y->dims[0].size; i++)
    dims[i] = x->dims[start + i].size;
  results[0] = glow_constant_ints(b->module, n, "dims", dims, (uint32_t)y->dims[0].size);
  return true;
}

bool glow_lower_size(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowType *x = glow_node_in(n, 0)->type;
  if (!glow_type_is_static(x))
    return false;
  results[0] = integer(b, n, glow_type_elements(x));
  return true;
}

bool glow_lower_constant_of_shape(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowConstantOfShapeMembers *m = n->members;
  const GlowType *t = n->results[0].type;
  if (glow_type_is_static(t)) {
    results[0] = glow_build_filled(b, t, m->value);
  } else {
    GlowValue *one = glow_build_filled(b, glow_type_scalar(b->module->ctx, m->kind), m->value);
    results[0] = glow_then2(b, GLOW_OP_EXPAND, one, glow_node_in(n, 0));
  }
  return results[0] != NULL;
}

/* ---- Diagonals ------------------------------------------------------------------------------- */

static int64_t limited(int64_t k, int64_t low, int64_t high) {
  return k < low ? low : k > high ? high : k;
}

bool glow_lower_eye_like(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowEyeLikeMembers *m = n->members;
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_static(t))
    return false;
  int64_t rows = t->dims[0].size, columns = t->dims[1].size;
  GlowValue *diagonal = glow_then2(b, GLOW_OP_ADD, places(b, n, rows, 2, 0),
                                   integer(b, n, limited(m->k, -rows, columns)));
  GlowValue *on = glow_then2(b, GLOW_OP_EQUAL, diagonal, places(b, n, columns, 2, 1));
  results[0] = glow_then_cast(b, on, m->kind);
  return results[0] != NULL;
}

bool glow_lower_trilu(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowTriluMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0), *k = glow_node_in(n, GLOW_TRILU_IN_K);
  const GlowType *t = x->type;
  if (!glow_type_is_static(t))
    return false;
  int64_t rows = t->dims[t->rank - 2].size, columns = t->dims[t->rank - 1].size;
  GlowValue *row = places(b, n, rows, 2, 0), *column = places(b, n, columns, 2, 1);
  if (k) {
    k = glow_then2(b, GLOW_OP_MAX, k, integer(b, n, -rows));
    row = glow_then2(b, GLOW_OP_ADD, row, glow_then2(b, GLOW_OP_MIN, k, integer(b, n, columns)));
  }
  GlowValue *kept = m->upper ? glow_then2(b, GLOW_OP_LESS_OR_EQUAL, row, column)
                             : glow_then2(b, GLOW_OP_LESS_OR_EQUAL, column, row);
  results[0] = glow_then3(b, GLOW_OP_WHERE, kept, x, glow_build_scalar(b, t->kind, 0));
  return results[0] != NULL;
}

/* ---- OneHot ---------------------------------------------------------------------------------- */

bool glow_lower_one_hot(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowOneHotMembers *m = n->members;
  const GlowType *t = n->results[0].type;
  GlowValue *which = glow_node_in(n, 0), *values = glow_node_in(n, 2), *choice[2];
  if (!glow_type_is_static(t))
    return false;
  uint32_t axis = (uint32_t)(m->axis < 0 ? m->axis + t->rank : m->axis);
  int64_t depth = t->dims[axis].size, dims[GLOW_MAX_RANK];
  bool is_unsigned = glow_kind_info[which->type->kind].cls == GLOW_CLASS_UINT;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = i == axis ? 1 : t->dims[i].size;
  GlowKind kind = is_unsigned ? GLOW_KIND_U64 : GLOW_KIND_I64;
  which = glow_build_shaped(b, n, glow_then_cast(b, which, kind), t->rank, dims);
  if (!is_unsigned)
    which = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, which, integer(b, n, 0)),
                       glow_then2(b, GLOW_OP_ADD, which, integer(b, n, depth)), which);
  for (int64_t i = 0; i < 2; i++)
    choice[i] = glow_build_shaped(b, n, glow_build_part(b, n, values, 0, i, i + 1, 1), 0, NULL);
  GlowValue *hot = glow_then2(b, GLOW_OP_EQUAL, which,
                              glow_then_cast(b, places(b, n, depth, t->rank, axis), kind));
  results[0] = glow_then3(b, GLOW_OP_WHERE, hot, choice[1], choice[0]);
  return results[0] != NULL;
}

/* ---- Range ----------------------------------------------------------------------------------- */

/* The number of elements, i64<>. -1 if Delta is 0: no shape has such an extent. */
static GlowValue *range_length(GlowBuilder *b, GlowValue *start, GlowValue *limit,
                               GlowValue *delta) {
  GlowKind kind = start->type->kind;
  GlowValue *count, *zero = glow_build_scalar(b, kind, 0);
  if (glow_kind_is_float(kind)) {
    GlowValue *span = glow_then2(b, GLOW_OP_SUB, glow_then_cast(b, limit, GLOW_KIND_DOUBLE),
                                 glow_then_cast(b, start, GLOW_KIND_DOUBLE));
    count = glow_then2(b, GLOW_OP_DIV, span, glow_then_cast(b, delta, GLOW_KIND_DOUBLE));
    count = glow_then1(b, GLOW_OP_CEIL, count, NULL);
    count = glow_then2(b, GLOW_OP_MAX, glow_then_cast(b, count, GLOW_KIND_I64),
                       glow_build_scalar(b, GLOW_KIND_I64, 0));
  } else {
    GlowValue *up = glow_then2(b, GLOW_OP_LESS, zero, delta);
    GlowValue *low = glow_then3(b, GLOW_OP_WHERE, up, start, limit);
    GlowValue *high = glow_then3(b, GLOW_OP_WHERE, up, limit, start);
    GlowValue *one = glow_build_scalar(b, GLOW_KIND_U64, 1);
    GlowValue *step = glow_then_cast(b, glow_then1(b, GLOW_OP_ABS, delta, NULL), GLOW_KIND_U64);
    GlowValue *span = glow_then2(b, GLOW_OP_SUB, glow_then_cast(b, high, GLOW_KIND_U64),
                                 glow_then_cast(b, low, GLOW_KIND_U64));
    count = glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_SUB, span, one), step);
    count = glow_then2(b, GLOW_OP_ADD, count, one);
    count =
        glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, low, high),
                   glow_then_cast(b, count, GLOW_KIND_I64), glow_build_scalar(b, GLOW_KIND_I64, 0));
  }
  return glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_EQUAL, delta, zero),
                    glow_build_scalar(b, GLOW_KIND_I64, -1), count);
}

/* 0, 1, ... as many as `length` says. */
static GlowValue *places_up_to(GlowBuilder *b, const GlowNode *n, GlowValue *length) {
  static const int64_t list[] = {-1};
  GlowValue *flat = glow_constant_ints(b->module, n, "flat", list, 1);
  GlowValue *shape = glow_then2(b, GLOW_OP_RESHAPE, length, flat);
  GlowValue *ones = glow_then2(b, GLOW_OP_EXPAND, glow_build_scalar(b, GLOW_KIND_BOOL, 1), shape);
  return glow_then2(b, GLOW_OP_RESHAPE, glow_then1(b, GLOW_OP_NON_ZERO, ones, NULL), flat);
}

bool glow_lower_range(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *in[3];
  const GlowType *t = n->results[0].type;
  GlowKind kind = glow_sum_kind(t->kind);
  for (uint32_t i = 0; i < 3; i++)
    in[i] = glow_then_cast(b, glow_build_shaped(b, n, glow_node_in(n, i), 0, NULL), kind);
  if (!in[0] || !in[1] || !in[2])
    return false;
  GlowValue *i = glow_type_is_static(t) ? glow_build_count(b, n, t->dims[0].size, 1)
                                        : places_up_to(b, n, range_length(b, in[0], in[1], in[2]));
  GlowValue *far = glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, i, kind), in[2]);
  results[0] = glow_then_cast(b, glow_then2(b, GLOW_OP_ADD, in[0], far), t->kind);
  return results[0] != NULL;
}
