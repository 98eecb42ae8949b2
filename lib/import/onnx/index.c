/* The index of an ONNX file's weights. Tensors with errors are left out: the importer reports them,
 * and a reference to such a tensor is an error where the reference stands. */
#include "import/onnx/index.h"

#include <string.h>

#include "import/onnx/onnx.h"

typedef struct Index {
  GlowWireFile file;
  GlowBlob *blob;
  const char *path; /* of the model */
  GlowLoc loc;
} Index;

GlowStr glow_onnx_node_label(const GlowWireFile *f, const GlowOnnxNodeProto *node, uint32_t index) {
  GlowStr name = glow_wire_str(f, node->name);
  return *name ? name : glow_str_printf(f->ctx, "%s_%u", glow_wire_str(f, node->op_type), index);
}

GlowStr glow_onnx_subgraph_path(GlowContext *ctx, GlowStr path, GlowStr label, GlowStr attribute) {
  return glow_str_printf(ctx, "%s%s/%s/", path, label, attribute);
}

GlowStr glow_onnx_function_path(GlowContext *ctx, GlowStr domain, GlowStr name) {
  return glow_str_printf(ctx, "function:%s%s%s/", domain, *domain ? "." : "", name);
}

/* glow_onnx_tensor_info without diagnostics. */
static bool quiet_info(Index *ix, GlowWireSpan span, GlowOnnxTensorInfo *info) {
  GlowContext *ctx = ix->file.ctx;
  GlowOnnxTensor t;
  glow_wire_read(&ix->file, &glow_onnx_msg_tensor, span, &t);
  if (!t.raw_data.at && t.data_location.v != 1)
    return false; /* typed fields have no place in a file */
  bool drop = ctx->drop_notes;
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  bool ok = glow_onnx_tensor_info(&ix->file, span, ix->loc, "", info);
  glow_silence_end(&silence);
  ctx->drop_notes = drop;
  return ok;
}

static void add_tensor(Index *ix, GlowWireSpan span, GlowStr path, GlowStr name) {
  GlowOnnxTensorInfo info;
  if (!quiet_info(ix, span, &info) || info.where == GLOW_ONNX_DATA_TYPED)
    return;
  GlowContext *ctx = ix->file.ctx;
  GlowBlobEntry e = {.key = glow_str_printf(ctx, "%s%s", path, name),
                     .kind = info.type->kind,
                     .rank = info.type->rank,
                     .data = info.raw,
                     .bytes = info.bytes};
  for (uint32_t i = 0; i < e.rank; i++)
    e.dims[i] = info.type->dims[i].size;
  if (!glow_kind_info[e.kind].safetensors) { /* kinds that files hold as bytes */
    e.kind = GLOW_KIND_U8;
    e.rank = 1;
    e.dims[0] = (int64_t)info.bytes;
  }
  if (info.where == GLOW_ONNX_DATA_EXTERNAL)
    e.data = glow_onnx_external_data(&ix->file, &info, ix->path, ix->loc,
                                     glow_str_printf(ctx, "tensor '%s'", e.key));
  if (e.data)
    glow_blob_add(ctx, ix->blob, &e);
}

static void add_graph(Index *ix, GlowWireSpan span, GlowStr path);

/* The tensor of a Constant, and the subgraphs of any node. */
static void add_node(Index *ix, GlowWireSpan span, GlowStr path, uint32_t index) {
  const GlowWireFile *f = &ix->file;
  GlowOnnxNodeProto node;
  glow_wire_read(f, &glow_onnx_msg_node, span, &node);
  GlowWireIter i = {0};
  while (glow_wire_each(f, &node.attributes, &i)) {
    GlowOnnxAttribute a;
    glow_wire_read(f, &glow_onnx_msg_attribute, i.span, &a);
    if (a.g.at)
      add_graph(ix, a.g,
                glow_onnx_subgraph_path(f->ctx, path, glow_onnx_node_label(f, &node, index),
                                        glow_wire_str(f, a.name)));
    GlowWireIter out = {0};
    if (a.t.at && glow_wire_is(f, node.op_type, "Constant") && glow_wire_is(f, a.name, "value") &&
        glow_wire_each(f, &node.outputs, &out))
      add_tensor(ix, a.t, path, glow_wire_str(f, out.span));
  }
}

static void add_nodes(Index *ix, const GlowWireList *nodes, GlowStr path) {
  GlowWireIter i = {0};
  while (glow_wire_each(&ix->file, nodes, &i))
    add_node(ix, i.span, path, i.index);
}

static void add_graph(Index *ix, GlowWireSpan span, GlowStr path) {
  GlowOnnxGraph graph;
  glow_wire_read(&ix->file, &glow_onnx_msg_graph, span, &graph);
  GlowWireIter i = {0};
  while (glow_wire_each(&ix->file, &graph.initializers, &i)) {
    GlowOnnxTensor t;
    glow_wire_read(&ix->file, &glow_onnx_msg_tensor, i.span, &t);
    add_tensor(ix, i.span, path, glow_wire_str(&ix->file, t.name));
  }
  add_nodes(ix, &graph.nodes, path);
}

/* The reader of ONNX files that it registers. */
static bool index_file(GlowContext *ctx, GlowBlob *blob, GlowLoc loc) {
  if (!loc.file)
    loc = glow_loc_file(ctx, blob->input.name);
  Index ix = {.blob = blob, .path = blob->input.name, .loc = loc};
  ix.file =
      (GlowWireFile){ctx, blob->input.name, (const uint8_t *)blob->input.data, blob->input.size};
  GlowWireSpan all = {0, blob->input.size};
  if (!glow_wire_check(&ix.file, &glow_onnx_msg_model, all))
    return false;
  GlowOnnxModel model;
  glow_wire_read(&ix.file, &glow_onnx_msg_model, all, &model);
  if (model.graph.at)
    add_graph(&ix, model.graph, glow_str(ctx, ""));
  GlowWireIter i = {0};
  while (glow_wire_each(&ix.file, &model.functions, &i)) {
    GlowOnnxFunction fn;
    glow_wire_read(&ix.file, &glow_onnx_msg_function, i.span, &fn);
    add_nodes(&ix, &fn.nodes,
              glow_onnx_function_path(ctx, glow_wire_str(&ix.file, fn.domain),
                                      glow_wire_str(&ix.file, fn.name)));
  }
  return true;
}

void glow_onnx_register(GlowContext *ctx) { glow_blob_set_onnx_reader(ctx, index_file); }
