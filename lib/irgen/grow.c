/* Variables that grow. A Save that gives a variable more rows writes a view of the variable that
 * has them, and `set_rows` says so. Where the value is a Concat of the variable and what follows
 * it, nothing is copied but the new rows, each operand to its place behind the rows that are there:
 * the variable grows in place, and what reads the Concat reads the view. */
#include "ir/dims.h"
#include "irgen/irgen_internal.h"

/* Whether n puts rows behind those of a variable. */
static bool appends_to(const GlowNode *n, const GlowValue *variable) {
  if (!n || n->op != GLOW_OP_CONCAT || glow_node_in(n, 0) != variable)
    return false;
  int64_t axis = ((const GlowConcatMembers *)n->members)->axis;
  return axis == 0 || axis == -(int64_t)n->results[0].type->rank;
}

GlowValue *glow_irgen_grown(GlowIrgen *g, GlowValue *variable, const GlowValue *v) {
  if (variable->kind != GLOW_VALUE_STORAGE || variable->def.storage->cls != GLOW_VARIABLE ||
      !glow_type_grows(variable->type) || v->type == variable->type)
    return variable;
  GlowNodeSpec spec = {.op = GLOW_OP_TENSORVIEW,
                       .ins = &variable,
                       .nins = 1,
                       .types = &v->type,
                       .names = &(GlowStr){v->name}};
  GlowNode *view = glow_node_create(&g->b, &spec);
  GLOW_CHECK(g->ctx, view, "a view of a variable cannot be built");
  const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  if (appends_to(n, variable) && !glow_map_get(g->appends, n))
    glow_map_set(g->appends, n, &view->results[0]);
  return &view->results[0];
}

/* The view of `rows` of a variable that begins at row `first`. */
static GlowValue *view_rows(GlowIrgen *g, GlowValue *variable, GlowDim first,
                            const GlowType *rows) {
  GlowSize strides[GLOW_MAX_RANK];
  GlowDim size = GLOW_EXACT(1);
  for (uint32_t a = rows->rank; a-- > 0; size = glow_dim_mul(size, rows->dims[a]))
    strides[a] = glow_size(size);
  GlowDim row = GLOW_EXACT(strides[0].size);
  GlowTensorviewMembers members = {.offset = glow_size(glow_dim_mul(first, row)),
                                   .strides = glow_array_sizes(g->module, strides, rows->rank)};
  GlowNodeSpec spec = {
      .op = GLOW_OP_TENSORVIEW, .ins = &variable, .nins = 1, .members = &members, .types = &rows};
  GlowNode *n = glow_node_create(&g->b, &spec);
  return n ? &n->results[0] : NULL;
}

bool glow_irgen_append(GlowIrgen *g, const GlowNode *n) {
  GlowValue *variable = glow_node_in(n, 0);
  GlowDim row = variable->type->dims[0];
  for (uint32_t i = 1; i < n->noperands; i++) {
    GlowValue *from = glow_irgen_get(g, glow_node_in(n, i));
    GlowValue *to = view_rows(g, variable, row, from->type);
    if (!to || !glow_irgen_copy(g, to, from))
      return false;
    row = glow_dim_add(row, from->type->dims[0]);
  }
  glow_irgen_set(g, &n->results[0], glow_map_get(g->appends, n));
  return true;
}

bool glow_irgen_set_rows(GlowIrgen *g, GlowValue *grown) {
  const GlowNode *view = glow_value_def(grown, GLOW_OP_TENSORVIEW);
  if (!view)
    return true;
  GlowSetRowsMembers members = {.rows = glow_size(grown->type->dims[0])};
  GlowValue *variable = glow_node_in(view, 0);
  return glow_build_instr(&g->b, GLOW_OP_SET_ROWS, NULL, 0, &variable, 1, &members) != NULL;
}
