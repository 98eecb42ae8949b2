/* The gradient rule of ReduceSum: dY along all axes that were summed. */
#include "autodiff/parts.h"

bool glow_grad_reduce_sum(GlowGrad *g) {
  const GlowReduceSumMembers *m = g->n->members;
  GlowValue *axes = glow_node_in(g->n, GLOW_REDUCE_SUM_IN_AXES), *v = g->dy[0];
  const GlowTensor *list = axes ? glow_value_known(axes) : NULL;
  const GlowType *x = glow_grad_in(g, 0)->type;
  GlowDim dims[GLOW_MAX_RANK];
  if (!glow_type_is_static(x) || (axes && !list))
    return false;
  int64_t count = list ? glow_tensor_elements(list) : 0, wide[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    wide[i] = x->dims[i].size;
    dims[i] = count || m->noop ? x->dims[i] : GLOW_EXACT(1);
  }
  for (int64_t i = 0; i < count; i++)
    dims[glow_grad_axis(glow_tensor_get_int(list, i), x)] = GLOW_EXACT(1);
  if (!m->keep)
    v = glow_build_reshape(g->b, g->n, v, x->rank, dims);
  return glow_grad_put(g, 0,
                       glow_then2(g->b, GLOW_OP_EXPAND, v,
                                  glow_constant_ints(g->b->module, g->n, "summed", wide, x->rank)));
}
