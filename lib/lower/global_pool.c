/* GlobalAveragePool, GlobalMaxPool and GlobalLpPool are pools whose window is the whole map.
 * Without spatial axes they are Identity, or Abs. */
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

bool glow_lower_global_average_pool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGlobalAveragePoolMembers *global = n->members;
  GlowAveragePoolMembers pool =
      *(const GlowAveragePoolMembers *)glow_op_desc[GLOW_OP_AVERAGE_POOL].member_defaults;
  GlowValue *x = glow_node_in(n, 0);
  pool.layout = global->layout;
  if (!whole_map(b->module, x->type, pool.layout, &pool.kernels))
    return false;
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
  if (!whole_map(b->module, x->type, pool.layout, &pool.kernels))
    return false;
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
