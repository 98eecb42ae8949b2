/* Convolutions and pools with one spatial axis get a second one, since kernels and layouts are for
 * two. The new axis has extent 1 and is the first of both. If a node has two spatial axes and the
 * second has extent 1, the two change places, since kernels work along rows.
 *
 *   Convolution(x : N x C x L, w : O x I x K)
 *     becomes   Reshape(Convolution(Reshape(x) : N x C x 1 x L, Reshape(w) : O x I x 1 x K))
 *
 * Reshapes cost nothing, and those between two such nodes cancel. Exact: a window visits the same
 * elements in the same order. */
#include "pass/pass.h"
#include "transforms/transforms.h"

/* Members with entries for spatial axes, and the entry for an axis of extent 1. */
static const struct {
  const char *name;
  uint32_t initial;
} axis_members[] = {
    {"pads", 0}, {"kernels", 1}, {"output_padding", 0}, {"strides", 1}, {"dilations", 1}};
/* The first TELLING_MEMBERS of them change results along an axis of extent 1, too. */
enum { AXIS_MEMBERS = sizeof axis_members / sizeof *axis_members, TELLING_MEMBERS = 3 };

/* The list for two spatial axes, the first of extent 1: [a] becomes [initial, a], and pads [a, b]
 * become [0, a, 0, b]. `axes` is how many spatial axes the list is for now; of two, the long one is
 * the first. */
static GlowArray widen_list(GlowModule *m, GlowArray list, uint32_t axes, uint32_t initial) {
  uint32_t wide[4], count = list.count / axes;
  if (count == 0 || count > 2)
    return list;
  for (uint32_t i = 0; i < count; i++) {
    wide[2 * i] = initial;
    wide[2 * i + 1] = glow_array_at(list, uint32_t, i * axes);
  }
  return glow_array_u32(m, wide, 2 * count);
}

static GlowArray *axis_list(const GlowNode *n, char *members, size_t i) {
  const GlowMember *m = glow_op_member(glow_node_desc(n), axis_members[i].name);
  return m ? (GlowArray *)(void *)(members + m->offset) : NULL;
}

/* A copy of n's members for a first spatial axis of extent 1. */
static void *widen_members(GlowPassRun *run, const GlowNode *n, uint32_t axes) {
  char *members = glow_arena_copy(run->arena, n->members, glow_node_desc(n)->member_size);
  for (size_t i = 0; i < AXIS_MEMBERS; i++) {
    GlowArray *list = axis_list(n, members, i);
    if (list)
      *list = widen_list(run->module, *list, axes, axis_members[i].initial);
  }
  return members;
}

static int order_of(const GlowNode *n) {
  const GlowMember *m = glow_op_member(glow_node_desc(n), "layout");
  return *(const int *)(const void *)((const char *)n->members + m->offset);
}

/* t with a spatial axis of extent 1 before the long one, which is `axis`. */
static uint32_t wide_dims(const GlowType *t, uint32_t axis, GlowDim *dims) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < t->rank; i++) {
    if (i == axis)
      dims[rank++] = GLOW_EXACT(1);
    if (t->rank == 3 || i != axis + 1)
      dims[rank++] = t->dims[i];
  }
  return rank;
}

/* ---- Which nodes ----------------------------------------------------------------------------- */

/* Whether t has `axes` spatial axes, the last of two with extent 1. */
static bool is_line(const GlowType *t, uint32_t axis, uint32_t axes) {
  return glow_type_is_static(t) && t->rank == 2 + axes && glow_type_elements(t) > 0 &&
         (axes == 1 || t->dims[axis + 1].size == 1);
}

/* Whether the members do nothing along the second of two spatial axes. */
static bool is_flat(const GlowNode *n) {
  for (size_t i = 0; i < TELLING_MEMBERS; i++) {
    const GlowArray *list = axis_list(n, n->members, i);
    for (uint32_t k = 1; list && k < list->count; k += 2)
      if (glow_array_at(*list, uint32_t, k) != axis_members[i].initial)
        return false;
  }
  return true;
}

/* How many spatial axes n has, if it is to be changed; else 0. */
static uint32_t spatial_axes(const GlowNode *n, uint32_t axis) {
  bool pool =
      n->op == GLOW_OP_MAX_POOL || n->op == GLOW_OP_AVERAGE_POOL || n->op == GLOW_OP_LP_POOL;
  bool conv = n->op == GLOW_OP_CONVOLUTION || n->op == GLOW_OP_CONV_TRANSPOSE;
  const GlowType *y = n->results[0].type;
  if ((!pool && !conv) || !glow_type_is_static(y) || y->rank < 3 || y->rank > 4)
    return 0;
  uint32_t axes = y->rank - 2;
  for (uint32_t i = 0; i < (conv ? 2u : 1u); i++)
    if (!is_line(glow_node_in(n, i)->type, axis, axes))
      return 0;
  bool tall = axes == 1 || (is_flat(n) && glow_node_in(n, 0)->type->dims[axis].size > 1);
  return tall && is_line(y, axis, axes) ? axes : 0;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

/* n with two spatial axes, the first of extent 1. NULL after a diagnostic. Results keep their
 * kinds: quantized ones have parameters of their own. */
static GlowNode *build_wide(GlowPassRun *run, GlowBuilder *b, GlowNode *n, uint32_t axis,
                            uint32_t axes) {
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  const GlowType **types = GLOW_NEW_ARRAY(run->arena, const GlowType *, n->nresults);
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = ins[i] = n->operands[i].value;
    if (!v || v->type->rank != 2 + axes)
      continue;
    ins[i] = glow_build_reshape(b, n, v, wide_dims(v->type, axis, dims), dims);
    if (!ins[i])
      return NULL;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    types[i] = glow_type_with_dims(run->module->ctx, t, wide_dims(t, axis, dims), dims);
  }
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = n->noperands,
                       .members = widen_members(run, n, axes),
                       .nresults = n->nresults,
                       .types = types};
  return glow_node_create(b, &spec);
}

static bool widen(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (!n->nresults || !glow_op_member(glow_node_desc(n), "layout"))
    return true;
  uint32_t axis = order_of(n) == GLOW_LAYOUT_NHWC ? 1 : 2, axes = spatial_axes(n, axis);
  if (!axes)
    return true;
  glow_pass_check_limit(run);
  GlowBuilder b = glow_builder_before(n);
  GlowNode *wide = build_wide(run, &b, n, axis, axes);
  if (!wide)
    return false;
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    values[i] = glow_build_reshape(&b, n, &wide->results[i], t->rank, t->dims);
    if (!values[i])
      return false;
  }
  glow_pass_changed(run, n, "%s along the second of two axes", glow_node_desc(n)->node);
  glow_node_replace(n, values, n->nresults);
  return true;
}

bool glow_pass_conv_2d(GlowPassRun *run) {
  return glow_block_walk(run->function->body, widen, run);
}
