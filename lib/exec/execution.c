/* See execution.h. */
#include "exec/execution.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "exec/extents.h"
#include "exec/memory.h"
#include "support/deadline.h"
#include "support/pages.h"
#include "support/process.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

/* How the memory of an execution is divided: what stays, ports, tables of values and what selects
 * programs, then what is divided anew for other extents, the arena with scratch memory and tables
 * of addresses. */
typedef struct Layout {
  int64_t align; /* of the arena */
  int64_t ports, values, selector, extra;
  int64_t arena, tables;
} Layout;

/* Bytes for a port that the program touches; 0 for any other value. */
static int64_t port_bytes(const GlowExecValue *v, bool placed) {
  bool touched = v->memory == GLOW_MEMORY_PORT && (v->read || v->written);
  return touched && !(v->written && placed) ? glow_exec_round(glow_type_bytes(v->room) + 1) : 0;
}

/* What the program of an entry needs; of the whole entry, what any of its programs does. */
static GlowEntryNeeds needs_of(const GlowEntry *e) {
  return e->selector
             ? e->most
             : (GlowEntryNeeds){e->memory, e->scratch, e->program->naddresses, e->program->loops};
}

static int64_t arena_bytes(const GlowEntryNeeds *needs, const GlowParallel *parallel) {
  return needs->memory + (parallel ? parallel->workers : 1) * needs->scratch;
}

static int64_t table_bytes(const GlowEntryNeeds *needs) {
  return needs->addresses * (int64_t)sizeof(void *) + needs->loops * 2 * (int64_t)sizeof(int64_t);
}

static int64_t up_to(int64_t bytes, int64_t align) { return (bytes + align - 1) / align * align; }

static Layout layout_of(const GlowEntry *e, const GlowExecutionSetup *o) {
  int64_t n = e->nvalues;
  Layout l = {.align = e->align > GLOW_EXEC_ALIGN ? e->align : GLOW_EXEC_ALIGN,
              .extra = glow_exec_round(o->extra)};
  if (!e->program)
    return l;
  for (uint32_t i = 0; i < e->nvalues; i++)
    l.ports += port_bytes(&e->values[i], o->placed);
  l.values = glow_exec_round(n * (int64_t)(sizeof(GlowTensor) + 3 * sizeof(void *)) +
                             e->nsymbols * (int64_t)sizeof(int64_t));
  const GlowEntryNeeds needs = needs_of(e);
  l.selector = glow_exec_round(e->selector_bytes);
  l.arena = glow_exec_round(arena_bytes(&needs, o->parallel));
  l.tables = glow_exec_round(table_bytes(&needs));
  return l;
}

static int64_t lasting(const Layout *l) {
  return up_to(l->ports + l->values + l->extra + l->selector, l->align);
}

int64_t glow_execution_bytes(const GlowEntry *e, const GlowExecutionSetup *o) {
  Layout l = layout_of(e, o);
  return l.align + lasting(&l) + l.arena + l.tables;
}

/* `bytes` of the memory at *at, which moves on. */
static void *take(uint8_t **at, int64_t bytes) {
  uint8_t *taken = *at;
  *at += bytes;
  return taken;
}

static uint8_t *aligned(uint8_t *memory, int64_t align) {
  return memory + (align - (int64_t)((uintptr_t)memory % (uintptr_t)align)) % align;
}

/* Memory of ports, and tables of values. */
static void place_values(GlowExecution *x, uint8_t *ports, uint8_t *tables, bool placed) {
  const GlowEntry *e = x->entry;
  int64_t n = e->nvalues, pointers = n * (int64_t)sizeof(void *);
  x->tensors = take(&tables, n * (int64_t)sizeof(GlowTensor));
  x->storage = take(&tables, pointers);
  x->own = take(&tables, pointers);
  x->places = take(&tables, pointers);
  x->extents = take(&tables, e->nsymbols * (int64_t)sizeof(int64_t));
  x->context.storage = x->storage;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    int64_t bytes = port_bytes(&e->values[i], placed);
    x->own[i] = bytes ? take(&ports, bytes) : NULL;
  }
  for (uint32_t i = 0; i < e->nsymbols; i++)
    x->extents[i] = e->extents[i];
}

/* The values that x->now has before a run. */
static void begin_values(GlowExecution *x) {
  const GlowEntry *e = x->now;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    if (v->memory == GLOW_MEMORY_PORT && (v->read || v->written)) {
      x->storage[i] = x->own[i];
      x->tensors[i] = (GlowTensor){.type = v->before, .data = x->own[i]};
      x->tensors[i].bytes = (size_t)glow_type_bytes(v->before);
    } else if (v->memory == GLOW_MEMORY_CONSTANT && v->value) {
      x->tensors[i] = *v->value;
      x->storage[i] = v->value->data;
    }
  }
}

/* Divides the memory at `at` for the program of x->now. */
static void place_program(GlowExecution *x, uint8_t *at, const Layout *l) {
  const GlowEntry *now = x->now;
  const GlowProgram *p = now->program;
  uint8_t *tables = at + l->arena;
  memset(tables, 0, (size_t)l->tables);
  x->arena = now->memory + (x->context.parallel ? x->context.parallel->workers : 1) * now->scratch;
  x->bytes = l->ports + l->arena;
  x->context.arena = at;
  x->context.resolved = take(&tables, p->naddresses * (int64_t)sizeof(void *));
  x->context.rounds = take(&tables, p->loops * 2 * (int64_t)sizeof(int64_t));
  begin_values(x);
  glow_resolve(p, &x->context, x->context.resolved);
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
  uint8_t *ports = aligned(memory, l.align), *tables = ports + l.ports;
  memset(tables, 0, (size_t)(l.values + l.extra));
  x->extra = tables + l.values;
  if (!e->program)
    return true;
  if (e->selector && !o->profile)
    x->selector = e->engine->selector_begin(e, tables + l.values + l.extra);
  x->divided = ports + lasting(&l);
  x->room = l.arena + l.tables;
  place_values(x, ports, tables, o->placed);
  place_program(x, x->divided, &l);
  return true;
}

static void hook(GlowFault *fault, int64_t piece);

/* A profile of the program of x->now, if somebody asked for one. */
static bool make_profile(GlowExecution *x) {
  const GlowEntry *e = x->now;
  if (!x->profiled || !e->program)
    return true;
  glow_profile_destroy(x->profile);
  x->profile = glow_profile_create(e->pieces, e->npieces);
  return x->profile != NULL;
}

static bool prepare(GlowExecution *x, const GlowExecutionSetup *o) {
  x->profiled = o->profile;
  x->context.fault = &x->fault;
  x->context.host = x->now->engine->host;
  x->context.hook = hook;
  x->context.apart = o->profile;
  return allocate(x, o) && make_profile(x);
}

GlowExecution *glow_execution_make(GlowEntry *e, const GlowExecutionSetup *o) {
  GlowExecution *x = calloc(1, sizeof *x);
  if (!x)
    return NULL;
  atomic_init(&x->busy, false);
  atomic_init(&x->stop, false);
  glow_executable_retain(e->executable);
  x->entry = x->now = e;
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

static bool is_selected(const GlowExecution *x) { return x->selector && x->now == x->selector; }

/* Gives up the program of x->now and what its engine keeps for x. */
static void leave_program(GlowExecution *x) {
  GlowEntry *now = x->now;
  if (now->engine->forget) {
    lock(x);
    now->engine->forget(x);
    unlock(x);
  }
  bool shared = now != x->entry && !is_selected(x);
  x->now = x->entry;
  if (shared)
    x->entry->engine->leave(now);
}

void glow_execution_destroy(GlowExecution *x) {
  if (!x)
    return;
  leave_program(x);
  if (x->selector)
    x->entry->engine->selector_end(x->selector);
  if (x->entry->program)
    glow_profile_destroy(x->profile);
  glow_pool_destroy(x->pool);
  glow_executable_release(x->entry->executable);
  free(x->memory);
  free(x->larger);
  free(x);
}

/* ---- Programs for other extents -------------------------------------------------------------- */

/* x runs the program of x->now from now on. Memory is allocated only if this program needs more
 * than there is. */
static bool begin_program(GlowExecution *x) {
  Layout l = layout_of(x->now, &(GlowExecutionSetup){.parallel = x->context.parallel});
  int64_t bytes = l.arena + l.tables;
  if (bytes > x->room) {
    uint8_t *larger = malloc((size_t)(l.align + bytes));
    if (!larger)
      return false;
    free(x->larger);
    x->larger = larger;
    x->divided = aligned(larger, l.align);
    x->room = bytes;
  }
  x->context.host = x->now->engine->host;
  place_program(x, x->divided, &l);
  return make_profile(x);
}

typedef struct Turn {
  const GlowEntry *entry;
  const int64_t *extents;
  GlowEntry *now; /* NULL: a message says why not */
} Turn;

static void ask_engine(GlowContext *ctx, void *arg) {
  Turn *t = arg;
  (void)ctx;
  t->now = t->entry->engine->at(t->entry, t->extents);
}

static int64_t extent_of(const GlowExecution *x, const GlowState *s,
                         const GlowTensor *const *inputs, uint32_t symbol) {
  const GlowEntrySymbol *at = &x->entry->symbols[symbol];
  return glow_entry_extent(x->entry, s, inputs, at->value, at->axis);
}

/* Sets x->extents to those of the inputs and variables. Whether they were others. */
static bool take_extents(GlowExecution *x, const GlowState *s, const GlowTensor *const *inputs) {
  bool others = false;
  for (uint32_t i = 0; i < x->entry->nsymbols; i++) {
    int64_t size = extent_of(x, s, inputs, i);
    others |= size != x->extents[i];
    x->extents[i] = size;
  }
  return others;
}

/* Whether x->extents are those of the entry's own program, which x runs when it has left another.
 */
static bool is_entry(GlowExecution *x) {
  const GlowEntry *e = x->entry;
  return !memcmp(e->extents, x->extents, e->nsymbols * sizeof *e->extents);
}

/* Whether there is a program for x->extents that executions share, which x runs then. */
static bool take_shared(GlowExecution *x) {
  x->seen = atomic_load(&x->entry->shared);
  GlowEntry *found = x->entry->engine->find(x->entry, x->extents);
  if (found)
    x->now = found;
  return found != NULL;
}

/* Whether x can select the program for x->extents itself, which it runs then. */
static bool take_selected(GlowExecution *x) {
  GlowEntry *now = x->selector ? x->entry->engine->selector_at(x->selector, x->extents) : NULL;
  if (now)
    x->now = now;
  return now != NULL;
}

/* Asks the engine for the program for x->extents. A failure has a diagnostic, or is a throw. */
static GlowStatus take_made(GlowExecution *x) {
  Turn t = {.entry = x->entry, .extents = x->extents};
  lock(x);
  GlowStatus status = glow_protect(x->entry->executable->ctx, ask_engine, &t);
  unlock(x);
  x->now = t.now ? t.now : x->entry;
  return status == GLOW_OK && !t.now ? GLOW_BAD_INPUT : status;
}

/* Lets x run the program for the extents of the inputs and variables. */
static GlowStatus turn(GlowExecution *x, const GlowState *s, const GlowTensor *const *inputs) {
  const GlowEntry *e = x->entry;
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < e->nsymbols; i++)
    if (extent_of(x, s, inputs, i) < 0)
      return GLOW_BAD_USAGE;
  if (take_extents(x, s, inputs)) {
    leave_program(x);
    if (!is_entry(x) && !take_shared(x) && !take_selected(x))
      status = take_made(x);
  } else if (!is_selected(x) || x->seen == atomic_load(&e->shared) || !take_shared(x)) {
    return GLOW_OK;
  }
  if (!begin_program(x) && status == GLOW_OK)
    status = GLOW_NO_MEMORY;
  if (status != GLOW_OK)
    x->extents[0] = -1; /* the next run asks again */
  return status;
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
  const GlowExecValue *v = &x->now->values[i];
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
  const GlowEntry *e = x->now;
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

/* Whether inputs and variables that name the same symbol have the same extent there. */
static GlowStatus check_extents(GlowExecution *x, const GlowState *s,
                                const GlowTensor *const *inputs) {
  if (!glow_entry_has_ranges(x->entry) || glow_entry_extents_agree(x->entry, s, inputs))
    return GLOW_OK;
  lock(x);
  GlowStatus status = glow_entry_report_extents(x->entry, s, inputs);
  unlock(x);
  return status;
}

/* What HOST steps did to extents of variables. */
static void give_back(GlowExecution *x, GlowState *s) {
  for (uint32_t i = 0; s && i < x->entry->executable->nstorage; i++)
    if (s->values[i] && x->storage[i]) {
      s->values[i]->type = x->tensors[i].type;
      s->values[i]->bytes = x->tensors[i].bytes;
    }
}

/* Gives variables that grow the rows that the run has added. */
static void grow(const GlowExecution *x, GlowState *s) {
  for (uint32_t i = 0; s && i < x->entry->executable->nstorage; i++) {
    const GlowType *after = x->now->values[i].after;
    if (after)
      glow_state_resize(s, i, after);
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* What makes better code for the program that x runs, or NULL. */
static GlowBackground *background_of(const GlowExecution *x) {
  return x->now == x->entry ? x->entry->executable->background : x->now->background;
}

/* Whether code is to be made that nobody has begun with. */
static bool waits(const GlowExecution *x) {
  GlowBackground *b = background_of(x);
  return b && !glow_background_started(b);
}

/* A program whose loop runs for long gets better code meanwhile. */
static void look_at_clock(const GlowExecution *x) {
  if (waits(x) && glow_clock() - x->since >= x->entry->executable->patience)
    glow_background_start(background_of(x));
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
    glow_walk(x->now->program, &x->context);
    __builtin_ia32_ldmxcsr(sse);
    return;
  }
#endif
  fenv_t saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  glow_walk(x->now->program, &x->context);
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

/* The interpreter compares types by address. */
static void intern_types(GlowExecution *x) {
  for (uint32_t i = 0; i < x->now->nvalues; i++)
    if (x->tensors[i].type)
      x->tensors[i].type = glow_type_interned(x->entry->executable->ctx, x->tensors[i].type);
}

/* Runs with HOST steps take turns. */
static GlowStatus walk_hosted(GlowExecution *x) {
  const GlowEntry *e = x->now;
  lock(x);
  GlowStatus status = call_engine(x, intern_types);
  if (status == GLOW_OK)
    status = call_engine(x, e->engine->begin);
  if (status == GLOW_OK) {
    walk_profiled(x);
    status = call_engine(x, e->engine->end);
  }
  unlock(x);
  return status;
}

static GlowStatus report(GlowExecution *x) {
  const GlowEntry *e = x->now;
  lock(x);
  GlowStatus status = call_engine(x, e->engine->report);
  unlock(x);
  return status == GLOW_OK ? GLOW_BAD_INPUT : status;
}

static GlowStatus run_program(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  if (!take_operands(x, s, inputs))
    return GLOW_BAD_USAGE;
  GlowStatus status = GLOW_OK;
  if (x->now->engine->begin)
    status = walk_hosted(x);
  else
    walk_profiled(x);
  give_back(x, s);
  if (status != GLOW_OK)
    return status;
  switch (x->fault.error) {
  case GLOW_FAULT_NONE:
    grow(x, s);
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

static GlowStatus run_selected(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  x->entry->engine->wanted(x->entry, x->extents);
  double since = glow_clock();
  GlowStatus status = run_program(x, s, inputs);
  x->entry->engine->spent(x->entry, x->extents, (int64_t)((glow_clock() - since) * 1e9));
  return status;
}

/* Runs, and counts the time until programs get better code: when they have run for long, and run
 * again. Whoever runs once so waits for nobody at the end. */
static GlowStatus run_counted(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs) {
  GlowExecutable *e = x->entry->executable;
  if (is_selected(x))
    return run_selected(x, s, inputs);
  atomic_llong *spent = x->now == x->entry ? &e->spent : &x->now->spent;
  x->since = waits(x) ? glow_clock() : 0;
  if (x->since > 0 && atomic_load_explicit(spent, memory_order_relaxed) >= e->patience * 1e9)
    glow_background_start(background_of(x));
  GlowStatus status = run_program(x, s, inputs);
  if (x->since > 0 && waits(x))
    atomic_fetch_add_explicit(spent, (long long)((glow_clock() - x->since) * 1e9),
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
  GlowStatus status = check_extents(x, s, inputs);
  if (status == GLOW_OK && x->entry->nsymbols)
    status = turn(x, s, inputs);
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
