/* Loading, binding, optimizing and running one model. */
#include "runtime/session.h"

#include "import/onnx/onnx.h"
#include "support/file.h"

GlowTensor *glow_bindings_find(const GlowBindings *b, GlowStr name) {
  for (uint32_t i = 0; i < b->count; i++)
    if (b->data[i].name == name)
      return b->data[i].tensor;
  return NULL;
}

static GlowStatus load_module(GlowSession *s, const GlowLoadOptions *options) {
  if (glow_onnx_is_model(s->file.data, s->file.size)) {
    GlowOnnxOptions onnx = {.binds = options->binds, .nbinds = options->nbinds, .quiet = true};
    s->module = glow_onnx_import(s->ctx, &s->file, &onnx);
  } else {
    s->module = glow_module_parse(s->ctx, s->file.name, s->file.data, s->file.size);
  }
  return s->module && glow_module_verify(s->module) ? GLOW_OK : GLOW_BAD_INPUT;
}

GlowStatus glow_session_open(GlowSession *s, GlowContext *ctx, const char *path,
                             const GlowLoadOptions *options) {
  *s = (GlowSession){.ctx = ctx};
  glow_onnx_register(ctx);
  if (!glow_input_open(ctx, path, false, GLOW_NOWHERE, &s->file))
    return GLOW_IO;
  glow_blob_hold(ctx, &s->file);
  return load_module(s, options);
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
  if (s->module)
    glow_module_destroy(s->module);
  s->module = NULL;
}

/* 'name=1x3x224x224' for an input whose declared type is open; NULL if there is nothing to say. */
static const char *shape_bind(GlowSession *s, const GlowBinding *b) {
  const GlowType *declared = glow_session_input_type(s, b->name);
  const GlowType *given = b->tensor->type;
  if (!declared || declared->cls != GLOW_TYPE_TENSOR || given->cls != GLOW_TYPE_TENSOR ||
      glow_type_is_static(declared))
    return NULL;
  char *text = glow_arena_printf(s->ctx->arena, "%s=", b->name);
  for (uint32_t i = 0; i < given->rank; i++)
    text = glow_arena_printf(s->ctx->arena, "%s%s%lld", text, i ? "x" : "",
                             (long long)given->dims[i].size);
  return text;
}

GlowStatus glow_session_bind(GlowSession *s, const GlowLoadOptions *options) {
  if (s->entry->kind != GLOW_FUNC)
    return GLOW_OK;
  GlowText text;
  glow_text_init(&text, s->ctx);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_text_release_fn, &text);
  const char *separator = "";
  for (uint32_t i = 0; i < options->nbinds; i++, separator = ";")
    glow_text_printf(&text, "%s%s", separator, options->binds[i]);
  for (uint32_t i = 0; i < s->inputs.count; i++) {
    const char *bind = shape_bind(s, &s->inputs.data[i]);
    if (bind) {
      glow_text_printf(&text, "%s%s", separator, bind);
      separator = ";";
    }
  }
  GlowStatus status = GLOW_OK;
  if (text.size) {
    const char *pass = glow_arena_printf(s->ctx->arena, "bind<%s>", glow_text_cstr(&text));
    GlowPipeline *p = glow_pipeline_parse(s->ctx, pass);
    status = p ? glow_pipeline_run(s->module, p, &(GlowRunnerOptions){.verify_each = true})
               : GLOW_BAD_INPUT;
  }
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

GlowStatus glow_session_optimize(GlowSession *s, int level, bool exact) {
  if (level < 0)
    return GLOW_OK;
  GlowRunnerOptions runner = {.verify_each = true, .exact = exact};
  GlowStatus status = GLOW_OK;
  GlowStr name = s->entry->name;
  if (glow_module_has_level(s->module, GLOW_LEVEL_GRAPH)) {
    GlowPipeline *p = glow_pipeline_default(s->ctx, GLOW_LEVEL_GRAPH, level, exact);
    glow_pipeline_append(p, glow_pipeline_parse(s->ctx, "irgen"));
    status = glow_pipeline_run(s->module, p, &runner);
  }
  if (status == GLOW_OK) {
    const GlowPipeline *p = glow_pipeline_default(s->ctx, GLOW_LEVEL_PROGRAM, level, exact);
    status = glow_pipeline_run(s->module, p, &runner);
  }
  if (status != GLOW_OK)
    return status;
  s->entry = glow_module_function(s->module, name);
  return s->entry ? GLOW_OK : GLOW_INTERNAL;
}

GlowStatus glow_session_run(GlowSession *s, GlowBackendFn backend, const GlowRunOptions *options) {
  free_bindings(&s->outputs);
  return (backend ? backend : glow_interp_run)(s->entry, &s->inputs, &s->outputs, options);
}

/* Whether the entry reads or writes a storage: any use by a node inside its body. */
typedef struct Direction {
  bool reads, writes;
} Direction;

static bool inside(const GlowFunction *f, const GlowNode *n) {
  return n->block && glow_block_function(n->block) == f;
}

static Direction storage_direction(const GlowFunction *f, const GlowStorage *st) {
  Direction d = {false, false};
  for (const GlowUse *u = st->value.uses; u; u = u->next) {
    if (!inside(f, u->user))
      continue;
    bool write = u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT ||
                 (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE]);
    d.writes |= write;
    d.reads |= !write || u->qual == GLOW_QUAL_INOUT;
  }
  return d;
}

/* A view stands for its base. */
static bool view_writes(const GlowFunction *f, const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    if (!inside(f, u->user))
      continue;
    if (u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT)
      return true;
    if (u->user->op == GLOW_OP_TENSORVIEW && view_writes(f, &u->user->results[0]))
      return true;
  }
  return false;
}

void glow_session_names(const GlowSession *s, bool written, GlowNameList *names) {
  GlowArena *arena = s->ctx->arena;
  for (GlowStorage *st = s->module->first_storage; st; st = st->next) {
    if (st->cls != GLOW_PLACEHOLDER)
      continue;
    bool writes = storage_direction(s->entry, st).writes || view_writes(s->entry, &st->value);
    if (written ? writes : !writes)
      glow_vec_push(arena, names, st->value.name);
  }
  if (written)
    for (uint32_t i = 0; i < s->entry->nresults; i++)
      glow_vec_push(arena, names, glow_str_printf(s->ctx, "%u", i));
  else
    for (uint32_t i = 0; s->entry->body && i < s->entry->body->nparams; i++)
      glow_vec_push(arena, names, s->entry->body->params[i]->name);
}

const GlowType *glow_session_input_type(const GlowSession *s, GlowStr name) {
  for (uint32_t i = 0; s->entry->body && i < s->entry->body->nparams; i++)
    if (s->entry->body->params[i]->name == name)
      return s->entry->body->params[i]->type;
  GlowStorage *st = glow_module_storage(s->module, name);
  return st && st->cls != GLOW_CONSTANT ? st->value.type : NULL;
}

const GlowType *glow_session_output_type(const GlowSession *s, GlowStr name) {
  GlowStorage *st = glow_module_storage(s->module, name);
  if (st && st->cls != GLOW_CONSTANT)
    return st->value.type;
  for (uint32_t i = 0; i < s->entry->nresults; i++)
    if (glow_str_printf(s->ctx, "%u", i) == name)
      return s->entry->results[i];
  return NULL;
}
