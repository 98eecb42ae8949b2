/* Lines along an axis: ArgMax, TopK, CumSum, CumProd and OneHot; Trilu and Det. */
#include "cpu/work.h"
#include "tensor/tensor.h"

static int64_t bytes_of(const GlowView *v) { return glow_kind_info[v->type->kind].bits / 8; }

/* How the lines of v along an axis lie; `units` of the kernels that take 16 lines at a time. */
static int64_t read_lines(const GlowView *v, uint32_t axis, GlowLinesParams *p, int64_t *units) {
  axis = axis < v->rank ? axis : v->rank; /* of a scalar there is one line of one element */
  int64_t outer = glow_view_extent(v, 0, axis);
  p->n = axis < v->rank ? v->dims[axis] : 1;
  p->inner = glow_view_extent(v, axis + 1, v->rank);
  *units = outer * (p->inner / 16 + p->inner % 16);
  return outer * p->inner;
}

static bool has_kernel(GlowSelect *s, const GlowKernel *kernel) {
  return kernel || glow_select_fail(s, "there is no kernel for its kind");
}

bool glow_select_arg_max(GlowSelect *s, const GlowNode *n) {
  const GlowArgMaxMembers *m = n->members;
  GlowLinesParams p = {.last = m->last};
  GlowView x, y;
  int64_t units;
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y) ||
      !has_kernel(s, glow_find_arg_max(x.type->kind)))
    return false;
  int64_t lines = read_lines(&x, glow_axis_from(m->axis, x.rank), &p, &units);
  if (!lines)
    return true;
  if (p.n < 1 || p.n > INT32_MAX)
    return glow_select_fail(s, "its axis is empty or too long");
  GlowWorkSpec spec = {.units = p.inner == 1 ? lines : units};
  glow_work_arg_max(s, n, x.type->kind, &p, &(GlowArgMaxPlaces){.y = y.place, .x = x.place}, &spec);
  return true;
}

/* A result that may be absent. */
static bool read_result(GlowSelect *s, const GlowValue *v, GlowPlace *place) {
  GlowView view;
  *place = glow_place_absent();
  if (!v)
    return true;
  if (!glow_select_dense(s, v, &view))
    return false;
  *place = view.place;
  return true;
}

bool glow_select_top_k(GlowSelect *s, const GlowNode *n) {
  const GlowTopKMembers *m = n->members;
  const GlowValue *values = glow_node_out(n, 0), *indices = glow_node_out(n, 1);
  GlowTopKParams p = {.smallest = !m->largest};
  GlowTopKPlaces at;
  GlowSetup setup = {0};
  GlowLinesParams lines = {0};
  GlowView x;
  int64_t units;
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) || !read_result(s, values, &at.y) ||
      !read_result(s, indices, &at.at) || !has_kernel(s, glow_find_top_k(x.type->kind)))
    return false;
  if (!x.rank)
    return glow_select_fail(s, "it has no axis");
  uint32_t axis = glow_axis_from(m->axis, x.rank);
  int64_t count = read_lines(&x, axis, &lines, &units);
  if (!values && !indices)
    return true;
  p.outer = glow_view_extent(&x, 0, axis);
  p.n = lines.n;
  p.inner = lines.inner;
  p.k = (values ? values : indices)->type->dims[axis].size;
  p.bytes = bytes_of(&x);
  at.x = x.place;
  if (!count || !p.k)
    return true;
  if (p.k > p.n || p.n > INT32_MAX)
    return glow_select_fail(s, "it takes more than there is, or its axis is too long");
  glow_setup_top_k(&s->cpu, &p, &setup);
  glow_work_top_k(s, n, x.type->kind, &p, &setup, &at);
  return true;
}

bool glow_select_scan(GlowSelect *s, const GlowNode *n) {
  const GlowCumSumMembers *sum = n->members;
  const GlowCumProdMembers *prod = n->members;
  bool sums = n->op == GLOW_OP_CUM_SUM;
  GlowCumVariant op = sums ? GLOW_CUM_SUM : GLOW_CUM_PROD;
  GlowLinesParams p = {.exclusive = sums ? sum->exclusive : prod->exclusive,
                       .reverse = sums ? sum->reverse : prod->reverse};
  GlowView x, y;
  int64_t units;
  const GlowTensor *known = glow_value_known(glow_node_in(n, 1));
  int64_t axis = known ? glow_tensor_get_int(known, 0) : 0;
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y) ||
      !has_kernel(s, glow_find_cum(op, x.type->kind)))
    return false;
  if (!known || axis < -(int64_t)x.rank || axis >= (int64_t)x.rank)
    return glow_select_fail(s, "its axis is not known before it runs");
  int64_t lines = read_lines(&x, glow_axis_from(axis, x.rank), &p, &units);
  if (lines * p.n > 0)
    glow_work_cum(s, n, op, x.type->kind, &p, &(GlowCumPlaces){.y = y.place, .x = x.place},
                  &(GlowWorkSpec){.units = units});
  return true;
}

/* The depth as ONNX has it: truncated. */
static bool is_depth(const GlowTensor *known, int64_t depth) {
  double v = known ? glow_tensor_get_double(known, 0) : -1;
  return v >= (double)depth && v < (double)depth + 1;
}

bool glow_select_one_hot(GlowSelect *s, const GlowNode *n) {
  GlowLinesParams p = {0};
  GlowView which, values, y;
  int64_t units;
  if (!glow_select_dense(s, glow_node_in(n, 0), &which) ||
      !glow_select_dense(s, glow_node_in(n, 2), &values) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y) ||
      !has_kernel(s, glow_find_one_hot(which.type->kind)))
    return false;
  int64_t lines = read_lines(
      &y, glow_axis_from(((const GlowOneHotMembers *)n->members)->axis, y.rank), &p, &units);
  if (!is_depth(glow_value_known(glow_node_in(n, 1)), p.n))
    return glow_select_fail(s, "its depth is not known before it runs");
  p.bytes = bytes_of(&y);
  GlowOneHotPlaces at = {.y = y.place, .indices = which.place, .values = values.place};
  if (lines * p.n > 0)
    glow_work_one_hot(s, n, which.type->kind, &p, &at, &(GlowWorkSpec){.units = lines});
  return true;
}

bool glow_select_trilu(GlowSelect *s, const GlowNode *n) {
  GlowView x, y, k = {.place = glow_place_absent()};
  const GlowValue *diagonal = glow_node_nins(n) > 1 ? glow_node_in(n, 1) : NULL;
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y) ||
      (diagonal && !glow_select_dense(s, diagonal, &k)))
    return false;
  GlowTriluParams p = {.rows = x.dims[x.rank - 2],
                       .columns = x.dims[x.rank - 1],
                       .bytes = bytes_of(&x),
                       .upper = ((const GlowTriluMembers *)n->members)->upper};
  int64_t rows = glow_view_extent(&x, 0, x.rank - 1);
  if (rows * p.columns == 0)
    return true;
  GlowTriluPlaces at = {.y = y.place, .x = x.place, .diagonal = k.place};
  glow_work_trilu(s, n, &p, &at, &(GlowWorkSpec){.units = rows});
  return true;
}

bool glow_select_det(GlowSelect *s, const GlowNode *n) {
  GlowView x, y;
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y) || !has_kernel(s, glow_find_det(x.type->kind)))
    return false;
  GlowDetParams p = {.n = x.dims[x.rank - 1]};
  int64_t count = glow_view_extent(&y, 0, y.rank), room = p.n * p.n * (int64_t)sizeof(double);
  if (count == 0)
    return true;
  GlowWorkSpec spec = {.units = count};
  GlowWork *w =
      glow_work_det(s, n, x.type->kind, &p, &(GlowDetPlaces){.y = y.place, .x = x.place}, &spec);
  w->scratch = room;
  return true;
}
