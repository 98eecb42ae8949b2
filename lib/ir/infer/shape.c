/* Inference of operators whose operands are shapes or make them: Expand, Tile, Shape, Size,
 * ConstantOfShape, Range. Definitions as ONNX's. */
#include <math.h>

#include "ir/infer/hooks.h"

/* Operand i, a list of extents, as dims: known, or computed from other extents. *count: their
 * number, -1 if they are not known. False after a diagnostic. */
static bool read_extents(const GlowInfer *in, uint32_t i, int64_t *count, GlowDim *dims) {
  uint32_t length;
  GlowSizes sizes;
  const int64_t *values = glow_infer_ints(in, i, &length);
  bool computed = !values && glow_infer_sizes(in, i, &sizes);
  *count = values ? (int64_t)length : computed ? (int64_t)sizes.count : -1;
  if (*count > GLOW_MAX_RANK)
    return glow_infer_error(in, "the shape has %u axes; at most %d are possible", (unsigned)*count,
                            GLOW_MAX_RANK);
  for (uint32_t k = 0; k < *count; k++) {
    dims[k] = values ? GLOW_EXACT(values[k]) : glow_size_dim(sizes.items[k]);
    if (dims[k].size < 0)
      return glow_infer_error(in, "extent %u is %lld", k, (long long)dims[k].size);
  }
  return true;
}

bool glow_infer_expand(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_EXPAND_IN_X];
  int64_t count;
  GlowDim other[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
  if (!read_extents(in, GLOW_EXPAND_IN_SHAPE, &count, other))
    return false;
  int64_t length = count >= 0 ? count : glow_infer_list_length(in, GLOW_EXPAND_IN_SHAPE);
  if (x->unranked || length < 0 || length > GLOW_MAX_RANK)
    return glow_infer_set_unknown(in, 0, x, length > GLOW_MAX_RANK ? length : -1);
  for (uint32_t i = 0; count < 0 && i < length; i++)
    other[i] = GLOW_UNKNOWN;
  uint32_t from = (uint32_t)length, rank = from > x->rank ? from : x->rank;
  for (uint32_t i = 0; i < rank; i++) {
    GlowDim a = i + x->rank >= rank ? x->dims[i + x->rank - rank] : GLOW_EXACT(1);
    GlowDim b = i + from >= rank ? other[i + from - rank] : GLOW_EXACT(1);
    if (!glow_dim_broadcast(a, b, &dims[i]))
      return glow_infer_error(in, "extent %lld of X cannot be expanded to %lld", (long long)a.size,
                              (long long)b.size);
  }
  return glow_infer_set(in, 0, x, rank, dims);
}

bool glow_infer_tile(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_TILE_IN_X];
  uint32_t count;
  const int64_t *repeats = glow_infer_ints(in, GLOW_TILE_IN_REPEATS, &count);
  int64_t length = repeats ? count : glow_infer_list_length(in, GLOW_TILE_IN_REPEATS);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, length);
  if (length >= 0 && length != x->rank)
    return glow_infer_error(in, "%lld repeats for %u axes", (long long)length, x->rank);
  if (!repeats)
    return glow_infer_set_unknown(in, 0, x, x->rank);
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    if (repeats[i] < 0)
      return glow_infer_error(in, "axis %u is repeated %lld times", i, (long long)repeats[i]);
    dims[i] = glow_dim_mul(x->dims[i], GLOW_EXACT(repeats[i]));
    if (glow_dim_has_size(x->dims[i]) && !glow_dim_has_size(dims[i]))
      return glow_infer_error(in, "axis %u becomes too large", i);
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* `axis` counted from the end if negative, limited to [0, rank]. */
static uint32_t clamp_axis(int64_t axis, uint32_t rank) {
  if (axis < 0)
    axis += rank;
  return axis < 0 ? 0 : axis > rank ? rank : (uint32_t)axis;
}

static bool want_tensor(const GlowInfer *in, const GlowType *t) {
  return glow_type_is_tensor(t) ||
         glow_infer_error(in, "X must be a tensor, but has type %s", glow_type_str(in->ctx, t));
}

bool glow_infer_shape(GlowInfer *in) {
  const GlowShapeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_SHAPE_IN_X];
  if (!want_tensor(in, x))
    return false;
  GlowDim dim = GLOW_BOUND(GLOW_MAX_RANK);
  if (!x->unranked) {
    uint32_t start = clamp_axis(m->start, x->rank), end = clamp_axis(m->end, x->rank);
    dim = GLOW_EXACT(end > start ? end - start : 0);
  }
  glow_infer_put(in, 0, glow_type_tensor(in->ctx, GLOW_KIND_I64, 1, &dim));
  return true;
}

bool glow_infer_size(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_scalar(in->ctx, GLOW_KIND_I64));
  return want_tensor(in, in->in[GLOW_SIZE_IN_X]);
}

bool glow_infer_constant_of_shape(GlowInfer *in) {
  const GlowConstantOfShapeMembers *m = in->members;
  const GlowType *base = glow_type_scalar(in->ctx, m->kind);
  int64_t count;
  GlowDim dims[GLOW_MAX_RANK];
  if (!read_extents(in, GLOW_CONSTANT_OF_SHAPE_IN_SHAPE, &count, dims))
    return false;
  if (count < 0)
    return glow_infer_set_unknown(in, 0, base,
                                  glow_infer_list_length(in, GLOW_CONSTANT_OF_SHAPE_IN_SHAPE));
  return glow_infer_set(in, 0, base, (uint32_t)count, dims);
}

/* ---- Range ----------------------------------------------------------------------------------- */

/* max(ceil((limit - start) / delta), 0). Integers are computed exactly; -1: too many or no number.
 */
static int64_t range_count(const GlowTensor *start, const GlowTensor *limit,
                           const GlowTensor *delta) {
  if (glow_kind_is_integer(start->type->kind)) {
    __int128 span = (__int128)glow_tensor_get_int(limit, 0) - glow_tensor_get_int(start, 0);
    __int128 step = glow_tensor_get_int(delta, 0);
    if (step < 0) {
      span = -span;
      step = -step;
    }
    __int128 count = span <= 0 ? 0 : (span + step - 1) / step;
    return count > GLOW_MAX_ELEMENTS ? -1 : (int64_t)count;
  }
  double count = ceil((glow_tensor_get_double(limit, 0) - glow_tensor_get_double(start, 0)) /
                      glow_tensor_get_double(delta, 0));
  if (!(count <= (double)GLOW_MAX_ELEMENTS))
    return -1;
  return count > 0 ? (int64_t)count : 0;
}

/* limit - start where Delta is 1 and they are computed from extents. */
static bool symbolic_range(const GlowInfer *in, GlowDim *d) {
  GlowSizes start, limit, delta;
  if (!glow_infer_sizes(in, GLOW_RANGE_IN_START, &start) ||
      !glow_infer_sizes(in, GLOW_RANGE_IN_LIMIT, &limit) ||
      !glow_infer_sizes(in, GLOW_RANGE_IN_DELTA, &delta) || start.count != 1 || limit.count != 1 ||
      delta.count != 1 || !glow_dim_is_exact(glow_size_dim(delta.items[0]), 1) ||
      start.items[0].size < 0 || limit.items[0].size < 0)
    return false;
  *d = glow_dim_sub(glow_size_dim(limit.items[0]), glow_size_dim(start.items[0]));
  return glow_dim_is_known(*d);
}

bool glow_infer_range(GlowInfer *in) {
  const GlowType *base = in->in[GLOW_RANGE_IN_START];
  const GlowTensor *known[3];
  bool all = true;
  for (uint32_t i = 0; i < 3; i++) {
    if (!glow_infer_one_element(in, i))
      return false;
    known[i] = glow_infer_known(in, i);
    all &= known[i] && glow_tensor_elements(known[i]) == 1;
  }
  GlowDim dim = GLOW_UNKNOWN;
  if (!all)
    return symbolic_range(in, &dim) ? glow_infer_set(in, 0, base, 1, &dim)
                                    : glow_infer_set_unknown(in, 0, base, 1);
  if (glow_tensor_get_double(known[2], 0) == 0)
    return glow_infer_error(in, "Delta is 0");
  int64_t count = range_count(known[0], known[1], known[2]);
  if (count < 0)
    return glow_infer_error(in, "the range has too many elements");
  dim = GLOW_EXACT(count);
  return glow_infer_set(in, 0, base, 1, &dim);
}

bool glow_verify_splat(const GlowNode *n) {
  const GlowSplatMembers *m = n->members;
  GlowKind kind = glow_node_out(n, 0)->type->kind;
  GlowKindClass cls = glow_kind_info[kind].cls;
  if ((cls != GLOW_CLASS_STRING && cls != GLOW_CLASS_COMPLEX) || m->value.f == 0)
    return true;
  return glow_verify_error(n, "the one value of %s that it can have is 0",
                           glow_kind_info[kind].name);
}
