/* The importer's entry: from the bytes of a model to a module with one func.
 *
 * The bytes are checked as protocol buffers first, so that everything after can read without
 * looking for damage. Then the survey lists what no row reads, and the graph is read node by
 * node; whatever fails is reported, and reading goes on with the next node. */
#include <string.h>

#include "import/onnx/importer.h"

bool glow_onnx_is_model(const char *data, size_t size) {
  /* ir_version, the first field that writers emit, or a few others they could begin with. A text
   * never begins with these bytes, which are control characters or stand before one. */
  const unsigned char *b = (const unsigned char *)data;
  if (size < 2)
    return false;
  if (b[0] == 0x08)
    return b[1] < 0x80; /* ir_version */
  bool length_field = b[0] == 0x12 || b[0] == 0x1a || b[0] == 0x3a || b[0] == 0x42;
  return length_field && !glow_text_is_module(data, size);
}

bool glow_onnx_expect_text(GlowContext *ctx, const GlowInput *in) {
  if (glow_text_is_module(in->data, in->size))
    return true;
  GlowLoc loc = glow_loc_file(ctx, in->name);
  if (in->size == 0)
    glow_error(ctx, loc, "the file is empty");
  else if (glow_onnx_is_model(in->data, in->size))
    glow_error(ctx, loc, "this is an ONNX model; glow-import makes a text of it");
  else
    glow_error(ctx, loc, "this is no text of a module");
  return false;
}

/* The bytes to read: those of the file that resources will refer to. */
static void choose_bytes(GlowOnnxImporter *im, const GlowInput *in) {
  im->file = (GlowWireFile){im->ctx, in->name, (const uint8_t *)in->data, in->size};
  bool regular = in->map && in->inode;
  if (!regular)
    return;
  glow_onnx_register(im->ctx);
  GlowBlob *blob = glow_blob_open(im->ctx, in->name, GLOW_NOWHERE);
  bool same = blob && blob->input.inode == in->inode && blob->input.device == in->device &&
              blob->input.size == in->size;
  if (!same)
    return;
  im->blob = blob;
  im->file.data = (const uint8_t *)blob->input.data;
}

/* A name for the module: the graph's, or the file's without its suffix. */
static GlowStr module_name(const GlowOnnxImporter *im) {
  GlowOnnxGraph graph;
  glow_wire_read(&im->file, &glow_onnx_msg_graph, im->model.graph, &graph);
  if (graph.name.at && graph.name.size)
    return glow_wire_str(&im->file, graph.name);
  const char *base = glow_path_base(im->file.name);
  const char *dot = strrchr(base, '.');
  return glow_str_n(im->ctx, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

static bool read_model(GlowOnnxImporter *im) {
  GlowWireSpan all = {0, im->file.size};
  GlowLoc loc = glow_loc_file(im->ctx, im->file.name);
  if (im->file.size == 0) {
    glow_error(im->ctx, loc, "the file is empty");
    return false;
  }
  if (!im->blob && !glow_wire_check(&im->file, &glow_onnx_msg_model, all))
    return false;
  glow_wire_read(&im->file, &glow_onnx_msg_model, all, &im->model);
  if (!im->model.graph.at) {
    glow_error(im->ctx, loc, "at byte %zu: the model has no graph", im->file.size);
    return false;
  }
  if (im->model.training_info.count && !im->training && !im->quiet)
    glow_note(im->ctx, loc, "the model's training information is left out; -training reads it");
  if (im->model.training_info.count) /* what the model says of training counts alone */
    im->training = false;
  return true;
}

static void release_arena(void *arena) { glow_arena_destroy(arena); }

static void release_module(void *module) {
  if (*(GlowModule **)module)
    glow_module_destroy(*(GlowModule **)module);
}

static void run(GlowOnnxImporter *im, const GlowInput *in, const GlowOnnxOptions *o) {
  GlowContext *ctx = im->ctx;
  unsigned before = ctx->errors;
  choose_bytes(im, in);
  if (ctx->errors != before || !read_model(im))
    return;
  im->m = glow_module_create(ctx, module_name(im));
  GlowDefer release;
  glow_defer_push(ctx, &release, release_module, &im->m);
  im->m->path_dir = glow_path_dir(ctx, in->name); /* resources are named relative to it */
  im->func = glow_function_create(im->m, GLOW_FUNC, glow_str(ctx, "main"));
  glow_onnx_main_graph(im, o);
  if (im->differs)
    glow_onnx_inference_form(im);
  if (o && o->training && im->scope->opsets)
    glow_onnx_training_info(im, o);
  if (im->uses)
    glow_onnx_note_gaps(im);
  else
    glow_onnx_report_gaps(im);
  glow_defer_pop(ctx, &release, false);
  if (ctx->errors == before)
    return;
  glow_module_destroy(im->m);
  im->m = NULL;
}

GlowModule *glow_onnx_import(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o) {
  return glow_onnx_preflight(ctx, in, o, NULL);
}

GlowModule *glow_onnx_preflight(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o,
                                GlowOnnxUses *uses) {
  GlowOnnxImporter im = {.ctx = ctx,
                         .quiet = o && o->quiet,
                         .training = o && o->training,
                         .folder = o ? o->folder : NULL,
                         .uses = uses};
  im.arena = glow_arena_create(ctx);
  GlowDefer release;
  glow_defer_push(ctx, &release, release_arena, im.arena);
  im.gap_index = glow_map_create(im.arena);
  im.use_index = glow_map_create(im.arena);
  im.outputs = glow_map_create(im.arena);
  run(&im, in, o);
  glow_defer_pop(ctx, &release, true);
  return im.m;
}
