/* ReduceMean over the spatial axes of an image becomes AveragePool with one window, followed by a
 * Reshape if the axes are dropped:
 *
 *   ReduceMean(x : N x C x H x W, axes 2 and 3)
 *     becomes   AveragePool(x) {kernels = [H, W]}
 *   ReduceMean(x : N x H x W x C, axes 1 and 2)
 *     becomes   AveragePool(x) {layout = NHWC, kernels = [H, W]}
 *
 * That pays behind a convolution or pool, whose result -assign-layouts will have in blocks of
 * channels: AveragePool reads blocks as they are, but ReduceMean needs a Relayout before it. So
 * without the option `all` only the first rewrite is made, only in such places, and not for large
 * windows, since errors of one chain grow with its length. The size of the batch does not decide.
 *
 *   all      every mean over an image
 *
 * The second rewrite is exact up to -0 (the pool's chain starts at +0); the first takes a chain in
 * place of 16 lanes and a tree. Bound: c = 2 H W + 2. */
#include "target/target.h"
#include "transforms/rules.h"

enum { MOST_STEPS = 16, MOST_ELEMENTS = 4096 };

/* The first of the reduced axes, if these are two neighbouring axes and no others; else -1. */
static int64_t first_axis(GlowPassRun *run, const GlowNode *n, uint32_t rank) {
  uint32_t count, mask = 0;
  const int64_t *axes = glow_known_ints(run, n, GLOW_REDUCE_MEAN_IN_AXES, &count);
  for (uint32_t i = 0; axes && i < count; i++)
    mask |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
  return mask == 0xc ? 2 : mask == 0x6 ? 1 : -1;
}

/* Whether n computes its result in blocks of channels, in whatever layout its operands are. */
static bool begins_blocks(const GlowTarget *t, const GlowNode *n) {
  GlowChoice choices[GLOW_CHOICES];
  const char *why = NULL;
  return glow_target_choices(t, n, choices, &why) && choices[0].out;
}

/* Whether v will be in blocks of channels: looks back, over a few nodes and by their first
 * operands, through nodes that join a stretch of blocks, to a node that begins one. */
static bool comes_in_blocks(const GlowTarget *t, const GlowValue *v) {
  for (uint32_t steps = 0; steps < MOST_STEPS && v->kind == GLOW_VALUE_RESULT; steps++) {
    const GlowNode *n = v->def.node;
    const GlowOpDesc *d = glow_node_desc(n);
    if (begins_blocks(t, n))
      return true;
    if (!(GLOW_HAS(d, ELEMENTWISE) || GLOW_HAS(d, BLOCKS)) || !glow_node_nins(n) ||
        !glow_node_in(n, 0))
      return false;
    v = glow_node_in(n, 0);
  }
  return false;
}

/* See the head of this file. */
static bool pays(const GlowTarget *t, const GlowValue *x, int64_t axis) {
  return axis == 2 && x->type->kind == GLOW_KIND_FLOAT &&
         x->type->dims[2].size * x->type->dims[3].size <= MOST_ELEMENTS && comes_in_blocks(t, x);
}

static bool fits_window(GlowDim d) { return d.kind == GLOW_DIM_EXACT && d.size <= INT32_MAX; }

static GlowValue *to_pool(GlowPassRun *run, GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_REDUCE_MEAN_IN_X);
  const GlowType *from = x->type, *to = n->results[0].type;
  if (!glow_type_is_known(from) || !glow_type_is_known(to) || from->rank != 4 || from->layout ||
      !glow_kind_is_float(from->kind) || glow_type_elements(from) == 0)
    return NULL;
  int64_t axis = first_axis(run, n, 4);
  if (axis >= 0 && !glow_pass_option(run, "all") && !pays(glow_target_asked(run->module), x, axis))
    return NULL;
  if (axis < 0 || !fits_window(from->dims[axis]) || !fits_window(from->dims[axis + 1]))
    return NULL;
  uint32_t kernels[] = {(uint32_t)from->dims[axis].size, (uint32_t)from->dims[axis + 1].size};
  GlowAveragePoolMembers members = {.layout = axis == 1 ? GLOW_LAYOUT_NHWC : GLOW_LAYOUT_NCHW,
                                    .kernels = glow_array_u32(run->module, kernels, 2)};
  GlowBuilder b = glow_builder_before(n);
  GlowValue *pool = glow_build1(&b, GLOW_OP_AVERAGE_POOL, x, &members, NULL);
  if (!pool || pool->type == to)
    return pool;
  return glow_build_reshape(&b, n, pool, to->rank, to->dims);
}

static const GlowRule rules[] = {
    {GLOW_OP_REDUCE_MEAN, to_pool, "a mean over an image becomes AveragePool"},
};

bool glow_pass_reduce_mean_pool(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
