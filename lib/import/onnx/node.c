/* Nodes: from a NodeProto to nodes of the module, by the operator's row or by the body of one of
 * the model's functions. */
#include <string.h>

#include "import/onnx/importer.h"

/* ---- Direct rules --------------------------------------------------------------------------- */

static bool set_u32(GlowOnnxNode *n, const char *attr, uint32_t *value) {
  int64_t v = *value;
  if (!glow_onnx_int(n, attr, &v))
    return false;
  if (v < 0 || v > INT32_MAX)
    return glow_onnx_fail(n, "attribute '%s' is %lld", attr, (long long)v);
  *value = (uint32_t)v;
  return true;
}

/* Sets a member from an attribute; an absent one leaves the operator's default. */
static bool set_member(GlowOnnxNode *n, const GlowMember *m, const char *attr, void *at) {
  if (m->required && !glow_onnx_has(n, attr))
    return glow_onnx_fail(n, "attribute '%s' is missing", attr);
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL:
    return glow_onnx_bool(n, attr, at);
  case GLOW_MEMBER_U32:
    return m->array ? glow_onnx_u32s(n, attr, at) : set_u32(n, attr, at);
  case GLOW_MEMBER_I64:
    return m->array ? glow_onnx_ints(n, attr, at) : glow_onnx_int(n, attr, at);
  case GLOW_MEMBER_FLOAT:
    return m->array ? glow_onnx_floats(n, attr, at) : glow_onnx_float(n, attr, at);
  case GLOW_MEMBER_STR:
    return m->array ? glow_onnx_strings(n, attr, at) : glow_onnx_string(n, attr, at);
  case GLOW_MEMBER_KIND:
    return glow_onnx_kind(n, attr, at);
  case GLOW_MEMBER_ENUM:
    return glow_onnx_enum(n, m->enumeration, attr, at);
  default:
    glow_internal_error(n->im->ctx, __FILE__, __LINE__, "a member that no attribute sets");
  }
}

static bool run_direct(GlowOnnxNode *n) {
  const GlowOpDesc *d = &glow_op_desc[n->row->node];
  char *members = glow_arena_alloc(n->im->arena, d->member_size);
  if (d->member_size)
    memcpy(members, d->member_defaults, d->member_size);
  for (uint32_t i = 0; i < n->row->nattrs; i++) {
    const GlowMember *m = glow_op_member(d, n->row->attrs[i].member);
    if (!set_member(n, m, n->row->attrs[i].attr, members + m->offset))
      return false;
  }
  return glow_onnx_finish(n, n->row->node, n->ins, n->nins, d->member_size ? members : NULL, NULL,
                          0);
}

/* ---- Calls of model-local functions --------------------------------------------------------- */

/* The nodes of functions that call another function twice double with each level of calls. An
 * inlined node takes about NODE_COST bytes and some copies of its path. The sum of these may be
 * BASE_COST and four times the size of the file. */
enum { NODE_COST = 1024, BASE_COST = 32 << 20 };

static bool calls_itself(const GlowOnnxNode *n, const GlowOnnxFunction *function) {
  for (const GlowOnnxScope *s = n->scope; s; s = s->call ? s->call->scope : s->outer)
    if (s->function == function)
      return true;
  return false;
}

/* Binds the parameters of the function to the operands of the call. */
static bool bind_parameters(GlowOnnxNode *n, const GlowOnnxFunction *function,
                            GlowOnnxScope *scope) {
  if (n->nins > function->inputs.count)
    return glow_onnx_fail(n, "%u operands where the function has %u", n->nins,
                          function->inputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&n->im->file, &function->inputs, &i)) {
    GlowValue *v = i.index < n->nins && n->ins[i.index] ? n->ins[i.index] : &glow_onnx_absent;
    if (!glow_onnx_define(n->im, scope, glow_wire_str(&n->im->file, i.span), v, n->loc))
      return false;
  }
  return true;
}

static bool take_results(GlowOnnxNode *n, const GlowOnnxFunction *function,
                         const GlowOnnxScope *scope, uint32_t first_id) {
  if (n->nouts > function->outputs.count)
    return glow_onnx_fail(n, "%u results where the function has %u", n->nouts,
                          function->outputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&n->im->file, &function->outputs, &i)) {
    if (i.index >= n->nouts || !n->outs[i.index])
      continue;
    GlowStr name = glow_wire_str(&n->im->file, i.span);
    GlowValue *v = glow_onnx_find(scope, name);
    if (!v || v == &glow_onnx_absent)
      return glow_onnx_fail(n, "the function does not compute its result '%s'", name);
    n->results[i.index] = v;
    if (v != &glow_onnx_failed && v->kind == GLOW_VALUE_RESULT && v->id >= first_id)
      glow_value_set_name(v, n->outs[i.index]); /* a value that the body made */
  }
  return true;
}

/* Reads the function's body in place of the call. */
static bool run_call(GlowOnnxNode *n, const GlowOnnxFunction *function) {
  GlowOnnxImporter *im = n->im;
  if (calls_itself(n, function))
    return glow_onnx_fail(n, "the function calls itself");
  if (n->scope->calls == GLOW_MAX_PROTO_CALLS)
    return glow_onnx_fail(n, "functions are nested more than %d deep", GLOW_MAX_PROTO_CALLS);
  size_t cost = NODE_COST + 4 * glow_str_length(n->label);
  im->inlined_cost += cost * function->nodes.count;
  if (im->inlined_cost > BASE_COST + 4 * im->file.size)
    return glow_onnx_fail(n, "the model's functions are too large when they are inlined");
  GlowOnnxScope *scope = glow_onnx_scope(im, NULL);
  scope->block = n->scope->block;
  scope->region = n->scope->region;
  scope->regions = n->scope->regions;
  scope->calls = n->scope->calls + 1;
  scope->call = n;
  scope->function = function;
  scope->prefix = glow_str_printf(im->ctx, "%s/", n->label);
  scope->path = glow_onnx_function_path(im->ctx, glow_wire_str(&im->file, function->domain),
                                        glow_wire_str(&im->file, function->name));
  scope->opsets = glow_onnx_opsets(im, &function->opset_import, n->loc);
  if (!scope->opsets || !bind_parameters(n, function, scope))
    return false;
  uint32_t first_id = im->m->next_id;
  glow_onnx_nodes(im, scope, &function->nodes);
  for (uint32_t i = 0; i < n->nattrs; i++)
    n->attrs[i].used = true;
  return take_results(n, function, scope, first_id);
}

/* ---- Reading a node ------------------------------------------------------------------------- */

/* An attribute that refers to one of the function's own: what the call gives, or the default. */
static bool resolve_reference(const GlowOnnxImporter *im, const GlowOnnxScope *scope, GlowStr ref,
                              GlowOnnxAttr *attr) {
  while (scope->outer)
    scope = scope->outer;
  if (!scope->call)
    return false;
  for (uint32_t i = 0; i < scope->call->nattrs; i++) {
    const GlowOnnxAttr *given = &scope->call->attrs[i];
    if (strcmp(given->name, ref) == 0) {
      attr->span = given->span;
      attr->scope = given->scope;
      attr->path = given->path;
      return true;
    }
  }
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &scope->function->attribute_defaults, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(&im->file, &glow_onnx_msg_attribute, i.span, &a);
    if (glow_wire_is(&im->file, a.name, ref)) {
      attr->span = i.span;
      return true;
    }
  }
  return false;
}

static bool read_attributes(GlowOnnxNode *n, GlowStr local_label) {
  GlowOnnxImporter *im = n->im;
  if (n->proto.attributes.count > GLOW_MAX_PROTO_ATTRIBUTES)
    return glow_onnx_fail(n, "%u attributes", n->proto.attributes.count);
  n->attrs = GLOW_NEW_ARRAY(im->arena, GlowOnnxAttr, n->proto.attributes.count);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &n->proto.attributes, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(&im->file, &glow_onnx_msg_attribute, i.span, &a);
    GlowOnnxAttr attr = {.name = glow_wire_str(&im->file, a.name), .span = i.span};
    if (!*attr.name)
      return glow_onnx_fail(n, "an attribute has no name");
    if (glow_onnx_find_attr(n, attr.name))
      return glow_onnx_fail(n, "two attributes are called '%s'", attr.name);
    attr.scope = n->scope;
    if (a.g.at)
      attr.path = glow_onnx_subgraph_path(im->ctx, n->scope->path, local_label, attr.name);
    if (a.ref_name.at && a.ref_name.size &&
        !resolve_reference(im, n->scope, glow_wire_str(&im->file, a.ref_name), &attr))
      continue; /* neither given nor with a default: absent */
    n->attrs[n->nattrs++] = attr;
  }
  return true;
}

/* The node of the scope or an outer one that computes `name`, for a message; NULL if none does. */
static GlowStr producer_of(const GlowOnnxNode *n, GlowStr name) {
  const GlowWireFile *f = &n->im->file;
  for (const GlowOnnxScope *s = n->scope; s; s = s->outer) {
    GlowWireIter i = {0};
    while (s->nodes && glow_wire_each(f, s->nodes, &i)) {
      GlowOnnxNodeProto node;
      glow_wire_read(f, &glow_onnx_msg_node, i.span, &node);
      GlowWireIter out = {0};
      while (glow_wire_each(f, &node.outputs, &out))
        if (glow_wire_is(f, out.span, name))
          return glow_onnx_node_label(f, &node, i.index);
    }
  }
  return NULL;
}

static void report_undefined(GlowOnnxNode *n, uint32_t index, GlowStr name) {
  GlowStr producer = producer_of(n, name);
  if (producer)
    glow_onnx_fail(n,
                   "operand %u, '%s', is computed only later, by node '%s': nodes must be sorted, "
                   "without cycles",
                   index, name, producer);
  else
    glow_onnx_fail(n, "operand %u, '%s', is not defined", index, name);
}

/* Looks up the operands. Returns false if one of them failed or is not defined. */
static bool read_operands(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  n->ins = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, n->proto.inputs.count);
  bool ok = true;
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.inputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    GlowValue *v = glow_onnx_find(n->scope, name);
    if (!v)
      report_undefined(n, i.index, name);
    ok &= v && v != &glow_onnx_failed;
    if (v == &glow_onnx_absent)
      continue;
    n->ins[i.index] = v;
    n->nins = i.index + 1;
  }
  return ok;
}

static bool read_results(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  n->outs = GLOW_NEW_ARRAY(n->im->arena, GlowStr, n->proto.outputs.count);
  n->results = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, n->proto.outputs.count);
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.outputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    n->outs[i.index] =
        *n->scope->prefix ? glow_str_printf(n->im->ctx, "%s%s", n->scope->prefix, name) : name;
    if (glow_str_length(n->outs[i.index]) > GLOW_MAX_NAME)
      return glow_onnx_fail(n, "the path of result %u is too long", i.index);
    n->nouts = i.index + 1;
  }
  return true;
}

/* Gives a result the type that the model declares, if it is narrower than the inferred one: see
 * note_claims in graph.c. */
static void apply_claim(GlowOnnxNode *n, GlowStr name, GlowValue *v) {
  const GlowType *claim = n->im->claims && !n->scope->outer && !n->scope->call
                              ? glow_map_get(n->im->claims, name)
                              : NULL;
  if (!claim || v->kind != GLOW_VALUE_RESULT)
    return;
  GlowFit fit = glow_type_fit(claim, v->type);
  if (fit == GLOW_FIT_NARROWER)
    v->type = claim;
  else if (fit == GLOW_FIT_CONTRADICTS)
    glow_warning(n->im->ctx, n->loc, "result '%s' is declared as %s, but it is %s", name,
                 glow_type_str(n->im->ctx, claim), glow_type_str(n->im->ctx, v->type));
}

/* Enters the results into the scope. Results that the rule did not make count as failed. */
static void define_results(GlowOnnxNode *n) {
  const GlowWireFile *f = &n->im->file;
  GlowWireIter i = {0};
  while (glow_wire_each(f, &n->proto.outputs, &i)) {
    if (i.span.size == 0)
      continue;
    GlowStr name = glow_wire_str(f, i.span);
    GlowValue *v = n->results[i.index] ? n->results[i.index] : &glow_onnx_failed;
    if (v != &glow_onnx_failed)
      apply_claim(n, name, v);
    glow_onnx_define(n->im, n->scope, name, v, n->loc);
  }
}

/* What the rule left over: results and attributes that it does not know. */
static bool check_leftovers(GlowOnnxNode *n) {
  glow_onnx_ignore(n, "consumed_inputs"); /* a hint of operator set 1 */
  for (uint32_t i = 0; i < n->nattrs; i++)
    if (!n->attrs[i].used)
      return glow_onnx_unsupported(n, "attribute '%s'", n->attrs[i].name);
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->outs[i] && !n->results[i])
      return glow_onnx_unsupported(n, "result number %u", i);
  return true;
}

static bool run_rule(GlowOnnxNode *n, GlowStr local_label) {
  GlowStr overload = glow_wire_str(&n->im->file, n->proto.overload), why;
  const GlowOnnxFunction *function = glow_onnx_local_function(n->im, n->domain, n->op, overload);
  if (!function) {
    n->row = glow_onnx_row(n->im, n->scope->opsets, n->domain, n->op, &n->version, &why);
    if (!n->row || n->row->rule == GLOW_ONNX_UNSUPPORTED)
      return false; /* the survey has it */
  }
  if (!read_attributes(n, local_label))
    return false;
  if (function)
    return run_call(n, function);
  return (n->row->rule == GLOW_ONNX_HOOK ? n->row->hook(n) : run_direct(n)) && check_leftovers(n);
}

void glow_onnx_node(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan span, uint32_t index) {
  GlowOnnxNode *n = GLOW_NEW(im->arena, GlowOnnxNode);
  n->im = im;
  n->scope = scope;
  glow_wire_read(&im->file, &glow_onnx_msg_node, span, &n->proto);
  n->op = glow_wire_str(&im->file, n->proto.op_type);
  n->domain = glow_onnx_domain(im, n->proto.domain);
  GlowStr local_label = glow_onnx_node_label(&im->file, &n->proto, index);
  n->label = glow_str_printf(im->ctx, "%s%s", scope->prefix, local_label);
  n->loc = (GlowLoc){.file = im->file.name, .node = n->label};
  n->b = glow_builder_at_end(scope->block);
  n->b.src = n->loc;
  n->b.origin = GLOW_NEW(im->m->arena, GlowOrigin);
  n->b.origin->file = glow_str(im->ctx, glow_path_base(im->file.name));
  n->b.origin->name = n->label;
  if (glow_str_length(n->label) > GLOW_MAX_NAME) {
    glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name), "the path of a node is too long");
    return;
  }
  if (n->proto.inputs.count > GLOW_MAX_PROTO_OPERANDS ||
      n->proto.outputs.count > GLOW_MAX_PROTO_OPERANDS) {
    glow_onnx_fail(n, "more than %d operands or results", GLOW_MAX_PROTO_OPERANDS);
    return;
  }
  bool ok = read_operands(n);
  ok &= read_results(n);
  if (!*n->op)
    ok = glow_onnx_fail(n, "node %u has no operator", index);
  const GlowNode *last = scope->block->last;
  if (ok && run_rule(n, local_label))
    glow_onnx_note_built(n, last);
  else
    memset(n->results, 0, n->proto.outputs.count * sizeof *n->results);
  define_results(n);
}
