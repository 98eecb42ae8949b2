/* The tier `auto`: programs that begin as library code and get compiled code, piece by piece, while
 * threads run them. Whatever function stands in the table at whatever step, the bits are those of
 * the interpreter. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "exec/execution.h"
#include "support/cache.h"
#include "support/process.h"
#include "test/swaps.h"
#include "test/unit/unit.h"

enum { THREADS = 8, RUNS = 12, SWAPPED_RUNS = 40 };
#define LONG 300.0 /* seconds: more than any compile takes */

/* Kernels with tiles, a body, shared memory between pieces, and a loop. */
static const char network[] =
    "declare {\n"
    "  placeholder @x : float<1 x 64 x 16 x 16>\n"
    "  placeholder @y : float<1 x 4096>\n"
    "  constant @w : float<64 x 64 x 3 x 3> = random {kind = uniform, low = -0.1, high = 0.1, "
    "seed = 1}\n"
    "  constant @d : float<64 x 1 x 3 x 3> = random {kind = uniform, low = -0.3, high = 0.3, "
    "seed = 2}\n"
    "  constant @shape : i64<2> = [1, 4096]\n"
    "  constant @m : float<4096 x 64> = random {kind = uniform, low = -0.1, high = 0.1, seed = 3}\n"
    "  constant @n : float<64 x 4096> = random {kind = uniform, low = -0.1, high = 0.1, seed = 4}\n"
    "}\n"
    "func @main {\n"
    "  %c = Convolution(@x, @w, none) {pads = [1, 1, 1, 1]} : float<1 x 64 x 16 x 16>\n"
    "  %s = Sigmoid(%c) : float<1 x 64 x 16 x 16>\n"
    "  %e = Convolution(%s, @d, none) {pads = [1, 1, 1, 1], group = 64} : float<1 x 64 x 16 x 16>\n"
    "  %p = MaxPool(%e) {kernels = [2, 2], strides = [2, 2]} : float<1 x 64 x 8 x 8>\n"
    "  %f = Reshape(%p, @shape) : float<1 x 4096>\n"
    "  %h = MatMul(%f, @m) : float<1 x 64>\n"
    "  %t = Tanh(%h) : float<1 x 64>\n"
    "  %z = MatMul(%t, @n) : float<1 x 4096>\n"
    "  %o = Softmax(%z) {axis = 1} : float<1 x 4096>\n"
    "  Save(%o, @y)\n"
    "}\n";

/* The batch is open. */
static const char batches[] =
    "declare {\n"
    "  extent $N : 1..4\n"
    "  placeholder @x : float<$N x 64 x 16 x 16>\n"
    "  placeholder @y : float<$N x 64 x 16 x 16>\n"
    "  constant @w : float<64 x 64 x 3 x 3> = random {kind = uniform, low = -0.1, high = 0.1, "
    "seed = 1}\n"
    "  constant @d : float<64 x 1 x 3 x 3> = random {kind = uniform, low = -0.3, high = 0.3, "
    "seed = 2}\n"
    "}\n"
    "func @main {\n"
    "  %c = Convolution(@x, @w, none) {pads = [1, 1, 1, 1]}\n"
    "  %s = Sigmoid(%c)\n"
    "  %e = Convolution(%s, @d, none) {pads = [1, 1, 1, 1], group = 64}\n"
    "  Save(%e, @y)\n"
    "}\n";

typedef struct Fixture {
  GlowContext *ctx;
  GlowSession session;
  GlowTensor *x;
  void *want; /* the interpreter's @y */
  size_t bytes;
} Fixture;

static GlowBindings bind(const Fixture *t) {
  GlowBindings in = {0};
  glow_vec_push(t->ctx->arena, &in, ((GlowBinding){glow_str(t->ctx, "x"), t->x}));
  return in;
}

/* The type with 2 in the place of a symbol. */
static const GlowType *bound(GlowContext *ctx, const GlowType *type) {
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < type->rank; a++)
    dims[a] = type->dims[a].extent ? GLOW_EXACT(2) : type->dims[a];
  return glow_type_with_dims(ctx, type, type->rank, dims);
}

static void begin(Fixture *t, const char *text) {
  GlowContext *ctx = t->ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, "network", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  t->session = (GlowSession){.ctx = ctx, .module = m, .entry = glow_module_entry(m, NULL)};
  CHECK(glow_session_optimize(&t->session, 2, GLOW_MATH_BOUNDED) == GLOW_OK);
  t->x =
      glow_tensor_create(ctx, bound(ctx, glow_module_storage(m, glow_str(ctx, "x"))->value.type));
  for (size_t i = 0; i < t->x->bytes / sizeof(float); i++)
    ((float *)t->x->data)[i] = 0.01f * (float)(int)(i * 7919 % 201) - 1;
  GlowBindings in = bind(t), out = {0};
  CHECK(glow_interp_run(t->session.entry, &in, &out, NULL) == GLOW_OK && out.count == 1);
  t->bytes = out.data[0].tensor->bytes;
  t->want = malloc(t->bytes);
  memcpy(t->want, out.data[0].tensor->data, t->bytes);
  glow_tensor_free(out.data[0].tensor);
}

static void end(Fixture *t) {
  free(t->want);
  glow_tensor_free(t->x);
  glow_context_destroy(t->ctx);
}

static GlowExecutable *compile(const Fixture *t, GlowTier tier, const GlowCache *cache) {
  const GlowBackend *cpu = glow_backend_find(t->ctx, &glow_backends, "cpu");
  GlowFunction *f = t->session.entry;
  return glow_backend_compile(cpu, &f, 1, &(GlowRunOptions){.tier = tier, .cache = cache});
}

static uint32_t compiled(const GlowExecutable *e) {
  uint32_t all, better;
  glow_executable_count_pieces(e, &all, &better);
  CHECK(all >= better && all > 4 && (better ? e->code > 0 : !e->code));
  return better;
}

static uint32_t port(const GlowExecutable *e, const char *name) {
  uint32_t i = 0;
  while (strcmp(e->entries->values[i].name, name) != 0)
    i++;
  return i;
}

/* Whether a run has the interpreter's bits. */
static bool runs_right(const Fixture *t, GlowExecution *x) {
  const GlowExecutable *e = x->entry->executable;
  const GlowTensor *inputs[16] = {0};
  inputs[port(e, "x")] = t->x;
  if (glow_execution_call(x, NULL, inputs) != GLOW_OK)
    return false;
  const GlowTensor *y = glow_execution_tensor(x, port(e, "y"));
  return y->bytes == t->bytes && !memcmp(y->data, t->want, t->bytes);
}

static GlowExecution *execution_of(GlowExecutable *e) {
  return glow_execution_make(e->entries, &(GlowExecutionSetup){0});
}

/* ---- Compiling when asked, and after some time ----------------------------------------------- */

static void check_request(const Fixture *t) {
  GlowExecutable *e = compile(t, GLOW_TIER_AUTO, NULL);
  GlowExecution *x = execution_of(e);
  CHECK(compiled(e) == 0 && runs_right(t, x));
  CHECK(!glow_background_started(e->background));
  CHECK(glow_executable_compile(e, LONG) == GLOW_OK);
  CHECK(compiled(e) > 2 && runs_right(t, x));
  CHECK(glow_executable_compile(e, 0) == GLOW_OK); /* nothing is left to do */
  glow_execution_destroy(x);
  glow_executable_release(e);
}

static void check_patience(const Fixture *t) {
  GlowExecutable *e = compile(t, GLOW_TIER_AUTO, NULL);
  GlowExecution *x = execution_of(e);
  CHECK(e->patience == 0.3);
  e->patience = 1e-9;
  CHECK(runs_right(t, x));
  CHECK(!glow_background_started(e->background)); /* it could be the last run */
  CHECK(runs_right(t, x));
  CHECK(glow_background_started(e->background));
  CHECK(glow_background_wait(e->background, LONG) && compiled(e) > 2);
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* Whether a program that executions share is made for runs that an execution selected for itself.
 */
static bool becomes_shared(const GlowEntry *e) {
  const struct timespec pause = {.tv_nsec = 1000000};
  for (double end = glow_clock() + LONG; glow_clock() < end; nanosleep(&pause, NULL))
    if (atomic_load(&e->shared))
      return true;
  return false;
}

/* Code for extents that are not the largest is made when runs of these have taken long. */
static void check_open(void) {
  static Fixture t;
  begin(&t, batches);
  GlowExecutable *e = compile(&t, GLOW_TIER_AUTO, NULL);
  GlowExecution *x = execution_of(e);
  e->patience = 1e-9;
  CHECK(runs_right(&t, x));
  CHECK(x->now != e->entries && !x->now->background); /* x has selected the program itself */
  CHECK(!atomic_load(&e->entries->shared)); /* it could be the last run */
  CHECK(runs_right(&t, x));
  CHECK(becomes_shared(e->entries));
  CHECK(runs_right(&t, x));
  GlowEntry *now = x->now;
  CHECK(now != e->entries && now->background && glow_background_started(now->background));
  CHECK(glow_background_wait(now->background, LONG));
  uint32_t better = 0;
  for (uint32_t i = 0; i < now->code.npieces; i++)
    better += now->code.better[i] && now->code.now[i] == now->code.better[i];
  EXPECT(better > 0, "%u pieces", better);
  CHECK(runs_right(&t, x));
  CHECK(!glow_background_started(e->background)); /* nobody has run the largest */
  GlowTensor *largest =
      glow_tensor_create(t.ctx, glow_type_room(t.ctx, e->entries->values[port(e, "x")].type));
  const GlowTensor *inputs[16] = {0};
  memset(largest->data, 0, largest->bytes);
  inputs[port(e, "x")] = largest;
  CHECK(glow_execution_call(x, NULL, inputs) == GLOW_OK && x->now == e->entries);
  CHECK(runs_right(&t, x) && x->now == now);
  glow_tensor_free(largest);
  glow_execution_destroy(x);
  glow_executable_release(e);
  end(&t);
}

/* A loop that goes on for long gets better code in its first run. */
static void check_loop(void) {
  static const char text[] = "declare {\n"
                             "  placeholder @x : float<1 x 64>\n"
                             "  placeholder @y : float<1 x 64>\n"
                             "  constant @steps : i64<> = 9\n"
                             "}\n"
                             "program @main {\n"
                             "  copy @out @y, @in @x\n"
                             "  loop @in @steps, @in none ^body(%i : i64<>) {\n"
                             "    tanh @out @y, @in @y\n"
                             "  }\n"
                             "}\n";
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, "loop", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  Fixture t = {.ctx = ctx, .session = {.ctx = ctx, .module = m}};
  t.session.entry = glow_module_entry(m, NULL);
  GlowExecutable *e = compile(&t, GLOW_TIER_AUTO, NULL);
  GlowExecution *x = execution_of(e);
  GlowTensor *in = glow_tensor_create(ctx, e->entries->values[port(e, "x")].type);
  const GlowTensor *inputs[8] = {0};
  inputs[port(e, "x")] = in;
  e->patience = 1e-12;
  CHECK(glow_execution_call(x, NULL, inputs) == GLOW_OK);
  CHECK(glow_background_started(e->background));
  glow_tensor_free(in);
  glow_execution_destroy(x);
  glow_executable_release(e);
  glow_context_destroy(ctx);
}

/* The other tiers have nothing to wait for. */
static void check_tiers(const Fixture *t) {
  GlowExecutable *library = compile(t, GLOW_TIER_LIBRARY, NULL);
  GlowExecutable *all = compile(t, GLOW_TIER_COMPILED, NULL);
  CHECK(!library->background && compiled(library) == 0 &&
        glow_executable_compile(library, 0) == GLOW_OK);
  CHECK(!all->background && compiled(all) > 2 && glow_executable_compile(all, 0) == GLOW_OK);
  glow_executable_release(library);
  glow_executable_release(all);
}

/* ---- Swapping -------------------------------------------------------------------------------- */

static void check_swaps(const Fixture *t) {
  GlowExecutable *e = compile(t, GLOW_TIER_COMPILED, NULL);
  GlowExecution *x = execution_of(e);
  for (int run = 0; run < SWAPPED_RUNS; run++) {
    glow_swap_begin(x, (uint64_t)run);
    EXPECT(runs_right(t, x), "other bits with seed %d", run);
  }
  CHECK(glow_swaps.better > 100 && glow_swaps.library > 100);
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct Thread {
  pthread_t thread;
  const Fixture *fixture;
  GlowExecution *execution;
  int wrong;
} Thread;

static void *run_thread(void *arg) {
  Thread *t = arg;
  for (int run = 0; run < RUNS; run++)
    t->wrong += !runs_right(t->fixture, t->execution);
  glow_execution_destroy(t->execution);
  return NULL;
}

/* All run while code appears. The executable's owner does not wait for them. */
static void check_threads(const Fixture *t) {
  static Thread threads[THREADS];
  GlowExecutable *e = compile(t, GLOW_TIER_AUTO, NULL);
  for (int i = 0; i < THREADS; i++)
    threads[i] = (Thread){.fixture = t, .execution = execution_of(e)};
  for (int i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]));
  glow_executable_compile(e, 0);
  glow_executable_release(e);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i].thread, NULL);
    EXPECT(!threads[i].wrong, "%d runs of thread %d have other bits", threads[i].wrong, i);
  }
}

/* ---- The cache ------------------------------------------------------------------------------- */

/* What the background made is there at once next time. */
static void check_cache(const Fixture *t) {
  char dir[] = "/tmp/glow-tier-XXXXXX", command[64];
  CHECK(mkdtemp(dir));
  const GlowCache cache = {.dir = dir, .limit = INT64_C(1) << 30};
  GlowExecutable *e = compile(t, GLOW_TIER_AUTO, &cache);
  CHECK(compiled(e) == 0 && glow_executable_compile(e, LONG) == GLOW_OK);
  uint32_t count = compiled(e);
  glow_executable_release(e);
  e = compile(t, GLOW_TIER_AUTO, &cache);
  CHECK(!e->background && compiled(e) == count && e->costs.cached);
  GlowExecution *x = execution_of(e);
  CHECK(runs_right(t, x));
  glow_execution_destroy(x);
  glow_executable_release(e);
  snprintf(command, sizeof command, "rm -r %s", dir);
  CHECK(system(command) == 0);
}

/* The end of the process waits for the piece under way. */
static GlowExecutable *unfinished;

int main(void) {
  static Fixture t;
  begin(&t, network);
  check_request(&t);
  check_patience(&t);
  check_open();
  check_loop();
  check_tiers(&t);
  check_swaps(&t);
  check_threads(&t);
  check_cache(&t);
  GlowExecutable *released = compile(&t, GLOW_TIER_AUTO, NULL);
  glow_executable_compile(released, 0);
  glow_executable_release(released);
  unfinished = compile(&t, GLOW_TIER_AUTO, NULL);
  if (getenv("GLOW_TEST_UNFINISHED")) {
    glow_executable_compile(unfinished, 0);
    return unit_finish();
  }
  glow_executable_release(unfinished);
  end(&t);
  return unit_finish();
}
