/* Executables as files: the module's text, in which the values that programs read are left out,
 * these values as the code reads them, and the code. */
#include "backend/cpu/compile.h"
#include "exec/written.h"
#include "ir/ir.h"

typedef struct Writer {
  const GlowExecutable *executable;
  GlowContext *ctx;
  GlowArena *arena;
  GlowModule *module; /* a copy */
  GLOW_VEC(GlowWrittenValue) values;
  GLOW_VEC(GlowWrittenImage) images;
} Writer;

static bool is_entry(const GlowExecutable *e, const GlowFunction *f) {
  for (uint32_t i = 0; i < e->nentries; i++)
    if (e->entries[i].name == f->name)
      return true;
  return false;
}

static void keep_entries(Writer *w) {
  for (GlowFunction *f = w->module->first_function, *next; f; f = next) {
    next = f->next;
    if (!is_entry(w->executable, f))
      glow_function_remove(f);
  }
}

/* The value of storage that some program needs from outside; NULL: none does. */
static const GlowTensor *value_of(const Writer *w, GlowStr name) {
  const GlowExecutable *e = w->executable;
  for (uint32_t k = 0; k < e->nentries; k++)
    for (uint32_t i = 0; i < e->nstorage; i++)
      if (e->entries[k].values[i].name == name && e->entries[k].values[i].value)
        return e->entries[k].values[i].value;
  return NULL;
}

/* Whether the text says the value itself: that of a constant if it is short. A variable may have
 * got another one; but if that has extents of its own, it is the one that the text says. */
static bool is_inline(const GlowStorage *s, const GlowTensor *value) {
  bool is_short = s->init.kind == GLOW_INIT_SPLAT || s->init.kind == GLOW_INIT_LIST;
  return is_short && (s->cls == GLOW_CONSTANT || !value || value->type != s->value.type);
}

/* Takes values out of the text. False after a diagnostic. */
static bool take_values(Writer *w) {
  bool ok = true;
  for (GlowStorage *s = w->module->first_storage; s; s = s->next) {
    const GlowTensor *value = value_of(w, s->value.name);
    if (s->cls == GLOW_PLACEHOLDER || is_inline(s, value))
      continue;
    if (value && (value->type != s->value.type || value->type->kind == GLOW_KIND_STRING)) {
      glow_error(w->ctx, s->src, "the executable cannot be written: '@%s' holds %s", s->value.name,
                 glow_type_str(w->ctx, value->type));
      ok = false;
      continue;
    }
    glow_storage_drop_initializer(s);
    if (value)
      glow_vec_push(w->arena, &w->values,
                    ((GlowWrittenValue){s->value.name, {value->data, value->bytes}}));
  }
  return ok;
}

/* Storage that no program names any more. */
static void drop_unused(Writer *w) {
  for (GlowStorage *s = w->module->last_storage, *prev; s; s = prev) {
    prev = s->prev;
    if (!s->value.uses && s->cls == GLOW_CONSTANT)
      glow_storage_remove(s);
  }
}

static void take_images(Writer *w) {
  for (uint32_t k = 0; k < w->executable->nentries; k++) {
    const GlowEntry *e = &w->executable->entries[k];
    GlowCpuCode *code = &((GlowCpuBackend *)e->backend)->code;
    uint32_t count;
    const GlowBytes *images = glow_cpu_code_images(code, w->arena, &count);
    for (uint32_t i = 0; i < count; i++)
      glow_vec_push(w->arena, &w->images, ((GlowWrittenImage){e->name, code->program, images[i]}));
  }
}

static GlowStatus write(Writer *w, const char *path) {
  if (!take_values(w))
    return GLOW_BAD_INPUT;
  drop_unused(w);
  take_images(w);
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, w->ctx);
  glow_defer_push(w->ctx, &defer, glow_text_release_fn, &text);
  glow_module_print(w->module, &text, &(GlowPrintOptions){0});
  bool ok = glow_written_write(w->ctx, path,
                               &(GlowWritten){.text = {text.data, text.size},
                                              .values = w->values.data,
                                              .nvalues = w->values.count,
                                              .images = w->images.data,
                                              .nimages = w->images.count});
  glow_defer_pop(w->ctx, &defer, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static void destroy_module(void *module) { glow_module_destroy(module); }

static void destroy_arena(void *arena) { glow_arena_destroy(arena); }

GlowStatus glow_cpu_write(const GlowExecutable *e, const char *path) {
  const GlowCpuBackend *b = e->entries->backend;
  GlowContext *ctx = e->ctx;
  GlowDefer arena, module;
  Writer w = {.executable = e, .ctx = ctx, .arena = glow_arena_create(ctx)};
  glow_defer_push(ctx, &arena, destroy_arena, w.arena);
  w.module = glow_module_clone(b->function->module);
  glow_defer_push(ctx, &module, destroy_module, w.module);
  keep_entries(&w);
  GlowStatus status = write(&w, path);
  glow_defer_pop(ctx, &module, true);
  glow_defer_pop(ctx, &arena, true);
  return status;
}
