/* QuantizeLinear and DequantizeLinear as arithmetic on broadcast scales and zero points. They have
 * kernels; -lower=all brings them down:
 *
 *   DequantizeLinear  Cast(X - ZeroPoint) * Scale, the difference exact
 *   QuantizeLinear    Cast(Round(X / Scale) + ZeroPoint), which saturates; of 8-bit floats without
 *                     Round
 *
 * Parameters of an axis stand along it; those of blocks are repeated by Gather. */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Grid {
  GlowBuilder *b;
  const GlowNode *n;
  const GlowType *x;
  int64_t axis, block;
} Grid;

/* False while extents are open or do not fit. */
static bool begin(Grid *g, GlowBuilder *b, const GlowNode *n, int64_t axis, int64_t block) {
  const GlowType *x = glow_node_in(n, 0)->type, *scale = glow_node_in(n, 1)->type;
  const GlowValue *zero = glow_node_in(n, 2);
  *g = (Grid){b, n, x, axis < 0 ? axis + (int64_t)x->rank : axis, block};
  if (!glow_type_is_static(x) || !glow_type_is_static(scale) ||
      (zero && (!glow_type_is_static(zero->type) ||
                glow_type_elements(zero->type) != glow_type_elements(scale))))
    return false;
  if (glow_type_elements(scale) == 1 && block == 0)
    return true;
  if (g->axis < 0 || g->axis >= x->rank)
    return false;
  int64_t extent = x->dims[g->axis].size, wanted = extent;
  if (block)
    wanted = extent ? glow_type_elements(x) / extent * ((extent + block - 1) / block) : 0;
  return glow_type_elements(scale) == wanted && (!block || scale->rank == x->rank);
}

/* A scale or zero point so that it broadcasts over X. */
static GlowValue *broadcast(const Grid *g, GlowValue *v) {
  if (!v)
    return NULL;
  if (g->block) {
    int64_t extent = g->x->dims[g->axis].size;
    int64_t *from = GLOW_NEW_ARRAY(g->b->module->arena, int64_t, (size_t)extent + 1);
    for (int64_t i = 0; i < extent; i++)
      from[i] = i / g->block;
    GlowValue *which = glow_constant_ints(g->b->module, g->n, "block", from, (uint32_t)extent);
    return glow_build_picked(g->b, v, which, g->axis);
  }
  int64_t count = glow_type_elements(v->type);
  if (count == 1)
    return glow_build_shaped(g->b, g->n, v, 0, NULL);
  v = glow_build_shaped(g->b, g->n, v, 1, &count);
  return glow_build_along(g->b, g->n, v, g->x->rank, (uint32_t)g->axis);
}

bool glow_lower_dequantize_linear(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowDequantizeLinearMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0), *zero = glow_node_in(n, 2);
  GlowKind scale = glow_node_in(n, 1)->type->kind;
  Grid g;
  if (!begin(&g, b, n, m->axis, m->block))
    return false;
  GlowKind wide = glow_kind_is_float(x->type->kind) ? GLOW_KIND_FLOAT : GLOW_KIND_I64;
  GlowValue *v = glow_then_cast(b, x, wide);
  if (zero)
    v = glow_then2(b, GLOW_OP_SUB, v, broadcast(&g, glow_then_cast(b, zero, wide)));
  GlowValue *by = broadcast(&g, glow_then_cast(b, glow_node_in(n, 1), GLOW_KIND_FLOAT));
  v = glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, v, GLOW_KIND_FLOAT), by);
  results[0] = glow_then_cast(b, v, scale);
  return results[0] != NULL;
}

bool glow_lower_quantize_linear(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowQuantizeLinearMembers *m = n->members;
  GlowValue *zero = glow_node_in(n, 2), *scale = glow_node_in(n, 1);
  GlowKind kind = n->results[0].type->kind, precision = scale->type->kind;
  Grid g;
  if (!begin(&g, b, n, m->axis, m->block))
    return false;
  GlowValue *v = glow_then_cast(b, glow_node_in(n, 0), GLOW_KIND_FLOAT);
  v = glow_then2(b, GLOW_OP_DIV, glow_then_cast(b, v, precision), broadcast(&g, scale));
  if (glow_kind_is_float(kind)) {
    if (zero)
      v = glow_then2(b, GLOW_OP_ADD, v, broadcast(&g, glow_then_cast(b, zero, precision)));
    GlowCastMembers to = {.to = kind, .overflow = !m->saturate};
    results[0] = v ? glow_then1(b, GLOW_OP_CAST, v, &to) : NULL;
    return results[0] != NULL;
  }
  v = glow_then1(b, GLOW_OP_ROUND, v, NULL);
  v = glow_then_cast(b, v, GLOW_KIND_DOUBLE);
  v = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_EQUAL, v, v), v,
                 glow_build_scalar(b, GLOW_KIND_DOUBLE, 0)); /* NaN counts as 0 */
  if (zero)
    v = glow_then2(b, GLOW_OP_ADD, v, broadcast(&g, glow_then_cast(b, zero, GLOW_KIND_DOUBLE)));
  results[0] = glow_then_cast(b, v, kind);
  return results[0] != NULL;
}
