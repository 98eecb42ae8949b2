/* Rules for reductions, scans and ArgMax. They have kernels; -lower=all brings them down:
 *
 *   ReduceMean      ReduceSum divided by the number of elements
 *   ReduceMin       -ReduceMax(-X), for integers with ~ so that nothing overflows
 *   CumSum, CumProd a Loop over the slices of the axis
 *   ArgMax          TopK with k = 1
 *
 * 16-bit floats are summed in float, as the kernels do. */
#include "lower/lower.h"
#include "ops/lower.h"

static GlowValue *integer(GlowBuilder *b, const GlowNode *n, int64_t v) {
  return glow_constant_int(b->module, n, "number", v);
}

/* ---- Reductions ------------------------------------------------------------------------------ */

/* How many elements of x become one element of the result; -1 while extents or axes are unknown. */
static int64_t ratio(const GlowType *x, const GlowValue *axes, bool noop) {
  int64_t count = 1, listed = 0;
  if (!glow_type_is_static(x) || (axes && !glow_type_is_static(axes->type)))
    return -1;
  listed = axes ? glow_type_elements(axes->type) : 0;
  if (listed == 0)
    return noop ? 1 : glow_type_elements(x);
  const GlowTensor *known = glow_value_known(axes);
  if (!known)
    return -1;
  uint32_t seen = 0;
  for (int64_t i = 0; i < listed; i++) {
    int64_t a = glow_tensor_get_int(known, i);
    a += a < 0 ? x->rank : 0;
    count *= seen >> a & 1u ? 1 : x->dims[a].size;
    seen |= 1u << a;
  }
  return count;
}

bool glow_lower_reduce_mean(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowReduceMeanMembers *m = n->members;
  GlowReduceSumMembers members = {.keep = m->keep, .noop = m->noop};
  GlowValue *x = glow_node_in(n, 0), *axes = glow_node_in(n, 1);
  GlowKind kind = x->type->kind, wide = glow_sum_kind(kind);
  int64_t count = ratio(x->type, axes, m->noop);
  if (count < 0)
    return false;
  GlowValue *sum =
      glow_build2(b, GLOW_OP_REDUCE_SUM, glow_then_cast(b, x, wide), axes, &members, NULL);
  if (glow_kind_is_integer(kind)) /* the count may not fit */
    wide = glow_kind_info[kind].cls == GLOW_CLASS_UINT ? GLOW_KIND_U64 : GLOW_KIND_I64;
  GlowValue *by = glow_build_scalar(b, wide, (double)count);
  results[0] =
      glow_then_cast(b, glow_then2(b, GLOW_OP_DIV, glow_then_cast(b, sum, wide), by), kind);
  return results[0] != NULL;
}

bool glow_lower_reduce_min(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowReduceMinMembers *m = n->members;
  GlowReduceMaxMembers members = {.keep = m->keep, .noop = m->noop};
  GlowValue *x = glow_node_in(n, 0);
  GlowKind kind = x->type->kind;
  GlowOp turn = kind == GLOW_KIND_BOOL     ? GLOW_OP_NOT
                : glow_kind_is_float(kind) ? GLOW_OP_NEG
                                           : GLOW_OP_BITWISE_NOT;
  GlowValue *turned = glow_then1(b, turn, x, NULL);
  GlowValue *y =
      turned ? glow_build2(b, GLOW_OP_REDUCE_MAX, turned, glow_node_in(n, 1), &members, NULL)
             : NULL;
  results[0] = glow_then1(b, turn, y, NULL);
  return results[0] != NULL;
}

/* ---- Scans ----------------------------------------------------------------------------------- */

/* A Loop over the slices of x along axis 0: starts with `first`, applies `op` to the result so far
 * and the next slice, and stacks all results. */
static GlowValue *scan_loop(GlowBuilder *b, const GlowNode *n, GlowOp op, GlowValue *x,
                            GlowValue *first) {
  GlowContext *ctx = b->module->ctx;
  GlowBuilder in;
  GlowBlock *body = glow_build_region(b, "body", &in);
  GlowValue *step = glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  GlowValue *go = glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL));
  GlowValue *sum = glow_block_add_param(body, NULL, first->type);
  in.pred = b->pred;
  GlowValue *next = glow_then2(&in, op, sum, glow_build_picked(&in, x, step, 0));
  if (!next || !glow_build_terminator(body, GLOW_OP_YIELD, (GlowValue *[]){go, next, next}, 3))
    return NULL;
  GlowValue *trip = integer(b, n, x->type->dims[0].size);
  GlowNode *loop = glow_node_create(b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                                       .ins = (GlowValue *[]){trip, NULL, first},
                                                       .nins = 3,
                                                       .regions = &body,
                                                       .nregions = 1,
                                                       .nresults = 2});
  return loop ? &loop->results[1] : NULL;
}

/* The slices of x along axis 0 in reverse order. */
static GlowValue *turned(GlowBuilder *b, const GlowNode *n, GlowValue *x) {
  return x ? glow_build_part(b, n, x, 0, -1, INT64_MIN, -1) : NULL;
}

/* The Loop starts with -0 (0 for integers) or 1, so that its first result has the bits of the first
 * element: -0 + x and 1 * x are x. */
static bool lower_scan(GlowBuilder *b, const GlowNode *n, GlowOp op, bool exclusive, bool reverse,
                       GlowValue **results) {
  GlowValue *x = glow_node_in(n, 0);
  const GlowTensor *known = glow_value_known(glow_node_in(n, 1));
  if (!glow_type_is_static(x->type) || !known || x->type->rank == 0)
    return false;
  int64_t rank = x->type->rank, axis = glow_tensor_get_int(known, 0);
  axis += axis < 0 ? rank : 0;
  if (glow_type_elements(x->type) == 0 || axis < 0 || axis >= rank) {
    results[0] = x;
    return axis >= 0 && axis < rank;
  }
  uint32_t perm[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i == 0 ? (uint32_t)axis : i == axis ? 0 : i;
  GlowKind kind = glow_sum_kind(x->type->kind);
  double start = op == GLOW_OP_MUL ? 1 : glow_kind_is_float(kind) ? -0.0 : 0;
  x = glow_then_cast(b, x, kind);
  x = axis ? glow_build_permuted(b, x, perm, (uint32_t)rank) : x;
  x = reverse ? turned(b, n, x) : x;
  if (!x)
    return false;
  GlowScalar first = {.is_int = glow_kind_is_integer(kind), .i = (int64_t)start, .f = start};
  const GlowType *t = x->type;
  GlowContext *ctx = b->module->ctx;
  GlowValue *begin =
      glow_build_filled(b, glow_type_with_dims(ctx, t, t->rank - 1, t->dims + 1), first);
  GlowValue *y = begin ? scan_loop(b, n, op, x, begin) : NULL;
  if (exclusive && y) {
    GlowDim dims[GLOW_MAX_RANK];
    memcpy(dims, t->dims, sizeof *dims * t->rank);
    dims[0] = GLOW_EXACT(1);
    first.f = op == GLOW_OP_MUL ? 1 : 0;
    GlowValue *parts[] = {glow_build_filled(b, glow_type_with_dims(ctx, t, t->rank, dims), first),
                          glow_build_part(b, n, y, 0, 0, -1, 1)};
    y = glow_build_concat(b, parts, 2, 0);
  }
  y = reverse ? turned(b, n, y) : y;
  y = y && axis ? glow_build_permuted(b, y, perm, (uint32_t)rank) : y;
  results[0] = glow_then_cast(b, y, glow_node_in(n, 0)->type->kind);
  return results[0] != NULL;
}

bool glow_lower_cum_sum(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowCumSumMembers *m = n->members;
  return lower_scan(b, n, GLOW_OP_ADD, m->exclusive, m->reverse, results);
}
bool glow_lower_cum_prod(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowCumProdMembers *m = n->members;
  return lower_scan(b, n, GLOW_OP_MUL, m->exclusive, m->reverse, results);
}

/* ---- ArgMax ---------------------------------------------------------------------------------- */

bool glow_lower_arg_max(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowArgMaxMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = x->type, *y = n->results[0].type;
  if (!glow_type_is_static(t) || y->unranked)
    return false;
  int64_t axis = m->axis < 0 ? m->axis + t->rank : m->axis;
  int64_t extent = t->rank ? t->dims[axis].size : 1;
  if (t->rank == 0 || glow_type_elements(y) == 0) {
    results[0] = glow_build_filled(b, y, (GlowScalar){.is_int = true});
    return results[0] != NULL;
  }
  if (extent == 0)
    return false;
  if (m->last)
    x = glow_build_part(b, n, x, axis, -1, INT64_MIN, -1);
  GlowTopKMembers members = {.k = 1, .axis = axis, .largest = true, .sorted = true};
  GlowNodeSpec spec = {
      .op = GLOW_OP_TOP_K, .ins = &x, .nins = 1, .members = &members, .nresults = 2};
  GlowNode *top = x ? glow_node_create(b, &spec) : NULL;
  GlowValue *at = top ? &top->results[1] : NULL;
  if (m->last)
    at = glow_then2(b, GLOW_OP_SUB, integer(b, n, extent - 1), at);
  results[0] = at && !m->keep ? glow_build_reshape(b, n, at, y->rank, y->dims) : at;
  return results[0] != NULL;
}
