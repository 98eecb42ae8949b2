/* Loading, binding, optimizing and running one model. */
#include "driver/session.h"

#include <string.h>

#include "driver/passes.h"
#include "import/onnx/onnx.h"
#include "support/file.h"
#include "target/target.h"

/* A release build verifies once: after each of 200 passes that takes up to a third of the time from
 * a model's file to its first result. */
#ifdef NDEBUG
enum { VERIFY_EACH = false };
#else
enum { VERIFY_EACH = true };
#endif

static GlowStatus run_pipeline(GlowSession *s, const GlowPipeline *p, GlowMath math) {
  const GlowRunnerOptions o = {.verify_each = VERIFY_EACH, .verify_last = true, .math = math};
  return p ? glow_pipeline_run(s->module, p, &o) : GLOW_BAD_INPUT;
}

/* Runs one pass with `options` as they stand between its angle brackets. */
static GlowStatus run_pass(GlowSession *s, const char *pass, const char *options) {
  const char *text = glow_arena_printf(s->ctx->arena, "%s<%s>", pass, options);
  return run_pipeline(s, glow_pipeline_parse(s->ctx, &glow_passes, text), false);
}

/* The same with all of a list of options, if there are any. */
static GlowStatus run_listed(GlowSession *s, const char *pass, const char *const *list,
                             uint32_t count) {
  if (!count)
    return GLOW_OK;
  const char *options = list[0];
  for (uint32_t i = 1; i < count; i++)
    options = glow_arena_printf(s->ctx->arena, "%s;%s", options, list[i]);
  return run_pass(s, pass, options);
}

static GlowStatus load_module(GlowSession *s, const GlowLoadOptions *options) {
  bool onnx = glow_onnx_is_model(s->file.data, s->file.size);
  if (onnx) {
    GlowOnnxOptions how = {.binds = options->binds, .nbinds = options->nbinds, .quiet = true};
    s->module = glow_onnx_import(s->ctx, &s->file, &how);
  } else if (glow_written_is((GlowBytes){s->file.data, s->file.size})) {
    s->module = glow_written_module(s->ctx, s->file.name, (GlowBytes){s->file.data, s->file.size},
                                    &s->written);
  } else if (s->file.size && !glow_text_is_module(s->file.data, s->file.size)) {
    glow_error(s->ctx, glow_loc_file(s->ctx, s->file.name),
               "this is neither an ONNX model nor a text of a module");
  } else {
    s->module = glow_module_parse(s->ctx, s->file.name, s->file.data, s->file.size);
  }
  if (!s->module || !glow_module_verify(s->module))
    return GLOW_BAD_INPUT;
  GlowStatus status = onnx ? GLOW_OK : run_listed(s, "bind", options->binds, options->nbinds);
  return status == GLOW_OK ? run_listed(s, "carry", options->carries, options->ncarries) : status;
}

static void close_input(void *input) { glow_input_close(input); }

GlowStatus glow_session_take(GlowSession *s, GlowContext *ctx, GlowInput *input,
                             const GlowLoadOptions *options) {
  *s = (GlowSession){.ctx = ctx, .file = *input};
  GlowDefer close;
  glow_defer_push(ctx, &close, close_input, input);
  glow_onnx_register(ctx);
  glow_blob_hold(ctx, input);
  glow_defer_pop(ctx, &close, false);
  return load_module(s, options);
}

GlowStatus glow_session_open(GlowSession *s, GlowContext *ctx, const char *path,
                             const GlowLoadOptions *options) {
  *s = (GlowSession){.ctx = ctx};
  GlowInput input;
  return glow_input_open(ctx, path, false, GLOW_NOWHERE, &input)
             ? glow_session_take(s, ctx, &input, options)
             : GLOW_IO;
}

GlowStatus glow_session_load(GlowSession *s, GlowContext *ctx, const char *path,
                             const GlowLoadOptions *options) {
  GlowStatus status = glow_session_open(s, ctx, path, options);
  if (status != GLOW_OK)
    return status;
  s->entry = glow_module_entry(s->module, options->entry);
  return s->entry ? GLOW_OK : GLOW_BAD_INPUT;
}

static void free_bindings(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
  b->count = 0;
}

void glow_session_close(GlowSession *s) {
  free_bindings(&s->inputs);
  free_bindings(&s->outputs);
  free_bindings(&s->variables);
  glow_values_destroy(s->values);
  s->values = NULL;
  if (s->module)
    glow_module_destroy(s->module);
  s->module = NULL;
}

void glow_session_close_fn(void *session) { glow_session_close(session); }

/* Appends a name as the text of a pipeline wants it. */
static void put_escaped(GlowText *text, GlowStr name) {
  for (const char *c = name; *c; c++)
    glow_text_printf(text, strchr("\\;=> \t\r\n\v\f", *c) ? "\\%c" : "%c", *c);
}

/* Whether extents are open that the run is to fix: symbols with a range stay open. */
static bool has_to_bind(const GlowType *t) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind != GLOW_DIM_EXACT && !t->dims[i].extent)
      return true;
  return false;
}

/* Appends 'name=1x3x224x224' for an input whose declared type is open; '?' where it stays so. */
static void put_shape(GlowSession *s, GlowText *text, const GlowBinding *b) {
  const GlowType *declared = glow_session_input_type(s, b->name);
  const GlowType *given = b->tensor->type;
  if (!declared || declared->cls != GLOW_TYPE_TENSOR || given->cls != GLOW_TYPE_TENSOR ||
      !(declared->unranked || has_to_bind(declared)))
    return;
  glow_text_puts(text, text->size ? ";" : "");
  put_escaped(text, b->name);
  glow_text_puts(text, given->rank ? "=" : "=scalar");
  for (uint32_t i = 0; i < given->rank; i++)
    if (i < declared->rank && declared->dims[i].extent)
      glow_text_printf(text, "%s?", i ? "x" : "");
    else
      glow_text_printf(text, "%s%lld", i ? "x" : "", (long long)given->dims[i].size);
}

GlowStatus glow_session_bind(GlowSession *s) {
  if (s->entry->kind != GLOW_FUNC)
    return GLOW_OK;
  GlowText text;
  glow_text_init(&text, s->ctx);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &text);
  for (uint32_t i = 0; i < s->inputs.count; i++)
    put_shape(s, &text, &s->inputs.data[i]);
  GlowStatus status = text.size ? run_pass(s, "bind-input", glow_text_cstr(&text)) : GLOW_OK;
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

/* Appends 'N=8' for the first dimension of an input, unless an input before it has the same. */
static bool put_batch(GlowSession *s, GlowText *text, const GlowNameList *names, uint32_t i,
                      int64_t batch) {
  const GlowType *type = glow_session_input_type(s, names->data[i]);
  bool open = type->cls == GLOW_TYPE_TENSOR && type->rank && type->dims[0].kind == GLOW_DIM_SYMBOL;
  if (!open && type->cls == GLOW_TYPE_TENSOR && type->rank &&
      type->dims[0].kind == GLOW_DIM_EXACT && type->dims[0].size == batch)
    return true;
  if (!open) {
    glow_error(s->ctx, GLOW_NOWHERE, "input '%s' is %s, which cannot get a batch of %lld",
               names->data[i], glow_type_str(s->ctx, type), (long long)batch);
    return false;
  }
  for (uint32_t j = 0; j < i; j++) {
    const GlowType *other = glow_session_input_type(s, names->data[j]);
    if (other->dims[0].kind == GLOW_DIM_SYMBOL && other->dims[0].symbol == type->dims[0].symbol)
      return true;
  }
  glow_text_puts(text, text->size ? ";" : "");
  put_escaped(text, type->dims[0].symbol);
  glow_text_printf(text, "=%lld", (long long)batch);
  return true;
}

static GlowStatus bind_batch(GlowSession *s, const GlowNameList *names, int64_t batch) {
  GlowText text;
  glow_text_init(&text, s->ctx);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &text);
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < names->count && status == GLOW_OK; i++)
    status = put_batch(s, &text, names, i, batch) ? GLOW_OK : GLOW_BAD_INPUT;
  if (status == GLOW_OK && text.size)
    status = run_pass(s, "bind", glow_text_cstr(&text));
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

GlowStatus glow_session_bind_batch(GlowSession *s, int64_t batch) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  return bind_batch(s, &names, batch);
}

GlowStatus glow_session_bind_first(GlowSession *s, const GlowNameList *inputs, int64_t extent) {
  GlowNameList open = {0};
  for (uint32_t i = 0; i < inputs->count; i++) {
    const GlowType *type = glow_session_input_type(s, inputs->data[i]);
    if (type && glow_type_is_tensor(type) && !type->unranked && type->rank &&
        type->dims[0].kind == GLOW_DIM_SYMBOL)
      glow_vec_push(s->ctx->arena, &open, inputs->data[i]);
  }
  return bind_batch(s, &open, extent);
}

GlowStatus glow_session_fill_inputs(GlowSession *s) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < names.count && status == GLOW_OK; i++)
    if (!glow_bindings_find(&s->inputs, names.data[i]))
      status = glow_session_add_input(
          s, glow_arena_printf(s->ctx->arena, "%s=random:1", names.data[i]), NULL);
  return status;
}

GlowStatus glow_session_keep_entry(GlowSession *s) {
  if (s->entry->kind != GLOW_FUNC || !s->module->first_function->next)
    return GLOW_OK;
  GlowText text;
  glow_text_init(&text, s->ctx);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &text);
  glow_text_puts(&text, "entry=");
  put_escaped(&text, s->entry->name);
  for (uint32_t i = 0; i < s->others.count; i++) {
    glow_text_puts(&text, ";entry=");
    put_escaped(&text, s->others.data[i]);
  }
  GlowStatus status = run_pass(s, "dce", glow_text_cstr(&text));
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

GlowStatus glow_session_lower_all(GlowSession *s) {
  return glow_module_has_level(s->module, GLOW_LEVEL_GRAPH)
             ? run_pipeline(s, glow_pipeline_parse(s->ctx, &glow_passes, "lower<all>,dce"), false)
             : GLOW_OK;
}

GlowStatus glow_session_pass(GlowSession *s, const char *pass) {
  return run_pipeline(s, glow_pipeline_parse(s->ctx, &glow_passes, pass), GLOW_MATH_BOUNDED);
}

GlowStatus glow_session_retarget(GlowSession *s, const char *target) {
  return glow_target_named(s->ctx, GLOW_NOWHERE, target)
             ? run_pass(s, "retarget", glow_arena_printf(s->ctx->arena, "to=%s", target))
             : GLOW_BAD_USAGE;
}

GlowStatus glow_session_optimize(GlowSession *s, int level, GlowMath math) {
  if (level < 0)
    return GLOW_OK;
  GlowStatus status = GLOW_OK;
  GlowStr name = s->entry->name;
  if (glow_module_has_level(s->module, GLOW_LEVEL_GRAPH))
    status = run_pipeline(s, glow_pipeline_to_programs(s->module, level, math), math);
  if (status == GLOW_OK)
    status = run_pipeline(s,
                          glow_pipeline_default(s->ctx, &glow_passes, s->module->target,
                                                GLOW_LEVEL_PROGRAM, level, math),
                          math);
  if (status != GLOW_OK)
    return status;
  s->entry = glow_module_function(s->module, name);
  return s->entry ? GLOW_OK : GLOW_INTERNAL;
}

GlowStatus glow_session_run(GlowSession *s, GlowBackendFn backend, const GlowRunOptions *options) {
  free_bindings(&s->outputs);
  GlowRunOptions o = *options;
  o.values = glow_session_values(s);
  return (backend ? backend : glow_interp_run)(s->entry, &s->inputs, &s->outputs, &o);
}
