/* The public C API over the libraries: each function is one glow_protect, so that exhausted memory
 * becomes a status. */
#include <stdlib.h>
#include <string.h>

#include "driver/passes.h"
#include "driver/session.h"
#include "glow/module.h"
#include "import/onnx/onnx.h"
#include "support/file.h"

typedef struct Request {
  const char *name, *text, *base;
  size_t size;
  GlowModule *module;
  char *copy;
  GlowStatus status;
} Request;

/* The status of a protected call, or of the request it ran. */
static GlowStatus finish(GlowStatus thrown, const Request *r) {
  return thrown == GLOW_OK ? r->status : thrown;
}

static void load(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowSession s;
  r->status = glow_session_open(&s, ctx, r->name, &(GlowLoadOptions){0});
  r->module = s.module;
}

GlowStatus glow_module_load(GlowContext *ctx, const char *path, GlowModule **module) {
  if (module)
    *module = NULL;
  if (!ctx || !path || !module)
    return GLOW_BAD_USAGE;
  Request r = {.name = path};
  GlowStatus status = finish(glow_protect(ctx, load, &r), &r);
  *module = status == GLOW_OK ? r.module : NULL;
  return status;
}

static void load_text(GlowContext *ctx, void *arg) {
  Request *r = arg;
  glow_onnx_register(ctx);
  char *copy = glow_arena_alloc(ctx->arena, r->size + 1);
  memcpy(copy, r->text, r->size);
  r->module = glow_module_parse(ctx, r->name, copy, r->size);
  r->status = r->module && glow_module_verify(r->module) ? GLOW_OK : GLOW_BAD_INPUT;
}

GlowStatus glow_module_load_text(GlowContext *ctx, const char *name, const char *text, size_t size,
                                 GlowModule **module) {
  if (module)
    *module = NULL;
  if (!ctx || !name || (!text && size) || !module)
    return GLOW_BAD_USAGE;
  Request r = {.name = name, .text = text ? text : "", .size = size};
  GlowStatus status = finish(glow_protect(ctx, load_text, &r), &r);
  *module = status == GLOW_OK ? r.module : NULL;
  return status;
}

static GlowModule *read_bytes(GlowContext *ctx, const Request *r) {
  GlowInput in = {.name = r->name ? r->name : "<memory>", .data = r->text, .size = r->size};
  if (r->base)
    in.name = glow_path_join(ctx, r->base, in.name);
  if (glow_onnx_is_model(r->text, r->size))
    return glow_onnx_import(ctx, &in, &(GlowOnnxOptions){.quiet = true, .folder = r->base});
  if (r->size && !glow_text_is_module(r->text, r->size)) {
    glow_error(ctx, glow_loc_file(ctx, in.name),
               "this is neither an ONNX model nor a text of a module");
    return NULL;
  }
  char *copy = glow_arena_alloc(ctx->arena, r->size + 1);
  if (r->size)
    memcpy(copy, r->text, r->size);
  copy[r->size] = 0;
  return glow_module_parse(ctx, in.name, copy, r->size);
}

static void load_bytes(GlowContext *ctx, void *arg) {
  Request *r = arg;
  glow_onnx_register(ctx);
  r->module = read_bytes(ctx, r);
  r->status = r->module && glow_module_verify(r->module) ? GLOW_OK : GLOW_BAD_INPUT;
}

GlowStatus glow_module_load_bytes(GlowContext *ctx, const char *name, const void *data, size_t size,
                                  const char *base, GlowModule **module) {
  if (module)
    *module = NULL;
  if (!ctx || !module || (!data && size))
    return GLOW_BAD_USAGE;
  Request r = {.name = name, .text = data ? data : "", .size = size, .base = base};
  GlowStatus status = finish(glow_protect(ctx, load_bytes, &r), &r);
  *module = status == GLOW_OK ? r.module : NULL;
  return status;
}

static void save(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowText text;
  GlowDefer defer;
  bool to_stdout = strcmp(r->name, "-") == 0;
  r->status = GLOW_BAD_INPUT;
  if (r->module->broken)
    return;
  GlowPrintOptions how = {.relative_to = to_stdout ? NULL : glow_path_dir(ctx, r->name)};
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_module_print(r->module, &text, &how);
  const GlowBytes bytes = {text.data, text.size};
  r->status = glow_output_write(ctx, r->name, &bytes, 1) ? GLOW_OK : GLOW_IO;
  glow_defer_pop(ctx, &defer, true);
}

GlowStatus glow_module_save(GlowModule *module, const char *path) {
  if (!module || !path)
    return GLOW_BAD_USAGE;
  Request r = {.name = path, .module = module};
  return finish(glow_protect(module->ctx, save, &r), &r);
}

static void run_passes(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowPipeline *p = glow_pipeline_parse(ctx, &glow_passes, r->text);
  r->status = p ? glow_pipeline_run(r->module, p, &(GlowRunnerOptions){.verify_each = true})
                : GLOW_BAD_USAGE;
}

GlowStatus glow_module_run_passes(GlowModule *module, const char *pipeline) {
  if (!module || !pipeline)
    return GLOW_BAD_USAGE;
  Request r = {.text = pipeline, .module = module};
  return finish(glow_protect(module->ctx, run_passes, &r), &r);
}

static void check(GlowContext *ctx, void *arg) {
  (void)ctx;
  Request *r = arg;
  r->status = !r->module->broken && glow_module_verify(r->module) ? GLOW_OK : GLOW_BAD_INPUT;
}

GlowStatus glow_module_check(GlowModule *module) {
  if (!module)
    return GLOW_BAD_USAGE;
  Request r = {.module = module};
  return finish(glow_protect(module->ctx, check, &r), &r);
}

static void to_text(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_module_print(r->module, &text, &(GlowPrintOptions){0});
  r->copy = glow_malloc(ctx, text.size + 1);
  memcpy(r->copy, text.data, text.size);
  r->size = text.size;
  r->status = GLOW_OK;
  glow_defer_pop(ctx, &defer, true);
}

GlowStatus glow_module_to_text(GlowModule *module, char **text, size_t *size) {
  if (!module || !text || !size)
    return GLOW_BAD_USAGE;
  Request r = {.module = module};
  GlowStatus status = finish(glow_protect(module->ctx, to_text, &r), &r);
  *text = r.copy;
  *size = r.size;
  return status;
}

void glow_module_release(GlowModule *module) {
  if (module)
    glow_module_destroy(module);
}
