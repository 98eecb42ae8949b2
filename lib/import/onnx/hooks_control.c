/* Control flow, sequences, optionals, strings.
 *
 * A subgraph becomes a region in a scope inside the one of its node, so that it captures outer
 * values by name. Types of its parameters come from the operands where the operator fixes them, and
 * from the subgraph's own declarations for what a loop carries, whose shape may change. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* ---- Regions -------------------------------------------------------------------------------- */

typedef struct Region {
  GlowOnnxRegion *r;
  GlowOnnxGraph graph;
  GlowOnnxScope *scope;
  GlowBuilder saved; /* n's own builder while the region's is in use */
  GlowValue **yields;
  uint32_t nyields;
  bool *wrapped; /* of a loop: outputs that were made optionals */
} Region;

/* Opens the region for the graph in attribute `name`, `extra` levels deeper than n itself. From
 * here to close_region or leave_region what n builds goes into the region. */
static bool open_region(GlowOnnxNode *n, const char *name, const char *label,
                        GlowOnnxRegionKind kind, unsigned extra, Region *r) {
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

static bool leave_region(GlowOnnxNode *n, const Region *r) {
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

/* t with every extent open: what is known of a carried value whose type is not declared. */
static const GlowType *loosened(GlowContext *ctx, const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked)
    return t;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; ++i)
    dims[i] = GLOW_UNKNOWN;
  return glow_type_with_dims(ctx, t, t->rank, dims);
}

/* Adds the subgraph's inputs as parameters. known[i]: see parameter_type; carried[i]: the type of
 * the initial value instead, if nothing is declared. Both may be NULL. Where `known` is rank 0, the
 * parameter is, and a declaration of one element becomes a Reshape. */
static bool add_parameters(GlowOnnxNode *n, Region *r, uint32_t count, const GlowType *const *known,
                           const GlowType *const *carried) {
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

/* v as an optional, if the parameter that it goes to is one: a loop may start with an optional and
 * go on with what one holds. */
static GlowValue *wrapped(GlowOnnxNode *n, const GlowBlock *block, uint32_t param, GlowValue *v) {
  bool wrap = v && param < block->nparams && block->params[param]->type->cls == GLOW_TYPE_OPT &&
              v->type->cls != GLOW_TYPE_OPT;
  return wrap ? glow_onnx_emit1(n, GLOW_OP_OPTIONAL, v, NULL) : v;
}

/* Reads the subgraph's nodes and finds its outputs, which end_region is to yield. Of a loop, the
 * first output is made rank 0 and output i goes to parameter i + 1. */
static bool close_region(GlowOnnxNode *n, Region *r, uint32_t count, bool loop) {
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

/* Ends the region: it yields its outputs with the random states before output `at`. */
static void end_region(GlowOnnxNode *n, Region *r, uint32_t at) {
  uint32_t nstates = r->r->states.count, count = r->nyields + nstates;
  GlowValue **all = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count);
  for (uint32_t i = 0; i < r->nyields; ++i)
    all[i < at ? i : i + nstates] = r->yields[i];
  for (uint32_t i = 0; i < nstates; ++i)
    all[at + i] = r->r->states.data[i].next;
  glow_build_terminator(r->r->block, GLOW_OP_YIELD, all, count);
}

/* ---- If, Loop ------------------------------------------------------------------------------- */

static bool branch(GlowOnnxNode *n, const char *attr, const char *label, Region *r) {
  if (!open_region(n, attr, label, GLOW_ONNX_REGION_BRANCH, 0, r))
    return false;
  return (add_parameters(n, r, 0, NULL, NULL) &&
          close_region(n, r, n->proto.outputs.count, false)) ||
         leave_region(n, r);
}

/* Random states that `from` changes pass through `to` unchanged. */
static void share_states(GlowOnnxNode *n, const GlowOnnxRegion *from, GlowOnnxRegion *to) {
  for (uint32_t i = 0; i < from->states.count; ++i) {
    GlowOnnxState s = from->states.data[i];
    s.next = s.outer;
    if (!glow_onnx_region_state(to, s.variable))
      glow_vec_push(n->im->arena, &to->states, s);
  }
}

bool glow_onnx_if(GlowOnnxNode *n) {
  Region then_region, else_region;
  uint32_t count = n->proto.outputs.count;
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  bool then_ok = branch(n, "then_branch", "then", &then_region);
  bool else_ok = branch(n, "else_branch", "else", &else_region);
  if (!then_ok || !else_ok)
    return false;
  /* Each variable belongs to one node, so the branches have none in common: then's come first. */
  GlowOnnxRegion mine = *else_region.r;
  else_region.r->states.data = NULL;
  else_region.r->states.count = else_region.r->states.capacity = 0;
  share_states(n, then_region.r, else_region.r);
  for (uint32_t i = 0; i < mine.states.count; ++i)
    glow_vec_push(n->im->arena, &else_region.r->states, mine.states.data[i]);
  share_states(n, &mine, then_region.r);
  end_region(n, &then_region, count);
  end_region(n, &else_region, count);
  return glow_onnx_finish_regions(n, GLOW_OP_IF, n->ins, 1, NULL,
                                  (GlowBlock *[]){then_region.r->block, else_region.r->block}, 2,
                                  count, then_region.r);
}

/* Checks that carried operands are there; returns how many there are. */
static bool count_carried(GlowOnnxNode *n, uint32_t first, uint32_t *count) {
  *count = n->nins > first ? n->nins - first : 0;
  for (uint32_t i = first; i < n->nins; ++i)
    if (!n->ins[i])
      return glow_onnx_fail(n, "operand %u is missing", i);
  return true;
}

/* Carried values that close_region made optionals: what the last one holds is n's result. */
static bool unwrap_results(GlowOnnxNode *n, const Region *r, uint32_t carried) {
  for (uint32_t i = 0; i < carried && i < n->nouts; ++i) {
    if (!n->outs[i] || !r->wrapped[i + 1])
      continue;
    GlowValue *opt = n->results[i];
    glow_value_set_name(opt, glow_onnx_part_name(n, "optional"));
    if (!glow_onnx_result(n, i, GLOW_OP_OPTIONAL_GET_ELEMENT, &opt, 1, NULL))
      return false;
  }
  return true;
}

bool glow_onnx_loop(GlowOnnxNode *n) {
  GlowContext *ctx = n->im->ctx;
  uint32_t carried;
  if (!count_carried(n, 2, &carried))
    return false;
  const GlowType **known = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, carried + 2);
  const GlowType **initial = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, carried + 2);
  known[0] = glow_type_scalar(ctx, GLOW_KIND_I64);
  known[1] = glow_type_scalar(ctx, GLOW_KIND_BOOL);
  for (uint32_t i = 0; i < carried; ++i)
    initial[i + 2] = n->ins[i + 2]->type;
  Region r;
  if (!open_region(n, "body", "body", GLOW_ONNX_REGION_LOOP, 0, &r))
    return false;
  if (!add_parameters(n, &r, carried + 2, known, initial) ||
      !close_region(n, &r, n->proto.outputs.count + 1, true))
    return leave_region(n, &r);
  if (carried > n->proto.outputs.count)
    return glow_onnx_fail(n, "%u results for %u carried values", n->proto.outputs.count, carried);
  end_region(n, &r, carried + 1);
  uint32_t nins = 2 + carried, nstates = r.r->states.count;
  GlowValue **ins = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nins + nstates);
  for (uint32_t i = 0; i < nins && i < n->nins; ++i)
    ins[i] = n->ins[i];
  for (uint32_t i = 0; i < nstates; ++i)
    ins[nins + i] = r.r->states.data[i].outer;
  return glow_onnx_finish_regions(n, GLOW_OP_LOOP, ins, nins + nstates, NULL, &r.r->block, 1,
                                  carried, r.r) &&
         unwrap_results(n, &r, carried);
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* t without one axis; NULL if it has none such. */
static const GlowType *slice_type(GlowOnnxNode *n, const GlowType *t, int64_t axis) {
  if (!glow_type_is_tensor(t)) {
    glow_onnx_fail(n, "an operand that is scanned is %s", glow_type_str(n->im->ctx, t));
    return NULL;
  }
  if (t->unranked)
    return t;
  axis += axis < 0 ? t->rank : 0;
  if (axis < 0 || axis >= t->rank) {
    glow_onnx_fail(n, "axis %lld is out of range for rank %u", (long long)axis, t->rank);
    return NULL;
  }
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < t->rank; ++i)
    if (i != axis)
      dims[rank++] = t->dims[i];
  return glow_type_with_dims(n->im->ctx, t, rank, dims);
}

/* Directions: 0 forward, 1 backward. */
static bool read_directions(GlowOnnxNode *n, const char *name, GlowArray *out) {
  GlowArray ints = {0};
  if (!glow_onnx_ints(n, name, &ints))
    return false;
  bool *data = GLOW_NEW_ARRAY(n->im->m->arena, bool, ints.count);
  for (uint32_t i = 0; i < ints.count; ++i)
    data[i] = glow_array_at(ints, int64_t, i) != 0;
  *out = (GlowArray){ints.count, data};
  return true;
}

static bool read_num_scan(GlowOnnxNode *n, uint32_t nins, uint32_t *num) {
  int64_t v = 0;
  if (!glow_onnx_int(n, "num_scan_inputs", &v))
    return false;
  if (v < 1 || v > nins)
    return glow_onnx_fail(n, "attribute 'num_scan_inputs' is %lld for %u operands", (long long)v,
                          nins);
  *num = (uint32_t)v;
  return true;
}

/* Builds the body region of a Scan over operands of the types `types`. */
static bool scan_body(GlowOnnxNode *n, const GlowType *const *types, uint32_t nins,
                      const GlowScanMembers *m, unsigned extra, uint32_t nouts, GlowBlock **block) {
  const GlowType **known = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, nins);
  uint32_t states = nins - m->num_scan;
  for (uint32_t i = 0; i < nins; ++i) {
    uint32_t k = i - states;
    int64_t axis = i >= states && k < m->in_axes.count ? glow_array_at(m->in_axes, int64_t, k) : 0;
    known[i] = i < states ? types[i] : slice_type(n, types[i], axis);
    if (!known[i])
      return false;
  }
  Region r;
  if (!open_region(n, "body", "body", GLOW_ONNX_REGION_SCAN, extra, &r))
    return false;
  if (!add_parameters(n, &r, nins, known, NULL) || !close_region(n, &r, nouts, false))
    return leave_region(n, &r);
  end_region(n, &r, nouts);
  *block = r.r->block;
  return true;
}

static const GlowType **types_of(GlowOnnxNode *n, GlowValue *const *values, uint32_t count) {
  const GlowType **types = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, count);
  for (uint32_t i = 0; i < count; ++i)
    types[i] = values[i]->type;
  return types;
}

bool glow_onnx_scan(GlowOnnxNode *n) {
  GlowScanMembers m = {0};
  uint32_t count;
  if (!count_carried(n, 0, &count) || !read_num_scan(n, count, &m.num_scan) ||
      !glow_onnx_ints(n, "scan_input_axes", &m.in_axes) ||
      !glow_onnx_ints(n, "scan_output_axes", &m.out_axes) ||
      !read_directions(n, "scan_input_directions", &m.in_reverse) ||
      !read_directions(n, "scan_output_directions", &m.out_reverse))
    return false;
  GlowBlock *body;
  return scan_body(n, types_of(n, n->ins, count), count, &m, 0, n->proto.outputs.count, &body) &&
         glow_onnx_finish(n, GLOW_OP_SCAN, n->ins, count, &m, &body, 1);
}

/* The inner Scan of one example, inside the region of the batch; ends that region. */
static bool scan_example(GlowOnnxNode *n, GlowBlock *batch, GlowValue *const *ins, uint32_t count,
                         const GlowScanMembers *m) {
  GlowBlock *body;
  uint32_t nouts = n->proto.outputs.count;
  if (!scan_body(n, types_of(n, ins, count), count, m, 1, nouts, &body))
    return false;
  GlowNode *inner = glow_node_create(&n->b, &(GlowNodeSpec){.op = GLOW_OP_SCAN,
                                                            .ins = ins,
                                                            .nins = count,
                                                            .members = m,
                                                            .regions = &body,
                                                            .nregions = 1,
                                                            .nresults = nouts});
  if (!inner)
    return false;
  GlowValue **yields = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nouts);
  for (uint32_t i = 0; i < nouts; ++i)
    yields[i] = &inner->results[i];
  glow_build_terminator(batch, GLOW_OP_YIELD, yields, nouts);
  return true;
}

/* Scan of operator set 8 has a batch axis in front of everything: a Scan over the batch, whose body
 * is the Scan of one example. */
bool glow_onnx_scan_batch(GlowOnnxNode *n) {
  GlowScanMembers m = {0};
  uint32_t count;
  if (n->nins && n->ins[0])
    return glow_onnx_unsupported(n, "lengths of sequences (operand 0)");
  if (!count_carried(n, 1, &count) || !read_num_scan(n, count, &m.num_scan) ||
      !read_directions(n, "directions", &m.in_reverse))
    return false;
  GlowValue **params = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count);
  GlowBlock *batch = glow_block_create(n->im->m, GLOW_LEVEL_GRAPH, n->im->func->body->names,
                                       glow_str(n->im->ctx, "body"));
  for (uint32_t i = 0; i < count; ++i) {
    const GlowType *t = slice_type(n, n->ins[i + 1]->type, 0);
    if (!t)
      return false;
    params[i] = glow_block_add_param(batch, NULL, t);
  }
  GlowBuilder saved = n->b;
  n->b.block = batch;
  n->b.before = NULL;
  bool ok = scan_example(n, batch, params, count, &m);
  n->b = saved;
  GlowScanMembers outer = {.num_scan = count};
  return ok && glow_onnx_finish(n, GLOW_OP_SCAN, n->ins + 1, count, &outer, &batch, 1);
}

/* ---- Sequences, optionals, strings ---------------------------------------------------------- */

bool glow_onnx_sequence_empty(GlowOnnxNode *n) {
  GlowKind kind = GLOW_KIND_FLOAT;
  if (!glow_onnx_kind(n, "dtype", &kind))
    return false;
  GlowSequenceEmptyMembers m = {.elem = glow_type_unranked(n->im->ctx, kind)};
  return glow_onnx_finish(n, GLOW_OP_SEQUENCE_EMPTY, NULL, 0, &m, NULL, 0);
}

bool glow_onnx_optional(GlowOnnxNode *n) {
  GlowOptionalMembers m = {0};
  GlowOnnxAttribute a;
  GlowOnnxAttr *attr;
  if (!glow_onnx_attribute(n, "type", GLOW_ONNX_ATTR_TYPE, &a, &attr))
    return false;
  if (attr) {
    m.elem = glow_onnx_read_type(n->im, a.tp, n->loc, "attribute 'type'");
    if (!m.elem)
      return false;
  }
  if (!attr && n->nins == 0)
    return glow_onnx_fail(n, "neither an operand nor a type");
  return glow_onnx_finish(n, GLOW_OP_OPTIONAL, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_optional_has_element(GlowOnnxNode *n) {
  if (n->nins)
    return glow_onnx_finish(n, GLOW_OP_OPTIONAL_HAS_ELEMENT, n->ins, n->nins, NULL, NULL, 0);
  if (n->nouts != 1)
    return glow_onnx_fail(n, "%u results where there is 1", n->nouts);
  n->results[0] = glow_onnx_make_scalar(n, "absent", GLOW_KIND_BOOL, 0);
  return true;
}

bool glow_onnx_string_normalizer(GlowOnnxNode *n) {
  GlowStringNormalizerMembers m = {.action = GLOW_CASE_ACTION_NONE};
  GlowStr locale = NULL;
  if (!glow_onnx_check_ins(n, 1, 1) ||
      !glow_onnx_enum(n, &glow_enum_case_action, "case_change_action", &m.action) ||
      !glow_onnx_bool(n, "is_case_sensitive", &m.case_sensitive) ||
      !glow_onnx_strings(n, "stopwords", &m.stopwords) || !glow_onnx_string(n, "locale", &locale))
    return false;
  if (locale && *locale && strncmp(locale, "en_US", 5) != 0 && strcmp(locale, "C") != 0)
    return glow_onnx_unsupported(n, "locale '%s'", locale);
  return glow_onnx_finish1(n, GLOW_OP_STRING_NORMALIZER, n->ins[0], &m);
}
