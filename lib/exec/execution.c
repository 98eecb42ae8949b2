/* See execution.h. */
#include "exec/execution.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"
#include "support/deadline.h"
#include "support/pages.h"
#include "support/process.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

/* How the memory of an execution is divided: the arena with scratch memory, ports, tables. */
typedef struct Layout {
  int64_t align; /* of the arena */
  int64_t arena, ports, tables, extra;
} Layout;

/* Bytes for a port that the program touches; 0 for any other value. */
static int64_t port_bytes(const GlowExecValue *v, bool placed) {
  bool touched = v->memory == GLOW_MEMORY_PORT && (v->read || v->written);
  return touched && !(v->written && placed) ? glow_exec_round(glow_type_bytes(v->room) + 1) : 0;
}

static Layout layout_of(const GlowEntry *e, const GlowExecutionSetup *o) {
  int64_t workers = o->parallel ? o->parallel->workers : 1, n = e->nvalues;
  Layout l = {.align = e->align > GLOW_EXEC_ALIGN ? e->align : GLOW_EXEC_ALIGN,
              .extra = glow_exec_round(o->extra)};
  if (!e->program)
    return l;
  l.arena = glow_exec_round(e->memory + workers * e->scratch);
  for (uint32_t i = 0; i < e->nvalues; i++)
    l.ports += port_bytes(&e->values[i], o->placed);
  l.tables = glow_exec_round(n * (int64_t)(sizeof(GlowTensor) + 3 * sizeof(void *)) +
                             e->program->naddresses * (int64_t)sizeof(void *) +
                             e->program->loops * 2 * (int64_t)sizeof(int64_t));
  return l;
}

int64_t glow_execution_bytes(const GlowEntry *e, const GlowExecutionSetup *o) {
  Layout l = layout_of(e, o);
  return l.align + l.arena + l.ports + l.tables + l.extra;
}

/* `bytes` of the memory at *at, which moves on. */
static void *take(uint8_t **at, int64_t bytes) {
  uint8_t *taken = *at;
  *at += bytes;
  return taken;
}

static void place_tables(GlowExecution *x, uint8_t *at) {
  const GlowProgram *p = x->entry->program;
  int64_t n = x->entry->nvalues, pointers = n * (int64_t)sizeof(void *);
  x->storage = take(&at, pointers);
  x->own = take(&at, pointers);
  x->places = take(&at, pointers);
  x->context.resolved = take(&at, p->naddresses * (int64_t)sizeof(void *));
  x->context.rounds = take(&at, p->loops * 2 * (int64_t)sizeof(int64_t));
  x->tensors = take(&at, n * (int64_t)sizeof(GlowTensor));
  x->context.storage = x->storage;
}

/* Memory of ports behind the arena, and where constants are. */
static void place_values(GlowExecution *x, uint8_t *ports, bool placed) {
  const GlowEntry *e = x->entry;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    int64_t bytes = port_bytes(v, placed);
    if (v->memory == GLOW_MEMORY_PORT && (v->read || v->written)) {
      x->own[i] = x->storage[i] = bytes ? take(&ports, bytes) : NULL;
      x->tensors[i] = (GlowTensor){.type = v->before, .data = x->own[i]};
      x->tensors[i].bytes = (size_t)glow_type_bytes(v->before);
    } else if (v->memory == GLOW_MEMORY_CONSTANT && v->value) {
      x->tensors[i] = *v->value;
      x->storage[i] = v->value->data;
    }
  }
}

static bool allocate(GlowExecution *x, const GlowExecutionSetup *o) {
  const GlowEntry *e = x->entry;
  Layout l = layout_of(e, o);
  int64_t all = glow_execution_bytes(e, o);
  uint8_t *memory = o->memory;
  if (!memory) {
    memory = x->memory = malloc((size_t)all);
    if (!memory)
      return false;
    glow_prefer_large_pages(memory, (size_t)all);
  }
  uint8_t *arena = memory + (l.align - (int64_t)((uintptr_t)memory % (uintptr_t)l.align)) % l.align;
  uint8_t *tables = arena + l.arena + l.ports;
  memset(tables, 0, (size_t)(l.tables + l.extra));
  x->extra = tables + l.tables;
  if (!e->program)
    return true;
  int64_t workers = o->parallel ? o->parallel->workers : 1;
  x->arena = e->memory + workers * e->scratch;
  x->bytes = l.arena + l.ports;
  x->context.arena = arena;
  place_tables(x, tables);
  place_values(x, arena + l.arena, o->placed);
  return true;
}

static void hook(GlowFault *fault, int64_t piece);

static bool prepare(GlowExecution *x, const GlowExecutionSetup *o) {
  const GlowEntry *e = x->entry;
  x->profiled = o->profile;
  if (!allocate(x, o))
    return false;
  if (!e->program)
    return true;
  if (o->profile && !(x->profile = glow_profile_create(e->pieces, e->npieces)))
    return false;
  x->context.fault = &x->fault;
  x->context.host = e->engine->host;
  x->context.hook = hook;
  x->context.apart = o->profile;
  glow_resolve(e->program, &x->context, x->context.resolved);
  return true;
}

GlowExecution *glow_execution_make(GlowEntry *e, const GlowExecutionSetup *o) {
  GlowExecution *x = calloc(1, sizeof *x);
  if (!x)
    return NULL;
  atomic_init(&x->busy, false);
  atomic_init(&x->stop, false);
  glow_executable_retain(e->executable);
  x->entry = e;
  x->context.parallel = o->parallel;
  if (prepare(x, o))
    return x;
  glow_execution_destroy(x);
  return NULL;
}

/* Calls of the engine take turns; messages meanwhile are about x. */
static void lock(GlowExecution *x) {
  pthread_mutex_lock(&x->entry->executable->lock);
  x->entry->executable->speaker = x;
}

static void unlock(GlowExecution *x) {
  x->entry->executable->speaker = NULL;
  pthread_mutex_unlock(&x->entry->executable->lock);
}

void glow_execution_destroy(GlowExecution *x) {
  if (!x)
    return;
  if (x->entry->engine->forget) {
    lock(x);
    x->entry->engine->forget(x);
    unlock(x);
  }
  if (x->entry->program)
    glow_profile_destroy(x->profile);
  glow_pool_destroy(x->pool);
  glow_executable_release(x->entry->executable);
  free(x->memory);
  free(x);
}

/* ---- Operands of a run ----------------------------------------------------------------------- */

/* Lets the program find value i in t. */
static bool use(GlowExecution *x, uint32_t i, const GlowTensor *t) {
  bool moved = x->storage[i] != t->data;
  x->tensors[i] = *t;
  x->storage[i] = t->data;
  return moved;
}

/* Gives a port the place that somebody chose, or its own memory, with the value that it has before
 * the run. */
static bool use_place(GlowExecution *x, uint32_t i, const GlowTensor *input) {
  const GlowExecValue *v = &x->entry->values[i];
  const GlowType *type = input ? input->type : v->cleared ? v->before : x->tensors[i].type;
  void *place = x->places[i] ? x->places[i] : x->own[i];
  GlowTensor t = {.type = type, .data = place, .bytes = (size_t)glow_type_bytes(type)};
  if (input && input->data != place)
    memcpy(t.data, input->data, input->bytes);
  else if (input)
    return use(x, i, &t);
  else if (v->cleared)
    memset(t.data, 0, (size_t)glow_type_bytes(v->room));
  return use(x, i, &t);
}

/* Where all values are. False: the caller has left one out. */
static bool take_operands(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  const GlowEntry *e = x->entry;
  bool moved = false;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    const GlowTensor *t = inputs ? inputs[i] : NULL;
    if (v->memory == GLOW_MEMORY_CONSTANT || !(v->read || v->written))
      continue;
    if (v->memory == GLOW_MEMORY_VARIABLE) {
      if (!s)
        return false;
      moved |= use(x, i, s->values[i]);
    } else if (v->written || (t && (uintptr_t)t->data % GLOW_EXEC_ALIGN)) {
      moved |= use_place(x, i, v->read || !v->written ? t : NULL);
    } else if (t) {
      moved |= use(x, i, t);
    } else {
      return false;
    }
  }
  if (moved)
    glow_resolve(e->program, &x->context, x->context.resolved);
  return true;
}

/* The first axis, in the order of the inputs, whose extent is `symbol`. */
static int64_t first_extent(const GlowEntry *e, const GlowTensor *const *inputs,
                            const GlowExtent *symbol, GlowStr *name) {
  for (uint32_t i = 0;; i++)
    for (uint32_t a = 0; inputs[i] && a < e->values[i].type->rank; a++)
      if (e->values[i].type->dims[a].extent == symbol) {
        *name = e->values[i].name;
        return inputs[i]->type->dims[a].size;
      }
}

typedef struct Agreement {
  const GlowEntry *entry;
  const GlowTensor *const *inputs;
  bool ok;
} Agreement;

/* Compares extents that one symbol names; reports those that differ. */
static void compare_extents(GlowContext *ctx, void *arg) {
  Agreement *g = arg;
  for (uint32_t i = 0; i < g->entry->nvalues; i++) {
    const GlowExecValue *v = &g->entry->values[i];
    for (uint32_t a = 0; g->inputs[i] && a < v->type->rank; a++) {
      GlowStr other;
      const GlowDim *d = &v->type->dims[a];
      int64_t size = g->inputs[i]->type->dims[a].size;
      int64_t first = d->extent ? first_extent(g->entry, g->inputs, d->extent, &other) : size;
      if (first == size)
        continue;
      glow_error(ctx, v->loc, "input '%s' has extent %lld along axis %u, but $%s is %lld by '%s'",
                 v->name, (long long)size, a, d->symbol, (long long)first, other);
      g->ok = false;
    }
  }
}

static bool has_ranges(const GlowEntry *e) {
  for (uint32_t i = 0; i < e->nvalues; i++)
    if (e->values[i].memory == GLOW_MEMORY_PORT && glow_type_has_symbols(e->values[i].type))
      return true;
  return false;
}

/* Whether inputs that name the same symbol have the same extent there. */
static GlowStatus check_extents(GlowExecution *x, const GlowTensor *const *inputs) {
  Agreement g = {x->entry, inputs, true};
  if (!inputs || !has_ranges(x->entry))
    return GLOW_OK;
  lock(x);
  GlowStatus status = glow_protect(x->entry->executable->ctx, compare_extents, &g);
  unlock(x);
  return status != GLOW_OK ? status : g.ok ? GLOW_OK : GLOW_BAD_INPUT;
}

/* What HOST steps did to extents of variables. */
static void give_back(GlowExecution *x, GlowState *s) {
  for (uint32_t i = 0; s && i < x->entry->executable->nstorage; i++)
    if (s->values[i] && x->storage[i]) {
      s->values[i]->type = x->tensors[i].type;
      s->values[i]->bytes = x->tensors[i].bytes;
    }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Whether code is to be made that nobody has begun with. */
static bool waits(const GlowExecutable *e) {
  return e->background && !glow_background_started(e->background);
}

/* A program whose loop runs for long gets better code meanwhile. */
static void look_at_clock(const GlowExecution *x) {
  const GlowExecutable *e = x->entry->executable;
  if (waits(e) && glow_clock() - x->since >= e->patience)
    glow_background_start(e->background);
}

/* Called after each piece, and after each round of a loop. */
static void hook(GlowFault *fault, int64_t piece) {
  GlowExecution *x = (GlowExecution *)fault;
  if (x->profile && piece >= 0)
    glow_profile_note(x->profile, (uint32_t)piece);
  if (piece < 0)
    look_at_clock(x);
  if (atomic_load_explicit(&x->stop, memory_order_relaxed))
    fault->error = GLOW_FAULT_STOP;
  else if (glow_deadline_over(x->entry->executable->ctx))
    fault->error = GLOW_FAULT_LATE;
}

/* Round to nearest, denormals kept, whatever the caller has set; and what has been raised since
 * stays unseen. */
static void walk(GlowExecution *x) {
#ifdef __x86_64__
  /* <fenv.h> takes a tenth of a small network's time, since it stores all registers of the x87. */
  const uint32_t flags = 0x3f, sse = __builtin_ia32_stmxcsr();
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  if ((sse & ~flags) == 0x1f80 && x87 == 0x37f) {
    glow_walk(x->entry->program, &x->context);
    __builtin_ia32_ldmxcsr(sse);
    return;
  }
#endif
  fenv_t saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  glow_walk(x->entry->program, &x->context);
  fesetenv(&saved);
}

/* A call of the engine under the executable's lock; a throw ends there. */
typedef struct Call {
  GlowExecution *x;
  GlowState *state;
  const GlowTensor *const *inputs;
  void (*function)(GlowExecution *x);
  GlowStatus status;
} Call;

static void call_function(GlowContext *ctx, void *arg) {
  Call *c = arg;
  (void)ctx;
  c->function(c->x);
}

/* Calls `function` of the engine, if the executable has it. */
static GlowStatus call_engine(GlowExecution *x, void (*function)(GlowExecution *x)) {
  Call c = {.x = x, .function = function};
  return function ? glow_protect(x->entry->executable->ctx, call_function, &c) : GLOW_OK;
}

static void walk_profiled(GlowExecution *x) {
  if (x->profile)
    glow_profile_begin(x->profile);
  walk(x);
  if (x->profile)
    glow_profile_end(x->profile);
}

/* Runs with HOST steps take turns. */
static GlowStatus walk_hosted(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  lock(x);
  GlowStatus status = call_engine(x, e->engine->begin);
  if (status == GLOW_OK) {
    walk_profiled(x);
    status = call_engine(x, e->engine->end);
  }
  unlock(x);
  return status;
}

static GlowStatus report(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  lock(x);
  GlowStatus status = call_engine(x, e->engine->report);
  unlock(x);
  return status == GLOW_OK ? GLOW_BAD_INPUT : status;
}

static GlowStatus run_program(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  if (!take_operands(x, s, inputs))
    return GLOW_BAD_USAGE;
  GlowStatus status = GLOW_OK;
  if (x->entry->engine->begin)
    status = walk_hosted(x);
  else
    walk_profiled(x);
  give_back(x, s);
  if (status != GLOW_OK)
    return status;
  switch (x->fault.error) {
  case GLOW_FAULT_NONE:
    return GLOW_OK;
  case GLOW_FAULT_STOP:
    return GLOW_CANCELLED;
  case GLOW_FAULT_HOSTED:
    return GLOW_BAD_INPUT;
  default:
    return report(x);
  }
}

static void call_run(GlowContext *ctx, void *arg) {
  Call *c = arg;
  (void)ctx;
  c->status = c->x->entry->engine->run(c->x, c->state, c->inputs);
}

static GlowStatus run_whole(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  const GlowEntry *e = x->entry;
  Call c = {.x = x, .state = s, .inputs = inputs};
  lock(x);
  GlowStatus status = glow_protect(e->executable->ctx, call_run, &c);
  unlock(x);
  return status == GLOW_OK ? c.status : status;
}

/* Runs, and counts the time until programs get better code: when they have run for long, and run
 * again. Whoever runs once so waits for nobody at the end. */
static GlowStatus run_counted(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  GlowExecutable *e = x->entry->executable;
  x->since = waits(e) ? glow_clock() : 0;
  if (x->since > 0 && atomic_load_explicit(&e->spent, memory_order_relaxed) >= e->patience * 1e9)
    glow_background_start(e->background);
  GlowStatus status = run_program(x, s, inputs);
  if (x->since > 0 && waits(e))
    atomic_fetch_add_explicit(&e->spent, (long long)((glow_clock() - x->since) * 1e9),
                              memory_order_relaxed);
  return status;
}

GlowStatus glow_execution_begin(GlowExecution *x, GlowState *s) {
  if (atomic_exchange_explicit(&x->busy, true, memory_order_acquire))
    return GLOW_BUSY;
  if (!s || !atomic_exchange_explicit(&s->busy, true, memory_order_acquire))
    return GLOW_OK;
  atomic_store_explicit(&x->busy, false, memory_order_release);
  return GLOW_BUSY;
}

GlowStatus glow_execution_go(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  GlowStatus status = check_extents(x, inputs);
  if (status == GLOW_OK)
    status = x->entry->program ? run_counted(x, s, inputs) : run_whole(x, s, inputs);
  if (status == GLOW_CANCELLED) /* a stop that came too late for this run ends the next one */
    atomic_store_explicit(&x->stop, false, memory_order_relaxed);
  return status;
}

void glow_execution_end(GlowExecution *x, GlowState *s) {
  if (s)
    atomic_store_explicit(&s->busy, false, memory_order_release);
  atomic_store_explicit(&x->busy, false, memory_order_release);
}

GlowStatus glow_execution_call(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  GlowStatus status = glow_execution_begin(x, s);
  if (status != GLOW_OK)
    return status;
  status = glow_execution_go(x, s, inputs);
  glow_execution_end(x, s);
  return status;
}

const GlowTensor *glow_execution_tensor(const GlowExecution *x, uint32_t i) {
  const GlowExecValue *v = &x->entry->values[i];
  return v->memory == GLOW_MEMORY_PORT && v->written && x->own ? &x->tensors[i] : NULL;
}

void glow_execution_stop(GlowExecution *x) {
  atomic_store_explicit(&x->stop, true, memory_order_relaxed);
}
