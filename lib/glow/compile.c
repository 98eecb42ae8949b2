/* Executables from modules and from files. An executable has a private context, in which a copy of
 * the module is optimized and compiled; it goes with the executable. What is reported there until
 * then goes on to the caller's context. */
#include <stdlib.h>
#include <string.h>

#include "backend/backends.h"
#include "driver/model.h"
#include "exec/memory.h"
#include "glow/home.h"
#include "glow/messages.h"
#include "glow/options.h"
#include "glow/target.h"
#include "support/process.h"

typedef struct Make {
  GlowContext *caller, *ctx;
  const char *path;         /* of a model; NULL: `text` */
  const GlowModule *module; /* what `text` was made of */
  GlowText text;
  const char *options; /* NULL: none */
  GlowStore *store;    /* NULL: none */
  GlowModelFlags flags;
  bool debug;
  const GlowBackend *backend;
  GlowSession session;
  GLOW_VEC(GlowStr) entries;
  struct GlowHome *home; /* of `ctx` */
  GlowExecutable *made;
  GlowStatus status;
} Make;

/* ---- Options --------------------------------------------------------------------------------- */

static bool choose(const GlowOptionText *o, const GlowOption *row, const GlowOption **chosen) {
  if (*chosen && *chosen != row) {
    glow_error(o->ctx, glow_options_here(o), "options '-%s' and '-%s' exclude each other",
               (*chosen)->name, row->name);
    return false;
  }
  *chosen = row;
  *(int *)row->target = (int)row->min;
  return true;
}

/* Says at the option that is read now what is wrong with it, if anything. */
static bool check_value(Make *m, const GlowOptionText *o, GlowStr name, const char *value) {
  if (strcmp(name, "target") == 0)
    return glow_target_named(m->ctx, glow_options_here(o), value) != NULL;
  if (strcmp(name, "backend") != 0 && strcmp(name, "tier") != 0)
    return true;
  GlowHold hold;
  glow_hold_begin(m->ctx, &hold);
  bool ok = glow_model_backend(m->ctx, &glow_backends, &m->flags) != NULL;
  glow_hold_end(&hold);
  if (!ok)
    glow_error(m->ctx, glow_options_here(o), "%s", glow_held_error(&hold));
  return ok;
}

static bool take_value(Make *m, GlowOptionText *o, const GlowOption *row, const char *value) {
  if (row->kind == GLOW_OPT_OPTIONAL && !value)
    value = "";
  else if (!glow_options_value(o, row->name, &value))
    return false;
  const char *why = glow_option_set(m->ctx, row, value);
  if (why)
    glow_error(m->ctx, glow_options_here(o), "option '-%s'%s", row->name, why);
  return !why && check_value(m, o, row->name, value);
}

/* The option of a row. `chosen`: of -O and its like, and of -exact and its like, the one so far. */
static bool take_option(Make *m, GlowOptionText *o, const GlowOption *row, const char *value,
                        const GlowOption *chosen[2]) {
  if (row->kind != GLOW_OPT_FLAG && row->kind != GLOW_OPT_ONE_OF)
    return take_value(m, o, row, value);
  if (!glow_options_no_value(o, row->name, value))
    return false;
  if (row->kind == GLOW_OPT_ONE_OF)
    return choose(o, row, &chosen[row->target == &m->flags.math]);
  *(bool *)row->target = true;
  return true;
}

/* Reads the options by a table of rows. False after a diagnostic. */
static bool read_options(Make *m, GlowOptionText *o, const GlowOption *rows, size_t count) {
  const GlowOption *chosen[2] = {NULL, NULL};
  const char **names = GLOW_NEW_ARRAY(m->ctx->arena, const char *, count);
  for (size_t i = 0; i < count; i++)
    names[i] = rows[i].name;
  GlowStr name;
  const char *value;
  while (glow_options_next(o, &name, &value)) {
    const GlowOption *row = NULL;
    for (size_t i = 0; i < count && !row; i++)
      row = strcmp(rows[i].name, name) ? NULL : &rows[i];
    if (!row)
      return glow_options_unknown(o, name, names, count);
    if (!take_option(m, o, row, value, chosen))
      return false;
  }
  return !o->failed;
}

/* What the options choose. False after a diagnostic. */
static bool take_options(Make *m) {
  m->flags = (GlowModelFlags)GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_AUTO);
  const GlowOption rows[] = {
      {.name = "backend", .kind = GLOW_OPT_STRING, .target = &m->flags.backend},
      {.name = "g", .kind = GLOW_OPT_FLAG, .target = &m->debug},
      GLOW_MODEL_OPTIONS(m->flags)};
  GlowOptionText o;
  glow_options_begin(&o, m->ctx, m->options ? m->options : "");
  if (!read_options(m, &o, rows, sizeof rows / sizeof *rows))
    return false;
  m->backend = glow_model_backend(m->ctx, &glow_backends, &m->flags);
  return m->backend != NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The module's text at an aligned place: payload is read where it lies. */
static void take_text(Make *m, GlowInput *in) {
  char *copy = glow_exec_memory((int64_t)m->text.size + 1);
  if (!copy)
    glow_throw(m->ctx, GLOW_NO_MEMORY);
  memcpy(copy, m->text.data, m->text.size);
  copy[m->text.size] = 0;
  *in = (GlowInput){.name = "<module>", .data = copy, .size = m->text.size, .heap = copy};
}

/* A node of a model is known by its name there, not by its place in a text that nobody has seen. */
static void forget_places(GlowModule *m) {
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      if (n->origin)
        n->src = (GlowLoc){0};
}

static GlowStatus load(Make *m) {
  const GlowLoadOptions how = glow_model_load_options(&m->flags);
  if (m->path)
    return glow_session_open(&m->session, m->ctx, m->path, &how);
  GlowInput in;
  take_text(m, &in);
  glow_text_release(&m->text);
  GlowStatus status = glow_session_take(&m->session, m->ctx, &in, &how);
  if (status == GLOW_OK)
    forget_places(m->session.module);
  return status;
}

/* The names of the functions that the executable will have. */
static GlowStatus choose_entries(Make *m) {
  GlowSession *s = &m->session;
  GlowArena *arena = m->ctx->arena;
  GlowFunctions found = {0};
  if (m->flags.entry) {
    GlowFunction *f = glow_module_entry(s->module, m->flags.entry);
    if (f)
      glow_vec_push(arena, &found, f);
  } else {
    found = glow_module_entries(s->module, arena);
    if (!found.count)
      glow_error(m->ctx, GLOW_NOWHERE, "the module has no function to run");
  }
  for (uint32_t i = 0; i < found.count; i++)
    glow_vec_push(arena, &m->entries, found.data[i]->name);
  s->entry = found.count ? found.data[0] : NULL;
  return found.count ? GLOW_OK : GLOW_BAD_INPUT;
}

/* Appends the options that give extents to the symbols of a type, but for those that are known. */
static void put_binds(GlowText *text, GlowMap *known, const GlowType *t) {
  for (uint32_t a = 0; glow_type_is_tensor(t) && a < t->rank; a++) {
    GlowStr symbol = t->dims[a].extent ? NULL : t->dims[a].symbol;
    if (!symbol || glow_map_get(known, symbol))
      continue;
    glow_map_set(known, symbol, (void *)(uintptr_t)symbol);
    glow_text_printf(text, "%s-bind=%s=N", text->size ? " " : "", symbol);
  }
}

/* Passes need extents, and would not say how to give them. */
static GlowStatus check_extents(const GlowModule *m) {
  GlowStatus status = GLOW_OK;
  GlowMap *known = glow_map_create(m->ctx->arena);
  for (const GlowStorage *g = m->first_storage; g; g = g->next) {
    GlowText binds;
    GlowDefer release;
    glow_text_init(&binds, m->ctx);
    glow_defer_push(m->ctx, &release, glow_text_release_fn, &binds);
    if (g->cls == GLOW_PLACEHOLDER)
      put_binds(&binds, known, g->value.type);
    if (binds.size) {
      glow_error(m->ctx, glow_value_loc(&g->value), "@%s is %s, whose extents need options: %s",
                 g->value.name, glow_type_str(m->ctx, g->value.type), glow_text_cstr(&binds));
      status = GLOW_BAD_INPUT;
    }
    glow_defer_pop(m->ctx, &release, true);
  }
  return status;
}

/* Passes, as the options say; by default those that the backend needs. */
static GlowStatus optimize(Make *m) {
  GlowSession *s = &m->session;
  bool graph = glow_module_has_level(s->module, GLOW_LEVEL_GRAPH);
  int level = m->flags.level < 0 && graph ? m->backend->level : m->flags.level;
  GlowStatus status = m->flags.target ? glow_session_retarget(s, m->flags.target) : GLOW_OK;
  if (status == GLOW_OK && m->flags.entry)
    status = glow_session_keep_entry(s);
  if (status == GLOW_OK && graph && level >= 0)
    status = check_extents(s->module);
  if (status == GLOW_OK && m->backend->primitives)
    status = glow_session_lower_all(s);
  return status == GLOW_OK ? glow_session_optimize(s, level, m->flags.math) : status;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

/* Constants that are equal to some in the store lie there from now on. */
static void share_constants(GlowExecutable *e, GlowStore *store) {
  struct GlowHome *home = e->home;
  home->stored = GLOW_NEW_ARRAY(home->ctx->arena, GlowStoreUse, e->nstorage);
  home->nstored = e->nstorage;
  for (uint32_t i = 0; i < e->nstorage; i++) {
    const GlowExecValue *v = glow_home_value(e, i);
    GlowStorage *g = v ? glow_module_storage(home->module, v->name) : NULL;
    const GlowTensor *held = g && v->memory == GLOW_MEMORY_CONSTANT && v->value && e->shared
                                 ? glow_values_held(e->shared, g)
                                 : NULL;
    if (!held || held->data != v->value->data)
      continue;
    if (!glow_store_take(store, held->data, held->bytes, &home->stored[i]))
      glow_throw(home->ctx, GLOW_NO_MEMORY);
    GlowTensor *t = GLOW_NEW(home->ctx->arena, GlowTensor);
    *t = (GlowTensor){.type = v->value->type,
                      .data = (void *)(uintptr_t)home->stored[i].data,
                      .bytes = v->value->bytes};
    for (uint32_t k = 0; k < e->nentries; k++) {
      GlowExecValue *x = (GlowExecValue *)&e->entries[k].values[i];
      x->value = x->value ? t : NULL;
    }
    glow_values_forget(e->shared, g);
  }
}

/* The last thing that an executable does. */
static void leave(struct GlowHome *home) {
  for (uint32_t i = 0; i < home->nstored; i++)
    glow_store_leave(&home->stored[i]);
  glow_context_destroy(home->ctx);
}

static GlowStatus compile(Make *m) {
  GlowContext *ctx = m->ctx;
  GlowModule *module = m->session.module;
  GlowFunction **functions = GLOW_NEW_ARRAY(ctx->arena, GlowFunction *, m->entries.count);
  for (uint32_t i = 0; i < m->entries.count; i++) {
    functions[i] = glow_module_function(module, m->entries.data[i]);
    GLOW_CHECK(ctx, functions[i], "passes keep the functions that nothing calls");
  }
  GlowParallel *threads = GLOW_NEW(ctx->arena, GlowParallel); /* to be counted alone */
  threads->workers = m->flags.threads;
  GlowRunOptions options = {.tier = m->flags.default_tier,
                            .debug = m->debug,
                            .isolate = m->flags.isolate,
                            .max_memory = m->flags.max_memory,
                            .parallel = threads,
                            .cache = glow_cache_choose(ctx, &m->flags.cache),
                            .written = m->session.written};
  glow_tier_find(ctx, m->backend, m->flags.tier, &options.tier); /* the name was checked */
  m->made = glow_backend_compile(m->backend, functions, m->entries.count, &options);
  if (!m->made)
    return GLOW_BAD_INPUT;
  struct GlowHome *home = m->home;
  glow_home_describe(home, m->made);
  m->made->home = home;
  if (m->store)
    share_constants(m->made, m->store);
  return GLOW_OK;
}

static GlowStatus build(Make *m) {
  double began = glow_clock();
  GlowStatus status = load(m);
  double loaded = glow_clock();
  if (status == GLOW_OK)
    status = choose_entries(m);
  if (status == GLOW_OK)
    status = optimize(m);
  m->home->load = loaded - began;
  m->home->passes = glow_clock() - loaded;
  if (status != GLOW_OK)
    return status;
  const GlowModule *module = m->session.module;
  const char *host = glow_target_host(m->backend->name);
  m->home->module = m->session.module;
  m->home->backend = m->backend->name;
  m->home->target = module->target ? module->target : host ? host : m->backend->name;
  m->home->threads = (int)m->flags.threads;
  return compile(m);
}

static void make_inside(GlowContext *ctx, void *arg) {
  Make *m = arg;
  m->home = GLOW_NEW(ctx->arena, struct GlowHome);
  m->home->ctx = ctx;
  m->status = GLOW_BAD_USAGE;
  if (take_options(m) && glow_remarks_begin(ctx, &m->flags.remarks))
    m->status = glow_remarks_end(ctx, build(m));
}

static void release_text(void *make) { glow_text_release(&((Make *)make)->text); }

/* In the caller's context. */
static void make_outside(GlowContext *caller, void *arg) {
  Make *m = arg;
  GlowDefer text;
  glow_text_init(&m->text, caller);
  glow_defer_push(caller, &text, release_text, m);
  if (m->options)
    glow_source_add(caller, "options", glow_str(caller, m->options), strlen(m->options));
  if (m->module)
    glow_module_print(m->module, &m->text, &(GlowPrintOptions){0});
  m->ctx = glow_context_create();
  if (!m->ctx)
    glow_throw(caller, GLOW_NO_MEMORY);
  m->ctx->error_limit = caller->error_limit;
  glow_messages_forward(m->ctx, caller);
  GlowStatus thrown = glow_protect(m->ctx, make_inside, m);
  m->status = thrown == GLOW_OK ? m->status : thrown;
  glow_defer_pop(caller, &text, true);
}

static GlowStatus make(Make *m, GlowExecutable **executable) {
  GlowStatus thrown = glow_protect(m->caller, make_outside, m);
  GlowStatus status = thrown == GLOW_OK ? m->status : thrown;
  if (status == GLOW_OK) {
    m->ctx->error_limit = 0;
    glow_context_set_diagnostic_fn(m->ctx, glow_run_hear, m->made);
    m->made->leave = leave;
    m->made->guarded = true;
    *executable = m->made;
    return status;
  }
  glow_executable_release(m->made);
  if (m->home)
    leave(m->home);
  else
    glow_context_destroy(m->ctx);
  return status;
}

GlowStatus glow_compile(GlowModule *module, const GlowCompileOptions *o,
                        GlowExecutable **executable) {
  if (executable)
    *executable = NULL;
  if (!module || !executable)
    return GLOW_BAD_USAGE;
  if (module->broken)
    return GLOW_BAD_INPUT;
  return make(&(Make){.caller = module->ctx,
                      .module = module,
                      .options = GLOW_HAS_FIELD(o, options) ? o->options : NULL,
                      .store = GLOW_HAS_FIELD(o, store) ? o->store : NULL},
              executable);
}

GlowStatus glow_executable_open(GlowContext *ctx, const char *path, const GlowCompileOptions *o,
                                GlowExecutable **executable) {
  if (executable)
    *executable = NULL;
  if (!ctx || !path || !executable)
    return GLOW_BAD_USAGE;
  return make(&(Make){.caller = ctx,
                      .path = path,
                      .options = GLOW_HAS_FIELD(o, options) ? o->options : NULL,
                      .store = GLOW_HAS_FIELD(o, store) ? o->store : NULL},
              executable);
}
