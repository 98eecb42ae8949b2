/* GlobalAveragePool, GlobalMaxPool and GlobalLpPool are pools whose window is the whole map.
 * Without spatial axes they are Identity, or Abs. A window is a list of numbers; where the extents
 * of the map are symbols, the mean is a ReduceMean and the maximum a TopK, with the bits of the
 * pool. */
#include "lower/lower.h"
#include "ops/lower.h"

/* The spatial extents of x as kernel sizes. False if one is open, empty or too large. */
static bool whole_map(GlowModule *m, const GlowType *t, int layout, GlowArray *kernels) {
  uint32_t sizes[GLOW_MAX_RANK];
  if (!glow_type_is_tensor(t) || t->unranked || t->rank < 2)
    return false;
  uint32_t first = layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  for (uint32_t i = 0; i < t->rank - 2; i++) {
    GlowDim d = t->dims[first + i];
    if (d.kind != GLOW_DIM_EXACT || d.size <= 0 || d.size > UINT32_MAX)
      return false;
    sizes[i] = (uint32_t)d.size;
  }
  *kernels = glow_array_u32(m, sizes, t->rank - 2);
  return true;
}

/* ---- Maps whose extents are symbols ---------------------------------------------------------- */

/* Whether x's map has symbols, all its extents are known, and it is never empty. */
static bool is_open_map(const GlowType *t, int layout) {
  bool known = glow_type_is_tensor(t) && glow_type_is_known(t) && t->rank > 2 && !t->layout &&
               t->rank < GLOW_MAX_RANK;
  bool open = false;
  uint32_t first = layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  for (uint32_t i = first; known && i < first + t->rank - 2; i++) {
    const GlowExtent *e = t->dims[i].extent;
    open |= e != NULL;
    known = e ? e->least > 0 : t->dims[i].size > 0;
  }
  return known && open;
}

/* y with x's rank and one element for each map. */
static GlowValue *in_rank_of(GlowBuilder *b, const GlowNode *n, GlowValue *x, int layout,
                             GlowValue *y) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t first = layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  for (uint32_t i = 0; i < x->type->rank; i++)
    dims[i] = i >= first && i < first + x->type->rank - 2 ? GLOW_EXACT(1) : x->type->dims[i];
  return y ? glow_build_reshape(b, n, y, x->type->rank, dims) : NULL;
}

/* The mean of each map as one chain in row-major order, which ReduceMean makes unless it reduces
 * the last axes. A pool begins with +0, so its mean of zeros is +0. */
static GlowValue *build_mean(GlowBuilder *b, const GlowNode *n, GlowValue *x, int layout) {
  int64_t axes[GLOW_MAX_RANK];
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = x->type->rank, count = rank - 2;
  memcpy(dims, x->type->dims, sizeof dims);
  dims[rank] = GLOW_EXACT(1);
  for (uint32_t i = 0; i < count; i++)
    axes[i] = i + (layout == GLOW_LAYOUT_NHWC ? 1 : 2);
  GlowValue *chains = layout == GLOW_LAYOUT_NHWC ? x : glow_build_reshape(b, n, x, rank + 1, dims);
  GlowValue *mean = glow_then2(b, GLOW_OP_REDUCE_MEAN, chains,
                               glow_constant_ints(b->module, n, "axes", axes, count));
  return glow_then2(b, GLOW_OP_ADD, mean, glow_build_scalar(b, x->type->kind, 0));
}

/* The first of the largest elements of each map. */
static GlowValue *build_most(GlowBuilder *b, const GlowNode *n, GlowValue *x, int layout) {
  uint32_t perm[GLOW_MAX_RANK], rank = x->type->rank;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = layout == GLOW_LAYOUT_NHWC && i > 0 ? (i == 1 ? rank - 1 : i - 1) : i;
  if (layout == GLOW_LAYOUT_NHWC && !(x = glow_build_permuted(b, x, perm, rank)))
    return NULL;
  const int64_t flat[] = {0, 0, -1};
  const GlowReshapeMembers copies = {.allow_zero = false};
  const GlowTopKMembers first = {.k = 1, .axis = 2, .largest = true, .sorted = true};
  GlowValue *rows = glow_build2(b, GLOW_OP_RESHAPE, x,
                                glow_constant_ints(b->module, n, "flat", flat, 3), &copies, NULL);
  return glow_then1(b, GLOW_OP_TOP_K, rows, &first);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

bool glow_lower_global_average_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGlobalAveragePoolMembers *global = n->members;
  GlowAveragePoolMembers pool =
      *(const GlowAveragePoolMembers *)glow_op_desc[GLOW_OP_AVERAGE_POOL].member_defaults;
  GlowValue *x = glow_node_in(n, 0);
  pool.layout = global->layout;
  if (is_open_map(x->type, pool.layout))
    results[0] = in_rank_of(b, n, x, pool.layout, build_mean(b, n, x, pool.layout));
  else if (!whole_map(b->module, x->type, pool.layout, &pool.kernels))
    return false;
  else
    results[0] = pool.kernels.count ? glow_build1(b, GLOW_OP_AVERAGE_POOL, x, &pool, NULL)
                                    : glow_build1(b, GLOW_OP_IDENTITY, x, NULL, NULL);
  return results[0] != NULL;
}

bool glow_lower_global_max_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGlobalMaxPoolMembers *global = n->members;
  GlowMaxPoolMembers pool =
      *(const GlowMaxPoolMembers *)glow_op_desc[GLOW_OP_MAX_POOL].member_defaults;
  GlowValue *x = glow_node_in(n, 0);
  pool.layout = global->layout;
  if (is_open_map(x->type, pool.layout))
    results[0] = in_rank_of(b, n, x, pool.layout, build_most(b, n, x, pool.layout));
  else if (!whole_map(b->module, x->type, pool.layout, &pool.kernels))
    return false;
  else
    results[0] = pool.kernels.count ? glow_build1(b, GLOW_OP_MAX_POOL, x, &pool, NULL)
                                    : glow_build1(b, GLOW_OP_IDENTITY, x, NULL, NULL);
  return results[0] != NULL;
}

bool glow_lower_global_lp_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGlobalLpPoolMembers *global = n->members;
  GlowLpPoolMembers pool =
      *(const GlowLpPoolMembers *)glow_op_desc[GLOW_OP_LP_POOL].member_defaults;
  GlowValue *x = glow_node_in(n, 0);
  pool.layout = global->layout;
  pool.p = global->p;
  if (!whole_map(b->module, x->type, pool.layout, &pool.kernels))
    return false;
  results[0] = pool.kernels.count ? glow_build1(b, GLOW_OP_LP_POOL, x, &pool, NULL)
                                  : glow_build1(b, GLOW_OP_ABS, x, NULL, NULL);
  return results[0] != NULL;
}
