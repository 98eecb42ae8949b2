/* ReduceMean over the spatial axes of an image becomes AveragePool by one window, which backends
 * have kernels for, with a Reshape where the axes go:
 *
 *   ReduceMean(x : N x C x H x W, axes 2 and 3)  -> AveragePool(x) {kernels = [H, W]}
 *   ReduceMean(x : N x H x W x C, axes 1 and 2)  -> AveragePool(x) {layout = NHWC, kernels = [H,
 * W]}
 *
 * The second is exact up to -0 (the pool's chain starts at +0); the first takes a chain in place of
 * 16 lanes and a tree. Bound: c = 2 H W + 2. */
#include "transforms/rules.h"

/* The first of two neighbouring axes that are all that is reduced; -1 otherwise. */
static int64_t first_axis(GlowPassRun *run, const GlowNode *n, uint32_t rank) {
  uint32_t count, mask = 0;
  const int64_t *axes = glow_known_ints(run, n, GLOW_REDUCE_MEAN_IN_AXES, &count);
  for (uint32_t i = 0; axes && i < count; ++i)
    mask |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
  return mask == 0xc ? 2 : mask == 0x6 ? 1 : -1;
}

static GlowValue *to_pool(GlowPassRun *run, GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_REDUCE_MEAN_IN_X);
  const GlowType *from = x->type, *to = n->results[0].type;
  if (!glow_type_is_static(from) || !glow_type_is_static(to) || from->rank != 4 || from->layout ||
      !glow_kind_is_float(from->kind) || glow_type_elements(from) == 0)
    return NULL;
  int64_t axis = first_axis(run, n, 4);
  if (axis < 0 || from->dims[axis].size > INT32_MAX || from->dims[axis + 1].size > INT32_MAX)
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
