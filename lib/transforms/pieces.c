/* Pieces of values: reading Slice and Split, writing Slice. */
#include "transforms/pieces.h"

GlowPiece glow_piece_whole(GlowValue *v) {
  GlowPiece p = {.source = v, .rank = v->type->rank};
  for (uint32_t i = 0; i < p.rank; i++) {
    p.step[i] = 1;
    p.size[i] = v->type->dims[i].size;
  }
  return p;
}

bool glow_piece_is_whole_along(const GlowPiece *p, uint32_t k) {
  int64_t extent = p->source->type->dims[k].size;
  return p->size[k] == extent && (extent <= 1 || (p->start[k] == 0 && p->step[k] == 1));
}

bool glow_piece_is_whole(const GlowPiece *p) {
  for (uint32_t i = 0; i < p->rank; i++)
    if (!glow_piece_is_whole_along(p, i))
      return false;
  return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A list of known integers of any kind; absent lists are empty. */
typedef struct Ints {
  const GlowTensor *t;
  int64_t count;
} Ints;

static bool read_ints(const GlowNode *n, uint32_t operand, Ints *list) {
  const GlowValue *v = glow_node_in(n, operand);
  *list = (Ints){0};
  if (!v)
    return true;
  list->t = glow_value_known(v);
  if (list->t)
    list->count = glow_tensor_elements(list->t);
  return list->t != NULL;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* The first element of a Slice of an axis, with ONNX's rules; the count comes from the type. */
static int64_t first_element(int64_t start, int64_t step, int64_t extent) {
  if (start < 0)
    start = start < -extent ? 0 : start + extent;
  return clamp(start, 0, step > 0 ? extent : extent - 1);
}

static bool read_slice(const GlowNode *n, GlowPiece *p) {
  const GlowType *t = glow_node_out(n, 0)->type;
  Ints starts, axes, steps;
  if (!read_ints(n, GLOW_SLICE_IN_STARTS, &starts) || !read_ints(n, GLOW_SLICE_IN_AXES, &axes) ||
      !read_ints(n, GLOW_SLICE_IN_STEPS, &steps) || !starts.t ||
      !glow_value_known(glow_node_in(n, GLOW_SLICE_IN_ENDS)))
    return false;
  for (int64_t i = 0; i < starts.count; i++) {
    int64_t axis = axes.t ? glow_tensor_get_int(axes.t, i) : i;
    uint32_t k = (uint32_t)(axis < 0 ? axis + p->rank : axis);
    if (t->dims[k].extent || p->source->type->dims[k].extent)
      return false;
    p->step[k] = steps.t ? glow_tensor_get_int(steps.t, i) : 1;
    p->start[k] = first_element(glow_tensor_get_int(starts.t, i), p->step[k], p->size[k]);
    p->size[k] = t->dims[k].size;
  }
  return true;
}

static bool read_split(const GlowNode *n, uint32_t out, GlowPiece *p) {
  int64_t axis = ((const GlowSplitMembers *)n->members)->axis;
  uint32_t k = (uint32_t)(axis < 0 ? axis + p->rank : axis);
  int64_t start = 0;
  if (p->source->type->dims[k].extent)
    return false;
  for (uint32_t i = 0; i < out; i++) {
    const GlowValue *before = glow_node_out(n, i);
    if (!before || before->type->dims[k].kind != GLOW_DIM_EXACT)
      return false;
    start += before->type->dims[k].size;
  }
  p->start[k] = start;
  p->size[k] = glow_node_out(n, out)->type->dims[k].size;
  return true;
}

bool glow_piece_cut_known(const GlowNode *n, uint32_t out, GlowPiece *p) {
  if (n->op != GLOW_OP_SLICE && n->op != GLOW_OP_SPLIT)
    return false;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = glow_node_out(n, out)->type;
  if (!glow_type_is_known(t) || !glow_type_is_known(x->type) || x->type->layout || t->layout)
    return false;
  *p = glow_piece_whole(x);
  return n->op == GLOW_OP_SLICE ? read_slice(n, p) : read_split(n, out, p);
}

bool glow_piece_cut(const GlowNode *n, uint32_t out, GlowPiece *p) {
  return glow_piece_cut_known(n, out, p) && glow_type_is_static(p->source->type) &&
         glow_type_is_static(glow_node_out(n, out)->type);
}

bool glow_piece_of(const GlowValue *v, const GlowNode *user, GlowPiece *p) {
  GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  return n && n->pred.value == user->pred.value && glow_piece_cut(n, v->index, p);
}

/* ---- Padding --------------------------------------------------------------------------------- */

bool glow_pad_amounts(const GlowNode *pad, uint32_t rank, int64_t *amounts) {
  const GlowTensor *pads = glow_value_known(glow_node_in(pad, GLOW_PAD_IN_PADS));
  const GlowValue *axes_value = glow_node_in(pad, GLOW_PAD_IN_AXES);
  const GlowTensor *axes = axes_value ? glow_value_known(axes_value) : NULL;
  if (!pads || (axes_value && !axes))
    return false;
  int64_t count = axes ? glow_tensor_elements(axes) : rank;
  if (glow_tensor_elements(pads) != 2 * count)
    return false;
  memset(amounts, 0, 2 * rank * sizeof *amounts);
  for (int64_t i = 0; i < count; i++) {
    int64_t axis = axes ? glow_tensor_get_int(axes, i) : i;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      return false;
    amounts[axis] = glow_tensor_get_int(pads, i);
    amounts[rank + axis] = glow_tensor_get_int(pads, count + i);
  }
  return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The operand Ends of a Slice along axis k: one step behind its last element. A Slice that runs
 * backwards to element 0 ends before that element; only a number that is still negative when the
 * extent has been added to it says this, so INT64_MIN stands there. */
static int64_t end_of(const GlowPiece *p, uint32_t k) {
  int64_t last = p->start[k] + (p->size[k] - 1) * p->step[k];
  if (p->size[k] == 0)
    return p->start[k];
  if (p->step[k] > 0)
    return last + 1;
  return last > 0 ? last - 1 : INT64_MIN;
}

GlowValue *glow_piece_build(GlowBuilder *b, const GlowNode *n, const GlowPiece *p) {
  int64_t starts[GLOW_MAX_RANK], ends[GLOW_MAX_RANK], axes[GLOW_MAX_RANK], steps[GLOW_MAX_RANK];
  uint32_t count = 0;
  bool has_steps = false;
  for (uint32_t k = 0; k < p->rank; k++) {
    if (glow_piece_is_whole_along(p, k))
      continue;
    bool empty = p->size[k] == 0;
    starts[count] = empty ? 0 : p->start[k];
    ends[count] = empty ? 0 : end_of(p, k);
    axes[count] = k;
    steps[count] = empty ? 1 : p->step[k];
    has_steps |= steps[count] != 1;
    count++;
  }
  if (count == 0)
    return p->source;
  GlowModule *m = b->module;
  GlowValue *ins[] = {p->source, glow_constant_ints(m, n, "starts", starts, count),
                      glow_constant_ints(m, n, "ends", ends, count),
                      glow_constant_ints(m, n, "axes", axes, count),
                      has_steps ? glow_constant_ints(m, n, "steps", steps, count) : NULL};
  GlowNode *slice = glow_build(b, GLOW_OP_SLICE, ins, has_steps ? 5 : 4, NULL, NULL);
  return slice ? &slice->results[0] : NULL;
}
