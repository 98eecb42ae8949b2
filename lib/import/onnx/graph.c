/* Graphs: scopes of names, constants, and the model's own graph with its inputs and outputs. */
#include <string.h>

#include "import/onnx/importer.h"

GlowValue glow_onnx_failed, glow_onnx_absent;

GlowOnnxScope *glow_onnx_scope(GlowOnnxImporter *im, GlowOnnxScope *outer) {
  GlowOnnxScope *scope = GLOW_NEW(im->arena, GlowOnnxScope);
  if (outer)
    *scope = *outer;
  scope->outer = outer;
  scope->values = glow_map_create(im->arena);
  scope->nodes = NULL;
  if (!outer)
    scope->path = scope->prefix = glow_str(im->ctx, "");
  return scope;
}

GlowValue *glow_onnx_find(const GlowOnnxScope *scope, GlowStr name) {
  for (; scope; scope = scope->outer) {
    GlowValue *v = glow_map_get(scope->values, name);
    if (v)
      return v;
  }
  return NULL;
}

bool glow_onnx_define(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowStr name, GlowValue *v,
                      GlowLoc loc) {
  if (glow_map_get(scope->values, name)) {
    glow_error(im->ctx, loc, "two values are called '%s'", name);
    return false;
  }
  glow_map_set(scope->values, name, v);
  return true;
}

void glow_onnx_nodes(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowWireList *nodes) {
  scope->nodes = nodes;
  GlowWireIter i = {0};
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, nodes, &i))
    glow_onnx_node(im, scope, i.span, i.index);
}

/* ---- Constants ------------------------------------------------------------------------------ */

static bool is_small(const GlowOnnxTensorInfo *info) {
  const GlowKindInfo *kind = &glow_kind_info[info->type->kind];
  if (kind->cls == GLOW_CLASS_STRING || info->bytes <= GLOW_MAX_INLINE_BYTES)
    return true;
  bool integer = glow_kind_is_integer(info->type->kind) || kind->cls == GLOW_CLASS_BOOL;
  return integer && info->bytes <= GLOW_MAX_FOLDED_BYTES;
}

/* A tensor in the module's arena that borrows its bytes. */
static const GlowTensor *borrow(GlowOnnxImporter *im, const GlowOnnxTensorInfo *info) {
  GlowTensor *t = GLOW_NEW(im->m->arena, GlowTensor);
  t->type = info->type;
  t->data = (void *)(uintptr_t)info->raw; /* never written: it is not owned */
  t->bytes = info->bytes;
  return t;
}

/* Decides where the data of a constant are to live: in the text, in the model's file, or in the
 * payload. The payload's key is the storage's name, which is set later. */
static GlowInit choose_init(GlowOnnxImporter *im, const GlowOnnxTensorInfo *info, GlowStr key) {
  if (is_small(info))
    return (GlowInit){.kind = GLOW_INIT_LIST,
                      .tensor = glow_onnx_tensor_in_arena(&im->file, info, im->m->arena)};
  if (info->where == GLOW_ONNX_DATA_RAW) {
    const GlowBlobEntry *entry = im->blob ? glow_blob_find(im->blob, key) : NULL;
    if (entry && entry->data == info->raw)
      return (GlowInit){.kind = GLOW_INIT_RESOURCE,
                        .tensor = borrow(im, info),
                        .file = glow_str(im->ctx, glow_path_base(im->blob->input.name)),
                        .key = key};
  }
  const GlowTensor *t = info->where == GLOW_ONNX_DATA_RAW
                            ? borrow(im, info)
                            : glow_onnx_tensor_in_arena(&im->file, info, im->m->arena);
  return (GlowInit){.kind = GLOW_INIT_PAYLOAD, .tensor = t};
}

/* External data become raw data. */
static bool find_external(GlowOnnxImporter *im, GlowOnnxTensorInfo *info, GlowStr key, GlowLoc loc,
                          const char *what) {
  if (info->where != GLOW_ONNX_DATA_EXTERNAL)
    return true;
  if (!im->blob && !im->folder) {
    glow_error(im->ctx, loc, "%s: a model from a pipe has no folder with external data", what);
    return false;
  }
  const GlowBlobEntry *entry = im->blob ? glow_blob_find(im->blob, key) : NULL;
  const char *path = im->blob ? im->blob->input.name : glow_path_join(im->ctx, im->folder, "model");
  info->raw = entry ? entry->data : glow_onnx_external_data(&im->file, info, path, loc, what);
  info->where = GLOW_ONNX_DATA_RAW;
  return info->raw != NULL;
}

GlowValue *glow_onnx_constant_from(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan tensor,
                                   GlowStr name, GlowLoc loc, const char *what) {
  GlowOnnxTensorInfo info;
  GlowStr key = glow_str_printf(im->ctx, "%s%s", scope->path, name);
  if (!glow_onnx_tensor_info(&im->file, tensor, loc, what, &info) ||
      !find_external(im, &info, key, loc, what))
    return NULL;
  GlowStr unique = glow_str_printf(im->ctx, "%s%s", scope->prefix, name);
  if (glow_map_get(im->outputs, unique)) /* a result that is a constant: the output has the name */
    unique = glow_str_printf(im->ctx, "%s.value", unique);
  GlowStorage *s =
      glow_storage_create(im->m, GLOW_CONSTANT, unique, info.type, choose_init(im, &info, key));
  if (s->init.kind == GLOW_INIT_PAYLOAD)
    s->init.key = s->value.name;
  return &s->value;
}

static void read_initializer(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowWireSpan span) {
  GlowOnnxTensor t;
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  glow_wire_read(&im->file, &glow_onnx_msg_tensor, span, &t);
  GlowStr name = glow_wire_str(&im->file, t.name);
  if (!*name) {
    glow_error(im->ctx, loc, "at byte %zu: an initializer has no name", span.at);
    return;
  }
  GlowValue *v = glow_onnx_constant_from(im, scope, span, name, loc,
                                         glow_str_printf(im->ctx, "initializer '%s'", name));
  glow_onnx_define(im, scope, name, v ? v : &glow_onnx_failed, loc);
}

void glow_onnx_initializers(GlowOnnxImporter *im, GlowOnnxScope *scope,
                            const GlowOnnxGraph *graph) {
  GlowWireIter i = {0};
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, &graph->initializers, &i))
    read_initializer(im, scope, i.span);
  if (graph->sparse_initializers.count)
    glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name),
               "unsupported: %u sparse initializers", graph->sparse_initializers.count);
}

/* ---- The model's graph ---------------------------------------------------------------------- */

typedef struct Port {
  GlowStr name;
  GlowWireSpan type;
} Port;

typedef GLOW_VEC(Port) Ports;

static Ports read_ports(GlowOnnxImporter *im, const GlowWireList *list, const char *what) {
  Ports ports = {0};
  GlowWireIter i = {0};
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, list, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    Port port = {glow_wire_str(&im->file, info.name), info.type};
    if (*port.name)
      glow_vec_push(im->arena, &ports, port);
    else
      glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name), "at byte %zu: %s has no name",
                 i.span.at, what);
  }
  return ports;
}

/* An input that is also an initializer has a default, which it keeps here; the types must agree. */
static void check_default(GlowOnnxImporter *im, const Port *port, const GlowValue *v) {
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  const char *what = glow_str_printf(im->ctx, "input '%s'", port->name);
  const GlowType *declared = port->type.at ? glow_onnx_read_type(im, port->type, loc, what) : NULL;
  if (declared && glow_type_fit(v->type, declared) == GLOW_FIT_CONTRADICTS)
    glow_error(im->ctx, loc, "%s is declared as %s, but its initializer is %s", what,
               glow_type_str(im->ctx, declared), glow_type_str(im->ctx, v->type));
}

/* Takes the inputs that are initializers out of the list; says how many there were. */
static void drop_defaults(GlowOnnxImporter *im, const GlowOnnxScope *scope, Ports *ports) {
  uint32_t kept = 0, dropped = 0;
  GlowStr first = NULL;
  for (uint32_t i = 0; i < ports->count; i++) {
    GlowValue *v = glow_map_get(scope->values, ports->data[i].name);
    if (!v) {
      ports->data[kept++] = ports->data[i];
      continue;
    }
    if (v != &glow_onnx_failed)
      check_default(im, &ports->data[i], v);
    first = first ? first : ports->data[i].name;
    dropped++;
  }
  ports->count = kept;
  if (dropped && !im->quiet)
    glow_note(im->ctx, glow_loc_file(im->ctx, im->file.name),
              "%u input%s with an initializer became constant%s ('%s'%s)", dropped,
              dropped == 1 ? "" : "s", dropped == 1 ? "" : "s", first,
              dropped == 1 ? "" : " the first");
}

static bool is_open(const GlowType *t) {
  return !glow_type_is_tensor(t) || t->unranked || !glow_type_is_static(t);
}

static void make_inputs(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowOnnxOptions *o,
                        const Ports *ports, GlowStorage *before) {
  GlowStr *names = GLOW_NEW_ARRAY(im->arena, GlowStr, ports->count);
  GlowWireSpan *protos = GLOW_NEW_ARRAY(im->arena, GlowWireSpan, ports->count);
  const GlowType **types = GLOW_NEW_ARRAY(im->arena, const GlowType *, ports->count);
  for (uint32_t i = 0; i < ports->count; i++) {
    names[i] = ports->data[i].name;
    protos[i] = ports->data[i].type;
  }
  glow_onnx_input_types(im, o, names, protos, ports->count, types);
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  im->closed_inputs = true;
  for (uint32_t i = 0; i < ports->count; i++) {
    GlowValue *v = &glow_onnx_failed;
    if (types[i]) {
      GlowStorage *s = glow_storage_create(im->m, GLOW_PLACEHOLDER, names[i], types[i],
                                           (GlowInit){.kind = GLOW_INIT_NONE});
      if (before)
        glow_storage_move(s, before);
      v = &s->value;
      im->closed_inputs &= !is_open(types[i]);
    }
    glow_onnx_define(im, scope, names[i], v, loc);
  }
}

/* NULL if the model declares none. */
static const GlowType *declared_type(GlowOnnxImporter *im, const Port *port) {
  return port->type.at ? glow_onnx_read_type(im, port->type, glow_loc_file(im->ctx, im->file.name),
                                             glow_str_printf(im->ctx, "output '%s'", port->name))
                       : NULL;
}

/* Notes the types that the model declares of its results as claims, if no input is open. Otherwise
 * exporters often leave the shapes of another run there, so declared types are only hints and are
 * dropped. */
static void note_claims(GlowOnnxImporter *im, const Ports *outputs) {
  if (!im->closed_inputs)
    return;
  im->claims = glow_map_create(im->arena);
  for (uint32_t i = 0; i < outputs->count; i++) {
    const GlowType *t = declared_type(im, &outputs->data[i]);
    if (t)
      glow_map_set(im->claims, outputs->data[i].name, (void *)(uintptr_t)t);
  }
}

/* An output of a pre-flight report whose value could not be read. */
static void note_lost(GlowOnnxImporter *im, const Port *port) {
  GlowSilence silence; /* a type that cannot be read is one more thing that is missing */
  glow_silence_begin(im->ctx, &silence);
  GlowOnnxLostOutput lost = {port->name, declared_type(im, port)};
  glow_silence_end(&silence);
  glow_vec_push(im->ctx->arena, &im->uses->lost, lost);
}

/* One output: a placeholder and its Save. */
static void make_output(GlowOnnxImporter *im, const GlowOnnxScope *scope, const Port *port,
                        GlowStorage *before) {
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  GlowValue *v = glow_map_get(scope->values, port->name);
  if (!v)
    glow_error(im->ctx, loc, "output '%s' is not computed", port->name);
  if (v == &glow_onnx_failed && im->uses)
    note_lost(im, port);
  if (!v || v == &glow_onnx_failed)
    return;
  GlowStorage *s = glow_storage_create(im->m, GLOW_PLACEHOLDER, port->name, v->type,
                                       (GlowInit){.kind = GLOW_INIT_NONE});
  if (before)
    glow_storage_move(s, before);
  if (s->value.name != port->name && !im->quiet)
    glow_note(im->ctx, loc, "output '%s' is called '%s' here: the name is taken", port->name,
              s->value.name);
  GlowBuilder b = glow_builder_at_end(im->func->body);
  glow_node_create(
      &b, &(GlowNodeSpec){.op = GLOW_OP_SAVE, .ins = (GlowValue *[]){v, &s->value}, .nins = 2});
}

/* Makes all outputs. The value that an output names must be of this graph, and each output may
 * stand once. */
static void make_outputs(GlowOnnxImporter *im, const GlowOnnxScope *scope, const Ports *outputs,
                         GlowStorage *before) {
  GlowMap *seen = glow_map_create(im->arena);
  for (uint32_t i = 0; i < outputs->count && !im->ctx->too_many_errors; i++) {
    const Port *port = &outputs->data[i];
    if (glow_map_get(seen, port->name))
      glow_error(im->ctx, glow_loc_file(im->ctx, im->file.name), "two outputs are called '%s'",
                 port->name);
    else
      make_output(im, scope, port, before);
    glow_map_set(seen, port->name, im);
  }
}

void glow_onnx_main_graph(GlowOnnxImporter *im, const GlowOnnxOptions *o) {
  GlowOnnxGraph graph;
  glow_wire_read(&im->file, &glow_onnx_msg_graph, im->model.graph, &graph);
  GlowOnnxScope *scope = glow_onnx_scope(im, NULL);
  im->scope = scope;
  scope->block = im->func->body;
  scope->region = &im->top;
  scope->opsets =
      glow_onnx_opsets(im, &im->model.opset_import, glow_loc_file(im->ctx, im->file.name));
  if (!scope->opsets)
    return;
  Ports inputs = read_ports(im, &graph.inputs, "an input");
  Ports outputs = read_ports(im, &graph.outputs, "an output");
  for (uint32_t i = 0; i < outputs.count; i++)
    glow_map_set(im->outputs, outputs.data[i].name, im);
  glow_onnx_index_functions(im);
  glow_onnx_survey(im, scope->opsets, &graph.nodes, scope->prefix);
  glow_onnx_initializers(im, scope, &graph);
  GlowStorage *first_constant = im->m->first_storage;
  drop_defaults(im, scope, &inputs);
  make_inputs(im, scope, o, &inputs, first_constant);
  note_claims(im, &outputs);
  glow_onnx_nodes(im, scope, &graph.nodes);
  if (!first_constant) /* nodes may have made constants; inputs and outputs stand before them */
    for (first_constant = im->m->first_storage;
         first_constant && first_constant->cls == GLOW_PLACEHOLDER;)
      first_constant = first_constant->next;
  make_outputs(im, scope, &outputs, first_constant);
  glow_onnx_save_states(im);
}

void glow_onnx_save_states(GlowOnnxImporter *im) {
  GlowBuilder b = glow_builder_at_end(im->func->body);
  for (uint32_t i = 0; i < im->top.states.count; i++) {
    const GlowOnnxState *s = &im->top.states.data[i];
    if (s->next)
      glow_node_create(&b, &(GlowNodeSpec){.op = GLOW_OP_SAVE,
                                           .ins = (GlowValue *[]){s->next, &s->variable->value},
                                           .nins = 2});
  }
}
