/* Rules for operators that move whole slices. They have kernels; -lower=all brings them down to
 * Reshape, Transpose, Expand, Slice, Concat and GatherND:
 *
 *   Identity  X
 *   Tile      along each axis: Reshape to [before, 1, rest], Expand to [before, times, rest]
 *   Split     a Slice for each piece
 *   Pad       Slice for what is cropped; Concat with Splats, or Gather of mapped indices
 *   Gather    GatherND along the first axis, between two Transposes
 *
 * All extents must be known, and for Pad the elements of Pads. */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_identity(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  (void)b;
  results[0] = glow_node_in(n, 0);
  return true;
}

/* ---- Tile ------------------------------------------------------------------------------------ */

/* x repeated `times` along an axis. */
static GlowValue *repeated(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis,
                           int64_t times) {
  int64_t rest = 1, before = 1, dims[GLOW_MAX_RANK];
  if (times == 0)
    return glow_build_part(b, n, x, axis, 0, 0, 1);
  for (uint32_t i = 0; i < x->type->rank; i++) {
    dims[i] = x->type->dims[i].size;
    *(i < axis ? &before : &rest) *= dims[i];
  }
  uint32_t rank = x->type->rank;
  int64_t wide[] = {before, times, rest};
  GlowValue *v = glow_build_shaped(b, n, x, 3, (int64_t[]){before, 1, rest});
  v = glow_then2(b, GLOW_OP_EXPAND, v, glow_constant_ints(b->module, n, "repeats", wide, 3));
  dims[axis] *= times;
  return glow_build_shaped(b, n, v, rank, dims);
}

bool glow_lower_tile(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *v = glow_node_in(n, 0);
  const GlowTensor *repeats = glow_value_known(glow_node_in(n, GLOW_TILE_IN_REPEATS));
  if (!glow_type_is_static(v->type) || !repeats)
    return false;
  for (uint32_t i = 0; v && i < v->type->rank; i++) {
    int64_t times = glow_tensor_get_int(repeats, i);
    if (times != 1)
      v = repeated(b, n, v, i, times);
  }
  results[0] = v;
  return v != NULL;
}

/* ---- Split ----------------------------------------------------------------------------------- */

bool glow_lower_split(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowSplitMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  int64_t at = 0, axis = m->axis;
  if (x->type->unranked)
    return false;
  axis += axis < 0 ? x->type->rank : 0;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    if (t->unranked || t->dims[axis].kind != GLOW_DIM_EXACT)
      return false;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    int64_t end = at + n->results[i].type->dims[axis].size;
    results[i] = glow_build_part(b, n, x, axis, at, end, 1);
    if (!results[i])
      return false;
    at = end;
  }
  return true;
}

/* ---- Pad ------------------------------------------------------------------------------------- */

/* The index in [0, n) of the element that stands at place i, which may lie outside of [0, n). */
static int64_t mapped(int64_t i, int64_t n, int mode) {
  if (mode == GLOW_PAD_MODE_EDGE)
    return i < 0 ? 0 : i < n ? i : n - 1;
  int64_t period = mode == GLOW_PAD_MODE_WRAP ? n : 2 * (n - 1);
  if (period == 0)
    return 0;
  i = i % period < 0 ? i % period + period : i % period;
  return i < n ? i : period - i;
}

/* Axis `axis` of x from index -begin on, `size` places. */
static GlowValue *pad_mapped(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis,
                             int64_t begin, int64_t size, int mode) {
  int64_t extent = x->type->dims[axis].size;
  int64_t *from = GLOW_NEW_ARRAY(b->module->arena, int64_t, (size_t)size + 1);
  for (int64_t i = 0; i < size; i++)
    from[i] = mapped(i - begin, extent, mode);
  GlowValue *which = glow_constant_ints(b->module, n, "from", from, (uint32_t)size);
  return glow_build_picked(b, x, which, axis);
}

/* `size` places of an axis of x filled with `value`, or zeros. */
static GlowValue *filling(GlowBuilder *b, const GlowNode *n, GlowValue *x, GlowValue *value,
                          uint32_t axis, int64_t size) {
  GlowDim dims[GLOW_MAX_RANK];
  int64_t shape[GLOW_MAX_RANK];
  const GlowType *t = x->type;
  for (uint32_t i = 0; i < t->rank; i++)
    shape[i] = i == axis ? size : t->dims[i].size;
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = GLOW_EXACT(shape[i]);
  if (!value)
    return glow_build_filled(b, glow_type_with_dims(b->module->ctx, t, t->rank, dims),
                             (GlowScalar){.is_int = !glow_kind_is_float(t->kind)});
  value = glow_build_shaped(b, n, value, 0, NULL);
  return glow_then2(b, GLOW_OP_EXPAND, value,
                    glow_constant_ints(b->module, n, "shape", shape, t->rank));
}

static GlowValue *pad_constant(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis,
                               int64_t begin, int64_t size) {
  int64_t extent = x->type->dims[axis].size, first = begin < 0 ? -begin : 0;
  int64_t last = size - begin < extent ? size - begin : extent;
  int64_t kept = last > first ? last - first : 0;
  int64_t lead = begin > 0 && kept ? begin : 0, tail = size - lead - kept;
  GlowValue *parts[3], *value = glow_node_in(n, GLOW_PAD_IN_VALUE);
  uint32_t count = 0;
  if (lead)
    parts[count++] = filling(b, n, x, value, axis, lead);
  if (kept == extent)
    parts[count++] = x;
  else if (kept)
    parts[count++] = glow_build_part(b, n, x, axis, first, last, 1);
  if (tail || !count)
    parts[count++] = filling(b, n, x, value, axis, tail);
  return count == 1 ? parts[0] : glow_build_concat(b, parts, count, axis);
}

bool glow_lower_pad(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowPadMembers *m = n->members;
  GlowValue *v = glow_node_in(n, 0), *axes = glow_node_in(n, GLOW_PAD_IN_AXES);
  const GlowType *y = n->results[0].type;
  const GlowTensor *pads = glow_value_known(glow_node_in(n, GLOW_PAD_IN_PADS));
  const GlowTensor *which = axes ? glow_value_known(axes) : NULL;
  bool constant = m->mode == GLOW_PAD_MODE_CONSTANT;
  if (!glow_type_is_static(v->type) || !glow_type_is_static(y) || !pads || (axes && !which))
    return false;
  if (!constant && glow_type_elements(v->type) == 0)
    return false;
  int64_t count = glow_type_elements(glow_node_in(n, GLOW_PAD_IN_PADS)->type) / 2;
  for (int64_t i = 0; v && i < count; i++) {
    int64_t a = which ? glow_tensor_get_int(which, i) : i, begin = glow_tensor_get_int(pads, i);
    uint32_t axis = (uint32_t)(a < 0 ? a + y->rank : a);
    int64_t size = y->dims[axis].size;
    if (begin == 0 && size == v->type->dims[axis].size)
      continue;
    v = constant ? pad_constant(b, n, v, axis, begin, size)
                 : pad_mapped(b, n, v, axis, begin, size, m->mode);
  }
  results[0] = v;
  return v != NULL;
}

/* ---- Gather ---------------------------------------------------------------------------------- */

bool glow_lower_gather(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGatherMembers *m = n->members;
  static const int64_t last = -1;
  GlowValue *x = glow_node_in(n, 0), *which = glow_node_in(n, 1);
  if (x->type->unranked || which->type->unranked ||
      x->type->rank + which->type->rank > GLOW_MAX_RANK)
    return false;
  uint32_t rank = x->type->rank, added = which->type->rank;
  uint32_t axis = (uint32_t)(m->axis < 0 ? m->axis + rank : m->axis);
  uint32_t front[GLOW_MAX_RANK] = {axis}, back[GLOW_MAX_RANK];
  for (uint32_t i = 1; i < rank; i++)
    front[i] = i <= axis ? i - 1 : i;
  for (uint32_t i = 0; i + 1 < rank + added; i++)
    back[i] = i < axis ? i + added : i < axis + added ? i - axis : i;
  GlowValue *index =
      glow_then2(b, GLOW_OP_UNSQUEEZE, which, glow_constant_ints(b->module, n, "last", &last, 1));
  GlowValue *v = axis ? glow_build_permuted(b, x, front, rank) : x;
  v = glow_then2(b, GLOW_OP_GATHER_ND, v, index);
  results[0] = v && axis ? glow_build_permuted(b, v, back, rank + added - 1) : v;
  return results[0] != NULL;
}
