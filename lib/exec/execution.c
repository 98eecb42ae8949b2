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

/* Bytes for a port that the program touches; 0 for any other value. */
static int64_t port_bytes(const GlowExecValue *v) {
  bool touched = v->memory == GLOW_MEMORY_PORT && (v->read || v->written);
  return touched ? glow_exec_round(glow_type_bytes(v->room) + 1) : 0;
}

/* Memory of ports behind the arena, and where constants are. */
static void place_values(GlowExecution *x, uint8_t *ports) {
  const GlowEntry *e = x->entry;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    int64_t bytes = port_bytes(v);
    if (bytes) {
      x->own[i] = ports;
      x->storage[i] = ports;
      x->tensors[i] = (GlowTensor){.type = v->before, .data = ports};
      x->tensors[i].bytes = (size_t)glow_type_bytes(v->before);
      ports += bytes;
    } else if (v->memory == GLOW_MEMORY_CONSTANT && v->value) {
      x->tensors[i] = *v->value;
      x->storage[i] = v->value->data;
    }
  }
}

static bool allocate_memory(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  const GlowParallel *parallel = x->context.parallel;
  int64_t workers = parallel ? parallel->workers : 1;
  int64_t arena = glow_exec_round(e->memory + workers * e->scratch), ports = 0;
  x->arena = e->memory + workers * e->scratch;
  for (uint32_t i = 0; i < e->nvalues; i++)
    ports += port_bytes(&e->values[i]);
  x->bytes = arena + ports;
  int64_t align = e->align > GLOW_EXEC_ALIGN ? e->align : GLOW_EXEC_ALIGN;
  x->memory = malloc((size_t)(x->bytes + align));
  if (!x->memory)
    return false;
  glow_prefer_large_pages(x->memory, (size_t)(x->bytes + align));
  uint8_t *aligned =
      x->memory + (align - (int64_t)((uintptr_t)x->memory % (uintptr_t)align)) % align;
  x->context.arena = aligned;
  place_values(x, aligned + arena);
  return true;
}

static bool allocate_tables(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  const GlowProgram *p = e->program;
  size_t n = (size_t)e->nvalues + 1;
  x->storage = calloc(n, sizeof *x->storage);
  x->own = calloc(n, sizeof *x->own);
  x->tensors = calloc(n, sizeof *x->tensors);
  x->context.rounds = calloc(2 * (size_t)p->loops + 1, sizeof(int64_t));
  x->context.resolved = calloc((size_t)p->naddresses + 1, sizeof(void *));
  x->context.storage = x->storage;
  return x->storage && x->own && x->tensors && x->context.rounds && x->context.resolved;
}

static void hook(GlowFault *fault, int64_t piece);

static bool prepare(GlowExecution *x, const GlowExecutionSetup *o) {
  const GlowEntry *e = x->entry;
  x->profiled = o->profile;
  if (!e->program)
    return true;
  if (o->profile && !(x->profile = glow_profile_create(e->pieces, e->npieces)))
    return false;
  if (!allocate_tables(x) || !allocate_memory(x))
    return false;
  x->context.fault = &x->fault;
  x->context.host = e->engine->host;
  x->context.hook = hook;
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

void glow_execution_destroy(GlowExecution *x) {
  if (!x)
    return;
  if (x->entry->engine->forget) {
    pthread_mutex_lock(&x->entry->executable->lock);
    x->entry->engine->forget(x);
    pthread_mutex_unlock(&x->entry->executable->lock);
  }
  if (x->entry->program)
    glow_profile_destroy(x->profile);
  glow_executable_release(x->entry->executable);
  free(x->context.resolved);
  free(x->context.rounds);
  free(x->memory);
  free(x->tensors);
  free(x->own);
  free(x->storage);
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

/* Gives a port its own memory, with the value that it has before the run. */
static bool use_own(GlowExecution *x, uint32_t i, const GlowTensor *input) {
  const GlowExecValue *v = &x->entry->values[i];
  const GlowType *type = input ? input->type : v->cleared ? v->before : x->tensors[i].type;
  GlowTensor t = {.type = type, .data = x->own[i], .bytes = (size_t)glow_type_bytes(type)};
  if (input)
    memcpy(t.data, input->data, input->bytes);
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
      moved |= use_own(x, i, v->read || !v->written ? t : NULL);
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

/* What HOST steps did to extents of variables. */
static void give_back(GlowExecution *x, GlowState *s) {
  for (uint32_t i = 0; s && i < x->entry->executable->nstorage; i++)
    if (s->values[i] && x->storage[i]) {
      s->values[i]->type = x->tensors[i].type;
      s->values[i]->bytes = x->tensors[i].bytes;
    }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Called after each piece. */
static void hook(GlowFault *fault, int64_t piece) {
  GlowExecution *x = (GlowExecution *)fault;
  if (x->profile && piece >= 0)
    glow_profile_note(x->profile, (uint32_t)piece);
  if (atomic_load_explicit(&x->stop, memory_order_relaxed))
    fault->error = GLOW_FAULT_STOP;
  else if (glow_deadline_over(x->entry->executable->ctx))
    fault->error = GLOW_FAULT_LATE;
}

/* Round to nearest, denormals kept, whatever the caller has set. */
static void walk(GlowExecution *x) {
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
  pthread_mutex_lock(&e->executable->lock);
  GlowStatus status = call_engine(x, e->engine->begin);
  if (status == GLOW_OK) {
    walk_profiled(x);
    e->engine->end(x);
  }
  pthread_mutex_unlock(&e->executable->lock);
  return status;
}

static GlowStatus report(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  pthread_mutex_lock(&e->executable->lock);
  GlowStatus status = call_engine(x, e->engine->report);
  pthread_mutex_unlock(&e->executable->lock);
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
  pthread_mutex_lock(&e->executable->lock);
  GlowStatus status = glow_protect(e->executable->ctx, call_run, &c);
  pthread_mutex_unlock(&e->executable->lock);
  return status == GLOW_OK ? c.status : status;
}

/* Adds the time of a run. Programs that run for long get better code. */
static void count_time(GlowExecutable *e, double seconds) {
  long long spent = (long long)(seconds * 1e9);
  spent += atomic_fetch_add_explicit(&e->spent, spent, memory_order_relaxed);
  if ((double)spent * 1e-9 >= e->patience)
    glow_background_start(e->background);
}

static GlowStatus run_counted(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  GlowExecutable *e = x->entry->executable;
  bool counted = e->background && !glow_background_started(e->background);
  double since = counted ? glow_clock() : 0;
  GlowStatus status = run_program(x, s, inputs);
  if (counted)
    count_time(e, glow_clock() - since);
  return status;
}

GlowStatus glow_execution_call(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  if (atomic_exchange_explicit(&x->busy, true, memory_order_acquire))
    return GLOW_BUSY;
  GlowStatus status = GLOW_BUSY;
  if (!s || !atomic_exchange_explicit(&s->busy, true, memory_order_acquire)) {
    status = x->entry->program ? run_counted(x, s, inputs) : run_whole(x, s, inputs);
    atomic_store_explicit(&x->stop, false, memory_order_relaxed);
    if (s)
      atomic_store_explicit(&s->busy, false, memory_order_release);
  }
  atomic_store_explicit(&x->busy, false, memory_order_release);
  return status;
}

const GlowTensor *glow_execution_tensor(const GlowExecution *x, uint32_t i) {
  const GlowExecValue *v = &x->entry->values[i];
  return v->memory == GLOW_MEMORY_PORT && v->written && x->own ? &x->tensors[i] : NULL;
}

void glow_execution_stop(GlowExecution *x) {
  atomic_store_explicit(&x->stop, true, memory_order_relaxed);
}
