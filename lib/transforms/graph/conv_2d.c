/* Convolutions and pools with one spatial axis become those with two, of which the first has extent
 * 1: kernels and layouts are for two.
 *
 *   Convolution(x : N x C x L, w : O x I x K)
 *     becomes   Reshape(Convolution(Reshape(x) : N x C x 1 x L, Reshape(w) : O x I x 1 x K))
 *
 * Reshapes cost nothing, and those between two of them meet and cancel. Exact: a window visits the
 * same elements in the same order. */
#include "pass/pass.h"
#include "transforms/transforms.h"

/* Members with entries for spatial axes, and what an axis of extent 1 has there. */
static const struct {
  const char *name;
  uint32_t initial;
} axis_members[] = {
    {"strides", 1}, {"pads", 0}, {"dilations", 1}, {"kernels", 1}, {"output_padding", 0}};

/* [a] as [initial, a]; of pads, [a, b] as [0, a, 0, b]. */
static GlowArray widen_list(GlowModule *m, GlowArray list, uint32_t initial) {
  uint32_t wide[4];
  if (list.count == 0 || list.count > 2)
    return list;
  for (uint32_t i = 0; i < list.count; i++) {
    wide[2 * i] = initial;
    wide[2 * i + 1] = glow_array_at(list, uint32_t, i);
  }
  return glow_array_u32(m, wide, 2 * list.count);
}

/* A copy of n's members for two spatial axes. */
static void *widen_members(GlowPassRun *run, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  char *members = glow_arena_copy(run->arena, n->members, d->member_size);
  for (size_t i = 0; i < sizeof axis_members / sizeof *axis_members; i++) {
    const GlowMember *m = glow_op_member(d, axis_members[i].name);
    if (!m)
      continue;
    GlowArray *list = (GlowArray *)(void *)(members + m->offset);
    *list = widen_list(run->module, *list, axis_members[i].initial);
  }
  return members;
}

/* v in the shape of t, with one more axis, of extent 1, at `axis` if it is not negative. NULL after
 * a diagnostic. */
static GlowValue *reshape(GlowBuilder *b, const GlowNode *n, GlowValue *v, const GlowType *t,
                          int axis) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < t->rank; i++) {
    if ((int)i == axis)
      dims[rank++] = GLOW_EXACT(1);
    dims[rank++] = t->dims[i];
  }
  return glow_build_reshape(b, n, v, rank, dims);
}

static bool is_axis(const GlowType *t) {
  return glow_type_is_static(t) && t->rank == 3 && glow_type_elements(t) > 0;
}

/* Whether all operands but the bias, and all results, have one spatial axis. */
static bool is_candidate(const GlowNode *n) {
  bool pool =
      n->op == GLOW_OP_MAX_POOL || n->op == GLOW_OP_AVERAGE_POOL || n->op == GLOW_OP_LP_POOL;
  bool conv = n->op == GLOW_OP_CONVOLUTION || n->op == GLOW_OP_CONV_TRANSPOSE;
  if (!pool && !conv)
    return false;
  for (uint32_t i = 0; i < glow_node_nins(n) && i < (conv ? 2u : 1u); i++)
    if (!is_axis(glow_node_in(n, i)->type))
      return false;
  return is_axis(n->results[0].type);
}

static int order_of(const GlowNode *n) {
  const GlowMember *m = glow_op_member(glow_node_desc(n), "layout");
  return *(const int *)(const void *)((const char *)n->members + m->offset);
}

static bool widen(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (!is_candidate(n))
    return true;
  glow_pass_check_limit(run);
  GlowBuilder b = glow_builder_before(n);
  int axis = order_of(n) == GLOW_LAYOUT_NHWC ? 1 : 2;
  uint32_t nins = n->noperands;
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, nins);
  for (uint32_t i = 0; i < nins; i++) {
    GlowValue *v = n->operands[i].value;
    ins[i] = v && v->type->rank == 3 ? reshape(&b, n, v, v->type, axis) : v;
    if (v && !ins[i])
      return false;
  }
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = nins,
                       .members = widen_members(run, n),
                       .nresults = n->nresults};
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    values[i] = reshape(&b, n, &fresh->results[i], n->results[i].type, -1);
    if (!values[i])
      return false;
  }
  glow_pass_changed(run, n, "%s along two axes", glow_node_desc(n)->node);
  glow_node_replace(n, values, n->nresults);
  return true;
}

bool glow_pass_conv_2d(GlowPassRun *run) {
  return glow_block_walk(run->function->body, widen, run);
}
