/* Subgraphs become regions.
 *
 * The scope of a region lies inside the scope of its node, so that the region captures outer values
 * by name. The types of its parameters come from the operands where the operator fixes them. Types
 * of values that a loop carries, whose shape may change, come from the subgraph. */
#include "import/onnx/subgraph.h"

bool glow_onnx_open_region(GlowOnnxNode *n, const char *name, const char *label,
                           GlowOnnxRegionKind kind, unsigned extra, GlowOnnxSubgraph *r) {
  GlowOnnxImporter *im = n->im;
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, name, GLOW_ONNX_ATTR_GRAPH, &a, &attr))
    return false;
  if (!attr || !a.g.at)
    return glow_onnx_fail(n, "attribute '%s' is missing", name);
  if (n->scope->regions + extra >= GLOW_MAX_REGION_DEPTH)
    return glow_onnx_fail(n, "subgraphs are nested more than %d deep", GLOW_MAX_REGION_DEPTH);
  glow_wire_read(&im->file, &glow_onnx_msg_graph, a.g, &r->graph);
  r->r = GLOW_NEW(im->arena, GlowOnnxRegion);
  r->r->outer = n->scope->region;
  r->r->kind = kind;
  r->r->block =
      glow_block_create(im->m, GLOW_LEVEL_GRAPH, im->func->body->names, glow_str(im->ctx, label));
  r->scope = glow_onnx_scope(im, attr->scope);
  r->scope->block = r->r->block;
  r->scope->region = r->r;
  r->scope->regions = n->scope->regions + 1 + extra;
  r->scope->path = attr->path ? attr->path : glow_str(im->ctx, "");
  r->saved = n->b;
  n->b.block = r->r->block;
  n->b.before = NULL;
  return true;
}

bool glow_onnx_leave_region(GlowOnnxNode *n, const GlowOnnxSubgraph *r) {
  n->b = r->saved;
  return false;
}

/* The type of a parameter: what is declared, narrowed by what is `known` of it. */
static const GlowType *parameter_type(GlowOnnxNode *n, GlowWireSpan declared, const GlowType *known,
                                      const char *what) {
  const GlowType *t = declared.at ? glow_onnx_read_type(n->im, declared, n->loc, what) : known;
  if (!t || t == known || !known)
    return t;
  const GlowType *both = glow_type_meet(n->im->ctx, t, known);
  if (!both)
    glow_onnx_fail(n, "%s is declared as %s, but it is %s", what, glow_type_str(n->im->ctx, t),
                   glow_type_str(n->im->ctx, known));
  return both;
}

/* t with every extent open, for a carried value whose type is not declared. */
static const GlowType *loosened(GlowContext *ctx, const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked)
    return t;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = GLOW_UNKNOWN;
  return glow_type_with_dims(ctx, t, t->rank, dims);
}

bool glow_onnx_add_parameters(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t count,
                              const GlowType *const *known, const GlowType *const *carried) {
  GlowOnnxImporter *im = n->im;
  if (r->graph.inputs.count != count)
    return glow_onnx_fail(n, "the subgraph has %u inputs, expected %u", r->graph.inputs.count,
                          count);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &r->graph.inputs, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    GlowStr name = glow_wire_str(&im->file, info.name);
    const char *what = glow_str_printf(im->ctx, "the subgraph's input '%s'", name);
    if (!*name)
      return glow_onnx_fail(n, "an input of the subgraph has no name");
    const GlowType *t = NULL;
    bool scalar = known && known[i.index] && glow_type_is_tensor(known[i.index]) &&
                  !known[i.index]->unranked && known[i.index]->rank == 0;
    const GlowType *declared =
        scalar && info.type.at ? glow_onnx_read_type(im, info.type, n->loc, what) : NULL;
    bool vector = declared && glow_type_is_tensor(declared) && !declared->unranked &&
                  declared->rank == 1 && declared->kind == known[i.index]->kind;
    if (vector)
      t = known[i.index];
    else if (known && known[i.index])
      t = parameter_type(n, info.type, known[i.index], what);
    else
      t = parameter_type(n, info.type, NULL, what);
    if (!t && !info.type.at && carried && carried[i.index])
      t = loosened(im->ctx, carried[i.index]);
    if (!t)
      return info.type.at ? false : glow_onnx_fail(n, "%s has no type", what);
    GlowValue *v = glow_block_add_param(
        r->r->block, glow_str_printf(im->ctx, "%s%s", r->scope->prefix, name), t);
    if (vector)
      v = glow_onnx_emit2(n, GLOW_OP_RESHAPE, v, glow_onnx_make_ints(n, "shape", (int64_t[]){1}, 1),
                          NULL);
    if (!v || !glow_onnx_define(im, r->scope, name, v, n->loc))
      return false;
  }
  return true;
}

/* v as an optional if parameter `param` is one. A loop may start with an optional, and go on with a
 * plain value of the type that the optional holds. */
static GlowValue *wrapped(GlowOnnxNode *n, const GlowBlock *block, uint32_t param, GlowValue *v) {
  bool wrap = v && param < block->nparams && block->params[param]->type->cls == GLOW_TYPE_OPT &&
              v->type->cls != GLOW_TYPE_OPT;
  return wrap ? glow_onnx_emit1(n, GLOW_OP_OPTIONAL, v, NULL) : v;
}

bool glow_onnx_close_region(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t count, bool loop) {
  GlowOnnxImporter *im = n->im;
  if (r->graph.outputs.count != count)
    return glow_onnx_fail(n, "the subgraph has %u outputs, expected %u", r->graph.outputs.count,
                          count);
  glow_onnx_initializers(im, r->scope, &r->graph);
  glow_onnx_nodes(im, r->scope, &r->graph.nodes);
  GlowValue **yields = r->yields = GLOW_NEW_ARRAY(im->arena, GlowValue *, count);
  r->nyields = count;
  r->wrapped = GLOW_NEW_ARRAY(im->arena, bool, count);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &r->graph.outputs, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    GlowStr name = glow_wire_str(&im->file, info.name);
    GlowValue *v = glow_onnx_find(r->scope, name);
    if (!v || v == &glow_onnx_absent)
      return glow_onnx_fail(n, "the subgraph's output '%s' is not computed", name);
    if (v == &glow_onnx_failed)
      return false;
    yields[i.index] = !loop          ? v
                      : i.index == 0 ? glow_onnx_rank0(n, v)
                                     : wrapped(n, r->r->block, i.index + 1, v);
    r->wrapped[i.index] = loop && i.index > 0 && yields[i.index] != v;
    if (!yields[i.index])
      return false;
  }
  n->b = r->saved;
  return true;
}

void glow_onnx_end_region(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t at) {
  uint32_t nstates = r->r->states.count, count = r->nyields + nstates;
  GlowValue **all = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count);
  for (uint32_t i = 0; i < r->nyields; i++)
    all[i < at ? i : i + nstates] = r->yields[i];
  for (uint32_t i = 0; i < nstates; i++)
    all[at + i] = r->r->states.data[i].next;
  glow_build_terminator(r->r->block, GLOW_OP_YIELD, all, count);
}
