/* Looking up a backend, and executables of backends that only know whole runs. */
#include "driver/backend.h"

#include "analysis/access.h"
#include "backend/interp/node_profile.h"

const GlowBackend *glow_backend_find(GlowContext *ctx, const GlowBackendTable *table,
                                     const char *name) {
  const char *known = "";
  for (uint32_t i = 0; i < table->count; i++) {
    const GlowBackend *b = &table->backends[i];
    if (strcmp(b->name, name) == 0)
      return b;
    known = glow_str_printf(ctx, "%s%s%s (%s)", known, *known ? ", " : "", b->name, b->about);
  }
  glow_error(ctx, GLOW_NOWHERE, "unknown backend '%s'; this build has: %s", name, known);
  return NULL;
}

static const char *const tiers[] = {
    [GLOW_TIER_COMPILED] = "compiled", [GLOW_TIER_LIBRARY] = "library", [GLOW_TIER_AUTO] = "auto"};

const char *glow_tier_name(GlowTier tier) { return tiers[tier]; }

bool glow_tier_find(GlowContext *ctx, const GlowBackend *b, const char *name, GlowTier *tier) {
  if (!name)
    return true;
  if (!b->compile) {
    glow_error(ctx, GLOW_NOWHERE, "--tier: the backend %s runs no machine code", b->name);
    return false;
  }
  for (uint32_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
    if (!strcmp(name, tiers[i])) {
      *tier = (GlowTier)i;
      return true;
    }
  glow_error(ctx, GLOW_NOWHERE, "--tier: '%s' is none of auto, compiled, library", name);
  return false;
}

/* ---- Executables of backends that do not compile --------------------------------------------- */

typedef struct Whole {
  GlowFunction *function;
  GlowBackendFn run;
  GlowRunOptions options; /* `values` are the executable's: variables as every state begins */
} Whole;

/* NULL: no variable. */
static GlowStorage *variable_of(const GlowEntry *e, uint32_t i) {
  const Whole *w = e->backend;
  return e->values[i].memory == GLOW_MEMORY_VARIABLE
             ? glow_module_storage(w->function->module, e->values[i].name)
             : NULL;
}

/* A state without a value begins with that of the executable. */
static void fill_state(const GlowEntry *e, GlowState *s) {
  const Whole *w = e->backend;
  for (uint32_t i = 0; s && i < e->executable->nstorage; i++) {
    const GlowStorage *g = variable_of(e, i);
    const GlowTensor *t = g && !s->values[i] ? glow_values_held(w->options.values, g) : NULL;
    if (t)
      s->values[i] = glow_tensor_copy(e->executable->ctx, t);
  }
}

/* The state's values become the executable's, and the other way round. */
static void swap_state(const GlowEntry *e, GlowState *s) {
  const Whole *w = e->backend;
  for (uint32_t i = 0; s && i < e->executable->nstorage; i++) {
    const GlowStorage *g = variable_of(e, i);
    if (!g)
      continue;
    GlowTensor *value = glow_values_take(w->options.values, g);
    glow_values_set(w->options.values, g, s->values[i]);
    s->values[i] = value;
  }
}

static GlowBindings bindings_of(const GlowEntry *e, GlowArena *arena,
                                const GlowTensor *const *inputs) {
  GlowBindings b = {0};
  for (uint32_t i = 0; inputs && i < e->nvalues; i++) {
    GlowBinding one = {e->values[i].name, (GlowTensor *)(uintptr_t)inputs[i]};
    if (inputs[i])
      glow_vec_push(arena, &b, one);
  }
  return b;
}

static void free_outputs(GlowExecution *x) {
  for (uint32_t i = 0; i < x->result.count; i++)
    glow_tensor_free(x->result.data[i].tensor);
  x->result.count = 0;
}

/* Called after each node: notes its time, and ends a run that somebody has stopped. */
static void after_node(void *execution, const GlowNode *n) {
  GlowExecution *x = execution;
  if (x->profile)
    glow_node_profile_note(x->hosted, n);
  if (atomic_load_explicit(&x->stop, memory_order_relaxed))
    glow_throw(x->entry->executable->ctx, GLOW_CANCELLED);
}

static void begin_profile(GlowExecution *x) {
  if (!x->profiled)
    return;
  if (!x->hosted) {
    x->hosted = glow_node_profile_create(glow_arena_create(x->entry->executable->ctx));
    x->profile = &((GlowNodeProfile *)x->hosted)->profile;
  }
  glow_profile_begin(x->profile);
}

static GlowStatus run_whole(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  const GlowEntry *e = x->entry;
  const Whole *w = e->backend;
  free_outputs(x);
  fill_state(e, s);
  GlowArena *arena = glow_arena_create(e->executable->ctx);
  GlowBindings in = bindings_of(e, arena, inputs);
  GlowRunOptions options = w->options;
  options.finished = after_node;
  options.finished_user = x;
  begin_profile(x);
  swap_state(e, s);
  GlowStatus status = w->run(w->function, &in, &x->result, &options);
  swap_state(e, s);
  if (x->profile)
    glow_profile_end(x->profile);
  glow_arena_destroy(arena);
  return status;
}

static void forget_whole(GlowExecution *x) {
  free_outputs(x);
  if (x->hosted)
    glow_arena_destroy(((GlowNodeProfile *)x->hosted)->arena);
}

static GlowTensor *first_value(const GlowEntry *e, uint32_t i) {
  const Whole *w = e->backend;
  const GlowTensor *t = glow_values_get(w->options.values, variable_of(e, i));
  return t ? glow_tensor_copy(e->executable->ctx, t) : NULL;
}

static const GlowEngine whole = {.run = run_whole, .first = first_value, .forget = forget_whole};

static GlowExecValue describe(const GlowValue *v, GlowAccess a, bool param) {
  GlowStorageClass cls = glow_outer_class(v);
  return (GlowExecValue){.name = v->name,
                         .type = v->type,
                         .loc = glow_value_loc(v),
                         .read = a.read || param,
                         .written = a.written,
                         .memory = cls == GLOW_CONSTANT   ? GLOW_MEMORY_CONSTANT
                                   : cls == GLOW_VARIABLE ? GLOW_MEMORY_VARIABLE
                                                          : GLOW_MEMORY_PORT};
}

/* A variable that grows has its first value from the beginning: runs compare its rows with what
 * inputs say. False after a diagnostic. */
static bool begin_rows(const GlowEntry *e, GlowValue *v, GlowExecValue *x) {
  const Whole *w = e->backend;
  if (x->memory != GLOW_MEMORY_VARIABLE || !(x->read || x->written) || !glow_type_grows(v->type))
    return true;
  x->room = glow_type_room(e->executable->ctx, v->type);
  x->value = glow_values_get(w->options.values, v->def.storage);
  return x->value != NULL;
}

/* The storage of the module, the parameters of the function, and its results. False after a
 * diagnostic. */
static bool describe_values(GlowEntry *e, GlowFunction *f) {
  GlowArena *arena = e->executable->arena;
  GlowOuterValues outer = glow_function_outer_values(f, arena);
  const GlowAccess *access = glow_function_accesses(f, arena).of;
  uint32_t nresults = f->kind == GLOW_FUNC ? f->nresults : 0, n = outer.count + nresults;
  GlowExecValue *values = GLOW_NEW_ARRAY(arena, GlowExecValue, n);
  bool ok = true;
  for (uint32_t i = 0; i < outer.count; i++) {
    GlowValue *v = outer.data[i];
    values[i] = describe(v, access[v->id], f->kind == GLOW_FUNC && v->kind == GLOW_VALUE_PARAM);
    ok = begin_rows(e, v, &values[i]) && ok;
  }
  const GlowStr *names = glow_function_result_names(f, arena);
  for (uint32_t i = 0; i < nresults; i++)
    values[outer.count + i] = (GlowExecValue){.name = names[i],
                                              .type = f->results[i],
                                              .loc = f->src,
                                              .written = true,
                                              .memory = GLOW_MEMORY_PORT};
  e->values = values;
  e->nvalues = n;
  return ok;
}

static GlowExecutable *whole_executable(GlowBackendFn run, GlowFunction *const *functions,
                                        uint32_t count, const GlowRunOptions *options) {
  GlowModule *m = functions[0]->module;
  GlowExecutable *e = glow_executable_make(glow_arena_create(m->ctx), count);
  GlowDefer defer;
  glow_defer_push(m->ctx, &defer, glow_executable_release_fn, e);
  GlowValues *values = e->shared = glow_values_create(m);
  e->release_shared = glow_values_destroy_fn;
  if (options->values)
    glow_values_copy_variables(values, options->values);
  for (const GlowStorage *g = m->first_storage; g; g = g->next)
    e->nstorage++;
  bool ok = true;
  for (uint32_t i = 0; i < count; i++) {
    Whole *w = GLOW_NEW(e->arena, Whole);
    *w = (Whole){.function = functions[i], .run = run, .options = *options};
    w->options.values = values;
    GlowEntry *entry = &e->entries[i];
    entry->name = functions[i]->name;
    entry->loc = functions[i]->src;
    const GlowExtents declared = glow_module_extents(m, e->arena);
    entry->declared = declared.data;
    entry->ndeclared = declared.count;
    entry->engine = &whole;
    entry->backend = w;
    ok = describe_values(entry, functions[i]) && ok;
  }
  glow_defer_pop(m->ctx, &defer, !ok);
  return ok ? e : NULL;
}

GlowExecutable *glow_backend_compile(const GlowBackend *b, GlowFunction *const *functions,
                                     uint32_t count, const GlowRunOptions *options) {
  return b->compile ? b->compile(functions, count, options)
                    : whole_executable(b->run, functions, count, options);
}

GlowRunnable *glow_backend_prepare(const GlowBackend *b, GlowFunction *f,
                                   const GlowBindings *inputs, const GlowRunOptions *options) {
  GlowExecutionSetup how = {.parallel = options->parallel, .profile = options->profile};
  return glow_runnable_create(glow_backend_compile(b, &f, 1, options), inputs, &how);
}
