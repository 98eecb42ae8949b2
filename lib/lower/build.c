/* What lowering rules build more than once. */
#include "lower/lower.h"
#include "tensor/element.h"

static GlowValue *make_list(GlowModule *m, const GlowNode *n, const char *what, GlowKind kind,
                            const int64_t *values, uint32_t rank, uint32_t count) {
  const char *base = n->nresults && n->results[0].name ? n->results[0].name : "c";
  int64_t dims[] = {count};
  const GlowType *type = glow_type_exact(m->ctx, kind, rank, dims);
  GlowTensor *t = GLOW_NEW(m->ctx->arena, GlowTensor);
  t->type = type;
  t->bytes = (size_t)glow_type_bytes(type);
  t->data = glow_arena_alloc(m->ctx->arena, t->bytes);
  for (uint32_t i = 0; i < count; i++)
    glow_element_set(kind, t->data, i, glow_scalar_int(values[i]));
  GlowInit init = {.kind = GLOW_INIT_LIST, .tensor = t};
  GlowStr name = glow_str_printf(m->ctx, "%s.%s", base, what);
  return &glow_storage_create(m, GLOW_CONSTANT, name, t->type, init)->value;
}

GlowValue *glow_constant_ints(GlowModule *m, const GlowNode *n, const char *what,
                              const int64_t *values, uint32_t count) {
  return make_list(m, n, what, GLOW_KIND_I64, values, 1, count);
}

GlowValue *glow_constant_int(GlowModule *m, const GlowNode *n, const char *what, int64_t value) {
  return make_list(m, n, what, GLOW_KIND_I64, &value, 0, 1);
}

GlowValue *glow_constant_numbers(GlowModule *m, const GlowNode *n, const char *what, GlowKind kind,
                                 const int64_t *values, uint32_t count) {
  return make_list(m, n, what, kind, values, 1, count);
}

/* The number with the fewest digits that rounds to the same float: what a person would write. */
static double shorten(double v) {
  char text[48], *end;
  glow_format_float(text, (float)v);
  return glow_parse_double(text, &end);
}

GlowValue *glow_build_scalar(GlowBuilder *b, GlowKind kind, double v) {
  GlowContext *ctx = b->module->ctx;
  if (kind != GLOW_KIND_DOUBLE && (double)(float)v == v)
    v = shorten(v);
  const GlowType *type = glow_type_scalar(ctx, kind);
  bool whole = glow_kind_is_integer(kind);
  GlowSplatMembers members = {.value = {.is_int = whole, .i = whole ? (int64_t)v : 0, .f = v}};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &type};
  GlowNode *n = glow_node_create(b, &spec);
  return n ? &n->results[0] : NULL;
}

bool glow_reshape_list(const GlowType *x, uint32_t rank, const GlowDim *dims, int64_t *shape,
                       bool *allow_zero) {
  uint32_t open = 0, kept = 0; /* axes of symbols that x has in the same place may be copied */
  *allow_zero = false;
  for (uint32_t i = 0; i < rank; i++) {
    bool exact = dims[i].kind == GLOW_DIM_EXACT;
    bool keeps = !exact && i < x->rank && glow_dim_is_same(dims[i], x->dims[i]);
    shape[i] = exact ? dims[i].size : keeps ? 0 : -1;
    kept += keeps;
    open += !exact && !keeps;
    *allow_zero |= exact && dims[i].size == 0;
  }
  for (uint32_t i = 0; i < rank && kept == 1 && !open; i++)
    shape[i] = dims[i].kind == GLOW_DIM_EXACT ? shape[i] : -1;
  return open <= 1 && !((open || kept) && *allow_zero);
}

/* `dims` as a list that is computed: their symbols are extents of x. NULL if another is among them.
 */
static GlowValue *build_list(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                             const GlowDim *dims) {
  GlowValue *parts[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    GlowShapeMembers part = {0};
    while (part.start < x->type->rank && !glow_dim_is_same(dims[i], x->type->dims[part.start]))
      part.start++;
    part.end = part.start + 1;
    if (dims[i].kind != GLOW_DIM_EXACT && part.start == x->type->rank)
      return NULL;
    parts[i] = dims[i].kind == GLOW_DIM_EXACT
                   ? glow_constant_ints(b->module, n, "extent", &dims[i].size, 1)
                   : glow_build1(b, GLOW_OP_SHAPE, x, &part, NULL);
  }
  return glow_build_concat(b, parts, rank, 0);
}

GlowValue *glow_build_reshape(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                              const GlowDim *dims) {
  int64_t shape[GLOW_MAX_RANK];
  GlowReshapeMembers members;
  GlowValue *to = NULL;
  if (glow_reshape_list(x->type, rank, dims, shape, &members.allow_zero))
    to = glow_constant_ints(b->module, n, "shape", shape, rank);
  else if (glow_type_is_known(x->type) && (to = build_list(b, n, x, rank, dims)))
    members.allow_zero = true;
  if (!to)
    return NULL;
  return glow_build2(b, GLOW_OP_RESHAPE, x, to, &members, NULL);
}

GlowValue *glow_build_extent(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis) {
  GlowDim extent = x->type->dims[axis];
  if (extent.kind == GLOW_DIM_EXACT)
    return glow_constant_int(b->module, n, "steps", extent.size);
  GlowShapeMembers members = {.start = axis, .end = axis + 1};
  GlowValue *scalar = glow_constant_ints(b->module, n, "scalar", NULL, 0);
  return glow_then2(b, GLOW_OP_RESHAPE, glow_then1(b, GLOW_OP_SHAPE, x, &members), scalar);
}

GlowValue *glow_build_reduce(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *axes) {
  return glow_build2(b, op, x, axes, NULL, NULL);
}

GlowValue *glow_then1(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members) {
  return x ? glow_build1(b, op, x, members, NULL) : NULL;
}

GlowValue *glow_then2(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y) {
  return x && y ? glow_build2(b, op, x, y, NULL, NULL) : NULL;
}

GlowValue *glow_then(GlowBuilder *b, GlowOp op, GlowValue *const *ins, uint32_t count,
                     const void *members) {
  for (uint32_t i = 0; i < count; i++)
    if (!ins[i])
      return NULL;
  GlowNode *n = glow_build(b, op, ins, count, members, NULL);
  return n ? &n->results[0] : NULL;
}

GlowValue *glow_then3(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *z) {
  return glow_then(b, op, (GlowValue *[]){x, y, z}, 3, NULL);
}

GlowValue *glow_then_cast(GlowBuilder *b, GlowValue *x, GlowKind kind) {
  if (!x || x->type->kind == kind)
    return x;
  return glow_build1(b, GLOW_OP_CAST, x, &(GlowCastMembers){.to = kind}, NULL);
}

GlowValue *glow_along_channels(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank) {
  GlowDim dims[GLOW_MAX_RANK];
  if (!v || rank <= 2)
    return v;
  dims[0] = v->type->dims[0];
  for (uint32_t i = 1; i < rank - 1; i++)
    dims[i] = GLOW_EXACT(1);
  return glow_build_reshape(b, n, v, rank - 1, dims);
}

GlowValue *glow_build_deviation(GlowBuilder *b, GlowValue *x, GlowValue *axes, double epsilon) {
  GlowValue *mean = glow_then2(b, GLOW_OP_REDUCE_MEAN, glow_then2(b, GLOW_OP_MUL, x, x), axes);
  if (mean && epsilon != 0)
    mean = glow_then2(b, GLOW_OP_ADD, mean, glow_build_scalar(b, mean->type->kind, epsilon));
  return glow_then1(b, GLOW_OP_SQRT, mean, NULL);
}

GlowValue *glow_build_inverse_deviation(GlowBuilder *b, GlowValue *x, GlowValue *axes,
                                        double epsilon) {
  return glow_then1(b, GLOW_OP_RECIPROCAL, glow_build_deviation(b, x, axes, epsilon), NULL);
}

/* ---- Movement -------------------------------------------------------------------------------- */

GlowValue *glow_build_permuted(GlowBuilder *b, GlowValue *x, const uint32_t *perm, uint32_t rank) {
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, perm, rank)};
  return glow_then1(b, GLOW_OP_TRANSPOSE, x, &members);
}

GlowValue *glow_build_part(GlowBuilder *b, const GlowNode *n, GlowValue *x, int64_t axis,
                           int64_t start, int64_t end, int64_t step) {
  GlowModule *m = b->module;
  GlowValue *ins[] = {
      x, glow_constant_ints(m, n, "start", &start, 1), glow_constant_ints(m, n, "end", &end, 1),
      glow_constant_ints(m, n, "axis", &axis, 1), glow_constant_ints(m, n, "step", &step, 1)};
  return glow_then(b, GLOW_OP_SLICE, ins, step == 1 ? 4 : 5, NULL);
}

GlowValue *glow_build_padded(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis,
                             int64_t before, int64_t behind) {
  if (!x || (before == 0 && behind == 0))
    return x;
  int64_t list[2 * GLOW_MAX_RANK] = {0};
  uint32_t rank = x->type->rank;
  list[axis] = before;
  list[rank + axis] = behind;
  GlowPadMembers members = {.mode = GLOW_PAD_MODE_CONSTANT};
  GlowValue *ins[] = {x, glow_constant_ints(b->module, n, "pads", list, 2 * rank)};
  return glow_then(b, GLOW_OP_PAD, ins, 2, &members);
}

GlowValue *glow_build_picked(GlowBuilder *b, GlowValue *x, GlowValue *which, int64_t axis) {
  return glow_then(b, GLOW_OP_GATHER, (GlowValue *[]){x, which}, 2,
                   &(GlowGatherMembers){.axis = axis});
}

GlowValue *glow_build_concat(GlowBuilder *b, GlowValue *const *parts, uint32_t count,
                             int64_t axis) {
  return glow_then(b, GLOW_OP_CONCAT, parts, count, &(GlowConcatMembers){.axis = axis});
}

GlowValue *glow_build_shaped(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                             const int64_t *dims) {
  GlowDim exact[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    exact[i] = GLOW_EXACT(dims[i]);
  return x ? glow_build_reshape(b, n, x, rank, exact) : NULL;
}

GlowValue *glow_build_filled(GlowBuilder *b, const GlowType *type, GlowScalar value) {
  GlowSplatMembers members = {.value = value};
  GlowNode *n = glow_node_create(
      b, &(GlowNodeSpec){.op = GLOW_OP_SPLAT, .members = &members, .types = &type});
  return n ? &n->results[0] : NULL;
}

GlowValue *glow_build_count(GlowBuilder *b, const GlowNode *n, int64_t count, int64_t step) {
  int64_t *values = GLOW_NEW_ARRAY(b->module->arena, int64_t, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++)
    values[i] = i * step;
  return glow_constant_ints(b->module, n, "count", values, (uint32_t)count);
}

GlowValue *glow_build_along(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank,
                            uint32_t axis) {
  GlowDim dims[GLOW_MAX_RANK];
  if (!v)
    return NULL;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = i == axis ? v->type->dims[0] : GLOW_EXACT(1);
  return glow_build_reshape(b, n, v, rank, dims);
}

GlowBlock *glow_build_region(const GlowBuilder *b, const char *label, GlowBuilder *inside) {
  GlowModule *m = b->module;
  GlowBlock *block =
      glow_block_create(m, GLOW_LEVEL_GRAPH, b->block->names, glow_str(m->ctx, label));
  *inside = glow_builder_at_end(block);
  inside->src = b->src;
  inside->origin = b->origin;
  return block;
}
