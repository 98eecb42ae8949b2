/* Eight threads run one executable at the same time: each with an execution and a state of its own,
 * and with executions of their own that take turns at one state. All get the bits of a single
 * thread. Programs that are walked, one with instructions that the interpreter runs, one whose
 * inputs have another extent in each run, and a graph that the interpreter runs as a whole. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "exec/execution.h"
#include "test/unit/unit.h"

enum { THREADS = 8, RUNS = 40, COUNT = 64 };

/* @y depends on @x and on how many runs there were. */
static const char walked[] = "declare {\n"
                             "  placeholder @x : float<8 x 8>\n"
                             "  placeholder @y : float<8 x 8>\n"
                             "  variable @runs : float<8 x 8> = splat(0.0)\n"
                             "  constant @w : float<8 x 8> = random {kind = uniform, low = -1.0, "
                             "high = 1.0, seed = 3}\n"
                             "  constant @one : float<8 x 8> = splat(1.0)\n"
                             "}\n"
                             "program @main {\n"
                             "  %p = alloc float<8 x 8>\n"
                             "  mat_mul @out %p, @in @x, @in @w\n"
                             "  add @out @runs, @in @runs, @in @one\n"
                             "  add @out @y, @in %p, @in @runs\n"
                             "  dealloc %p\n"
                             "}\n";

/* The interpreter takes out what is not 0, whose number is known when the program runs. */
static const char hosted[] = "declare {\n"
                             "  placeholder @x : float<8 x 8>\n"
                             "  placeholder @y : i64<2 x ..64>\n"
                             "  variable @runs : float<8 x 8> = splat(0.0)\n"
                             "  constant @one : float<8 x 8> = splat(1.0)\n"
                             "}\n"
                             "program @main {\n"
                             "  add @out @runs, @in @runs, @in @one\n"
                             "  %d = alloc float<8 x 8>\n"
                             "  sub @out %d, @in @x, @in @runs\n"
                             "  non_zero @out @y, @in %d\n"
                             "  dealloc %d\n"
                             "}\n";

/* As many extents as runs: more than are kept. */
static const char open[] = "declare {\n"
                           "  extent $N : 1..40\n"
                           "  placeholder @x : float<$N x 4>\n"
                           "  placeholder @y : float<$N x 4>\n"
                           "  variable @runs : float<8 x 8> = splat(0.0)\n"
                           "  constant @w : float<4 x 4> = random {kind = uniform, low = -1.0, "
                           "high = 1.0, seed = 3}\n"
                           "  constant @one : float<8 x 8> = splat(1.0)\n"
                           "}\n"
                           "program @main {\n"
                           "  %p = alloc float<$N x 4>\n"
                           "  mat_mul @out %p, @in @x, @in @w\n"
                           "  add @out @runs, @in @runs, @in @one\n"
                           "  tanh @out @y, @in %p\n"
                           "  dealloc %p\n"
                           "}\n";

static const char graph[] = "declare {\n"
                            "  placeholder @x : float<8 x 8>\n"
                            "  placeholder @y : float<8 x 8>\n"
                            "  variable @runs : float<8 x 8> = splat(0.0)\n"
                            "  constant @one : float<8 x 8> = splat(1.0)\n"
                            "}\n"
                            "func @main {\n"
                            "  %r = Add(@runs, @one) : float<8 x 8>\n"
                            "  Save(%r, @runs)\n"
                            "  %y = Mul(@x, %r) : float<8 x 8>\n"
                            "  Save(%y, @y)\n"
                            "}\n";

/* The values of a program's ports. */
typedef struct Ports {
  uint32_t x, y, runs;
} Ports;

static Ports ports_of(const GlowExecutable *executable) {
  const GlowEntry *e = executable->entries;
  Ports p = {0};
  for (uint32_t i = 0; i < e->nvalues; i++) {
    p.x = strcmp(e->values[i].name, "x") ? p.x : i;
    p.y = strcmp(e->values[i].name, "y") ? p.y : i;
    p.runs = strcmp(e->values[i].name, "runs") ? p.runs : i;
  }
  return p;
}

static const GlowTensor *output_of(const GlowExecution *x, uint32_t y) {
  if (x->entry->program)
    return glow_execution_tensor(x, y);
  return x->result.count ? x->result.data[0].tensor : NULL;
}

/* The bytes of @y after each run, one behind the other. */
typedef struct Results {
  unsigned char bytes[RUNS][1024];
  size_t size[RUNS];
} Results;

static void note(Results *r, int run, const GlowTensor *y) {
  r->size[run] = y && y->bytes <= sizeof r->bytes[run] ? y->bytes : 0;
  if (r->size[run])
    memcpy(r->bytes[run], y->data, r->size[run]);
}

typedef struct Thread {
  pthread_t thread;
  GlowExecutable *executable;
  GlowTensor *const *x; /* by run */
  GlowState *shared;    /* NULL: a state of its own */
  Results results;
  GlowStatus status;
  int busy;
} Thread;

static void *run_thread(void *arg) {
  Thread *t = arg;
  GlowState *s = t->shared ? t->shared : glow_state_make(t->executable);
  GlowExecution *x = glow_execution_make(t->executable->entries, &(GlowExecutionSetup){0});
  const GlowTensor *inputs[16] = {0};
  Ports ports = ports_of(t->executable);
  t->status = s && x ? GLOW_OK : GLOW_NO_MEMORY;
  for (int run = 0; run < RUNS && t->status == GLOW_OK; run++) {
    inputs[ports.x] = t->x[run];
    while ((t->status = glow_execution_call(x, s, inputs)) == GLOW_BUSY) {
      t->busy++;
      sched_yield();
    }
    note(&t->results, run, output_of(x, ports.y));
  }
  glow_execution_destroy(x);
  if (!t->shared)
    glow_state_destroy(s);
  return NULL;
}

/* Whether a thread with a state of its own got what one thread gets. */
static void same_results(const char *what, const Results *want, const Results *got) {
  for (int run = 0; run < RUNS; run++)
    EXPECT(want->size[run] && got->size[run] == want->size[run] &&
               !memcmp(got->bytes[run], want->bytes[run], want->size[run]),
           "%s: run %d differs", what, run);
}

static void run_threads(Thread *threads, const Thread *like, GlowState *shared) {
  for (int i = 0; i < THREADS; i++) {
    threads[i] = (Thread){.executable = like->executable, .x = like->x, .shared = shared};
    CHECK(!pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]));
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i].thread, NULL);
    CHECK(threads[i].status == GLOW_OK);
  }
}

/* The variable counts the runs of all threads, none of which was lost. */
static void check_shared(const char *what, Thread *threads, const Thread *one) {
  GlowState *s = glow_state_make(one->executable);
  run_threads(threads, one, s);
  const GlowTensor *runs = glow_state_value(s, ports_of(one->executable).runs);
  EXPECT(((const float *)runs->data)[COUNT - 1] == THREADS * RUNS, "%s: %g runs of %d", what,
         (double)((const float *)runs->data)[COUNT - 1], THREADS * RUNS);
  glow_state_destroy(s);
}

/* The input of a run, whose first extent is the number of the run if it is open. */
static GlowTensor *input_of(GlowContext *ctx, const GlowType *type, int run) {
  GlowDim dims[2] = {type->dims[0], type->dims[1]};
  if (dims[0].kind != GLOW_DIM_EXACT)
    dims[0] = GLOW_EXACT(RUNS - run);
  GlowTensor *x = glow_tensor_create(ctx, glow_type_with_dims(ctx, type, 2, dims));
  for (size_t i = 0; i < x->bytes / sizeof(float); i++)
    ((float *)x->data)[i] = (float)(i % 7) + 1;
  return x;
}

static void check(const char *what, const char *text, const char *backend, GlowTier tier) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, what, text, strlen(text));
  CHECK(m && glow_module_verify(m));
  GlowFunction *f = m ? glow_module_entry(m, NULL) : NULL;
  const GlowBackend *b = glow_backend_find(ctx, &glow_backends, backend);
  GlowExecutable *e = f ? glow_backend_compile(b, &f, 1, &(GlowRunOptions){.tier = tier}) : NULL;
  CHECK(e);
  static Thread one, threads[THREADS];
  static GlowTensor *x[RUNS];
  for (int run = 0; e && run < RUNS; run++)
    x[run] = input_of(ctx, e->entries->values[ports_of(e).x].type, run);
  if (e) {
    one = (Thread){.executable = e, .x = x};
    run_thread(&one);
    CHECK(one.status == GLOW_OK && one.busy == 0);
    run_threads(threads, &one, NULL);
    for (int i = 0; i < THREADS; i++)
      same_results(what, &one.results, &threads[i].results);
    check_shared(what, threads, &one);
  }
  for (int run = 0; e && run < RUNS; run++)
    glow_tensor_free(x[run]);
  glow_executable_release(e);
  glow_context_destroy(ctx);
}

/* A run that was stopped before it began ends at its first step; the next one is whole. */
static void check_stop(void) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, "stop", walked, strlen(walked));
  const GlowBackend *b = glow_backend_find(ctx, &glow_backends, "cpu");
  GlowFunction *f = glow_module_entry(m, NULL);
  GlowExecutable *e = glow_backend_compile(b, &f, 1, &(GlowRunOptions){.tier = GLOW_TIER_LIBRARY});
  GlowState *s = glow_state_make(e);
  GlowExecution *x = glow_execution_make(e->entries, &(GlowExecutionSetup){0});
  GlowTensor *t = glow_tensor_create(ctx, e->entries->values[ports_of(e).x].type);
  const GlowTensor *inputs[16] = {0};
  CHECK(glow_execution_call(x, s, inputs) == GLOW_BAD_USAGE); /* no @x */
  inputs[ports_of(e).x] = t;
  CHECK(glow_execution_call(x, NULL, inputs) == GLOW_BAD_USAGE); /* no state */
  glow_execution_stop(x);
  CHECK(glow_execution_call(x, s, inputs) == GLOW_CANCELLED);
  CHECK(glow_execution_call(x, s, inputs) == GLOW_OK);
  const GlowTensor *runs = glow_state_value(s, ports_of(e).runs);
  CHECK(((const float *)runs->data)[0] == 1);
  glow_tensor_free(t);
  glow_execution_destroy(x);
  glow_state_destroy(s);
  glow_executable_release(e);
  glow_context_destroy(ctx);
}

int main(void) {
  check("library code", walked, "cpu", GLOW_TIER_LIBRARY);
  check("compiled code", walked, "cpu", GLOW_TIER_COMPILED);
  check("steps of the interpreter", hosted, "cpu", GLOW_TIER_LIBRARY);
  check("open extents", open, "cpu", GLOW_TIER_LIBRARY);
  check("open extents, compiled code", open, "cpu", GLOW_TIER_COMPILED);
  check("the interpreter", graph, "interp", GLOW_TIER_COMPILED);
  check_stop();
  return unit_finish();
}
