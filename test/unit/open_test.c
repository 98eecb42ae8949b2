/* Programs on open extents: runs of extents that nobody has had before allocate nothing and wait
 * for no lock, on several threads at once, by library code and in the tier `auto`; programs become
 * shared and are given up while others run; the bits are the interpreter's. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "exec/execution.h"
#include "exec/pool.h"
#include "test/unit/counted_malloc.h"
#include "test/unit/unit.h"

enum { MOST = 40, THREADS = 3, RUNS = 60, TRIES = 200, PATIENCE = 120 /* seconds */ };

/* @y is written for @x, of which an axis is $N. */
static const char *const texts[] = {
    /* Convolutions of all families, over a batch. */
    "declare {\n"
    "  extent $N : 1..40\n"
    "  placeholder @x : float<$N x 3 x 12 x 12>\n"
    "  placeholder @y : float<$N x 10>\n"
    "  constant @a : float<32 x 3 x 3 x 3> = random {kind = uniform, low = -0.2, high = 0.2, seed "
    "= 1}\n"
    "  constant @b : float<32 x 32 x 3 x 3> = random {kind = uniform, low = -0.2, high = 0.2, "
    "seed = 2}\n"
    "  constant @c : float<32 x 1 x 3 x 3> = random {kind = uniform, low = -0.2, high = 0.2, "
    "seed = 3}\n"
    "  constant @d : float<64 x 32 x 1 x 1> = random {kind = uniform, low = -0.2, high = 0.2, "
    "seed = 4}\n"
    "  constant @w : float<64 x 10> = random {kind = uniform, low = -0.2, high = 0.2, seed = 5}\n"
    "}\n"
    "func @main {\n"
    "  %1 = Convolution(@x, @a, none) {pads = [1, 1, 1, 1]} : float<$N x 32 x 12 x 12>\n"
    "  %2 = Relu(%1) : float<$N x 32 x 12 x 12>\n"
    "  %3 = Convolution(%2, @b, none) {pads = [1, 1, 1, 1]} : float<$N x 32 x 12 x 12>\n"
    "  %4 = MaxPool(%3) {kernels = [2, 2], strides = [2, 2]} : float<$N x 32 x 6 x 6>\n"
    "  %5 = Convolution(%4, @c, none) {pads = [1, 1, 1, 1], group = 32} : float<$N x 32 x 6 x 6>\n"
    "  %6 = Convolution(%5, @d, none) : float<$N x 64 x 6 x 6>\n"
    "  %p = AveragePool(%6) {kernels = [6, 6]} : float<$N x 64 x 1 x 1>\n"
    "  %7 = Flatten(%p) : float<$N x 64>\n"
    "  %8 = MatMul(%7, @w) : float<$N x 10>\n"
    "  %9 = Softmax(%8) {axis = 1} : float<$N x 10>\n"
    "  Save(%9, @y)\n"
    "}\n",
    /* Attention over a length. */
    "declare {\n"
    "  extent $N : 1..40\n"
    "  placeholder @x : float<1 x 2 x $N x 32>\n"
    "  placeholder @y : float<1 x 2 x $N x 32>\n"
    "}\n"
    "func @main {\n"
    "  %k = Transpose(@x) {perm = [0, 1, 3, 2]} : float<1 x 2 x 32 x $N>\n"
    "  %s = MatMul(@x, %k) : float<1 x 2 x $N x $N>\n"
    "  %p = Softmax(%s) {axis = 3} : float<1 x 2 x $N x $N>\n"
    "  %a = MatMul(%p, @x) : float<1 x 2 x $N x 32>\n"
    "  %t = Tanh(%a) : float<1 x 2 x $N x 32>\n"
    "  Save(%t, @y)\n"
    "}\n",
    /* An extent that follows, and a program by hand. */
    "declare {\n"
    "  extent $N : 1..40\n"
    "  extent $M = ($N - 1) / 2 + 1 : 1..20\n"
    "  placeholder @x : float<1 x 4 x $N x 8>\n"
    "  placeholder @y : float<1 x 4 x $M x 8>\n"
    "}\n"
    "program @main {\n"
    "  %p = alloc float<1 x 4 x $N x 8>\n"
    "  tanh @out %p, @in @x\n"
    "  max_pool @out @y, @out none, @in %p {kernels = [1, 1], strides = [2, 1]}\n"
    "  dealloc %p\n"
    "}\n",
};

/* An executable, and the interpreter's results for each extent. */
typedef struct Fixture {
  GlowContext *ctx;
  GlowExecutable *e;
  GlowSession session;
  uint32_t x, y; /* values */
  GlowTensor *in[MOST + 1];
  GlowTensor *want[MOST + 1];
} Fixture;

static GlowStorage *storage(const Fixture *t, const char *name) {
  return glow_module_storage(t->session.module, glow_str(t->ctx, name));
}

static uint32_t value(const GlowExecutable *e, const char *name) {
  uint32_t i = 0;
  while (strcmp(e->entries->values[i].name, name))
    i++;
  return i;
}

static GlowTensor *input(Fixture *t, int64_t n) {
  int64_t extents[GLOW_MAX_RANK];
  const GlowType *type = storage(t, "x")->value.type;
  GlowType exact;
  for (uint32_t a = 0; a < type->rank; a++)
    extents[a] = type->dims[a].kind == GLOW_DIM_EXACT ? type->dims[a].size : n;
  glow_type_fill(&exact, type, extents);
  GlowTensor *in = glow_tensor_create(t->ctx, glow_type_interned(t->ctx, &exact));
  for (size_t i = 0; i < in->bytes / sizeof(float); i++)
    ((float *)in->data)[i] = (float)((int64_t)(i * 7 + (size_t)n) % 31) * 0.0625f - 1;
  return in;
}

static GlowTensor *interpreted(Fixture *t, GlowTensor *in) {
  GlowBindings inputs = {0}, outputs = {0};
  GlowBinding b = {glow_str(t->ctx, "x"), in};
  glow_vec_push(t->ctx->arena, &inputs, b);
  CHECK(glow_interp_run(t->session.entry, &inputs, &outputs, &(GlowRunOptions){0}) == GLOW_OK);
  CHECK(outputs.count == 1);
  return outputs.count ? outputs.data[0].tensor : NULL;
}

static bool begin(Fixture *t, const char *text, GlowTier tier) {
  *t = (Fixture){.ctx = glow_context_create()};
  GlowModule *m = glow_module_parse(t->ctx, "open", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  if (!m)
    return false;
  t->session = (GlowSession){.ctx = t->ctx, .module = m, .entry = glow_module_entry(m, NULL)};
  CHECK(glow_session_optimize(&t->session, 2, GLOW_MATH_BOUNDED) == GLOW_OK);
  for (int64_t n = 1; n <= MOST; n++) {
    t->in[n] = input(t, n);
    t->want[n] = interpreted(t, t->in[n]);
  }
  const GlowBackend *cpu = glow_backend_find(t->ctx, &glow_backends, "cpu");
  t->e = cpu->compile(&t->session.entry, 1, &(GlowRunOptions){.tier = tier});
  CHECK(t->e);
  if (!t->e)
    return false;
  t->e->guarded = true; /* what tests do with the context, they do before and after runs */
  t->x = value(t->e, "x");
  t->y = value(t->e, "y");
  return true;
}

static void end(Fixture *t) {
  glow_executable_release(t->e);
  for (int64_t n = 1; n <= MOST; n++) {
    glow_tensor_free(t->in[n]);
    glow_tensor_free(t->want[n]);
  }
  glow_context_destroy(t->ctx);
}

/* Whether a run of extent n has the interpreter's bits. */
static bool runs_right(const Fixture *t, GlowExecution *x, int64_t n) {
  const GlowTensor *inputs[64] = {0}, *want = t->want[n];
  inputs[t->x] = t->in[n];
  if (glow_execution_call(x, NULL, inputs) != GLOW_OK)
    return false;
  const GlowTensor *y = glow_execution_tensor(x, t->y);
  for (uint32_t a = 0; a < want->type->rank; a++)
    if (y->type->dims[a].size != want->type->dims[a].size)
      return false;
  return y->bytes == want->bytes && !memcmp(y->data, want->data, y->bytes);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static void check_allocations(const Fixture *t, const GlowParallel *parallel) {
  static const int64_t order[] = {7, 1, 39, 2, 40, 16, 3, 17, 5, 4, 40, 8, 15, 9, 6, 12};
  GlowExecution *x =
      glow_execution_make(t->e->entries, &(GlowExecutionSetup){.parallel = parallel});
  CHECK(x && x->selector);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    unsigned long before = atomic_load(&allocations);
    bool right = runs_right(t, x, order[i]);
    unsigned long made = atomic_load(&allocations) - before;
    EXPECT(right && !made, "extent %d: %s, %lu allocations", (int)order[i],
           right ? "right" : "wrong", made);
    CHECK(order[i] > MOST / 2 || 2 * x->now->memory <= t->e->entries->memory + 64);
  }
  glow_execution_destroy(x);
}

/* A program of so many buffers that what sorts them could ask for memory. */
static void check_many(void) {
  enum { LINKS = 300, LINE = 96 };
  static char text[(LINKS + 10) * LINE];
  int size = snprintf(text, sizeof text,
                      "declare {\n"
                      "  extent $N : 1..40\n"
                      "  placeholder @x : float<$N x 8>\n"
                      "  placeholder @y : float<$N x 8>\n"
                      "  constant @w : float<8 x 8> = random {kind = uniform, low = -1.0, high = "
                      "1.0, seed = 1}\n"
                      "}\n"
                      "func @main {\n"
                      "  %%0 = MatMul(@x, @w) : float<$N x 8>\n");
  for (int i = 1; i < LINKS; i += 2)
    size += snprintf(text + size, sizeof text - (size_t)size,
                     "  %%%d = Tanh(%%%d) : float<$N x 8>\n"
                     "  %%%d = MatMul(%%%d, @w) : float<$N x 8>\n",
                     i, i - 1, i + 1, i);
  snprintf(text + size, sizeof text - (size_t)size, "  Save(%%%d, @y)\n}\n", LINKS);
  Fixture t;
  if (!begin(&t, text, GLOW_TIER_LIBRARY))
    return;
  check_allocations(&t, NULL);
  end(&t);
}

/* ---- Locks ----------------------------------------------------------------------------------- */

typedef struct Worker {
  const Fixture *fixture;
  unsigned seed;
  int right;
} Worker;

static void *work(void *worker) {
  Worker *w = worker;
  GlowExecution *x = glow_execution_make(w->fixture->e->entries, &(GlowExecutionSetup){0});
  for (int i = 0; i < RUNS; i++)
    w->right += runs_right(w->fixture, x, rand_r(&w->seed) % MOST + 1);
  glow_execution_destroy(x);
  return NULL;
}

/* Runs on several threads end although somebody else has the lock of the executable. */
static void check_locks(const Fixture *t) {
  pthread_t threads[THREADS];
  Worker workers[THREADS];
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  pthread_mutex_lock(&t->e->lock);
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.fixture = t, .seed = (unsigned)i + 1};
    CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]));
  }
  bool ended = true;
  for (int i = 0; i < THREADS; i++)
    ended = ended && !pthread_timedjoin_np(threads[i], NULL, &until);
  pthread_mutex_unlock(&t->e->lock);
  CHECK(ended);
  if (!ended)
    exit(unit_finish());
  for (int i = 0; i < THREADS; i++)
    EXPECT(workers[i].right == RUNS, "%d of %d runs are right", workers[i].right, RUNS);
}

/* ---- Sharing --------------------------------------------------------------------------------- */

/* Where others use the context, the second of two long runs makes a shared program, in its own
 * thread; a single one leaves nothing behind that somebody has to wait for. */
static void check_context(void) {
  Fixture fixture, *t = &fixture;
  if (!begin(t, texts[1], GLOW_TIER_AUTO))
    return;
  GlowExecution *x = glow_execution_make(t->e->entries, &(GlowExecutionSetup){0});
  t->e->guarded = false;
  t->e->patience = 1e-9;
  for (unsigned run = 0; run < 3; run++) {
    CHECK(runs_right(t, x, 2));
    CHECK(atomic_load(&t->e->entries->shared) == (run > 0));
    CHECK((x->now == x->selector) == (run < 2));
  }
  glow_execution_destroy(x);
  end(t);
}

/* Programs become shared, more of them than are kept, while threads run them. */
static void check_sharing(const Fixture *t) {
  pthread_t threads[THREADS];
  Worker workers[THREADS];
  const struct timespec pause = {.tv_nsec = 1000000};
  double patience = t->e->patience;
  t->e->patience = 1e-9;
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.fixture = t, .seed = (unsigned)i + 1};
    CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]));
  }
  GlowExecution *x = glow_execution_make(t->e->entries, &(GlowExecutionSetup){0});
  int found = 0;
  for (int64_t n = 1; n < MOST; n++) /* the entry has its own program for the largest */
    for (int i = 0; i < TRIES; i++) {
      CHECK(runs_right(t, x, n));
      found += x->now != x->selector;
      if (x->now != x->selector)
        break;
      nanosleep(&pause, NULL);
    }
  CHECK(found);
  glow_execution_destroy(x);
  for (int i = 0; i < THREADS; i++) {
    CHECK(!pthread_join(threads[i], NULL));
    EXPECT(workers[i].right == RUNS, "%d of %d runs are right", workers[i].right, RUNS);
  }
  t->e->patience = patience;
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  GlowPool *pool = glow_pool_make(ctx, 2);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (int tier = 0; tier < 2; tier++) {
      Fixture t;
      if (!begin(&t, texts[i], tier ? GLOW_TIER_AUTO : GLOW_TIER_LIBRARY))
        continue;
      check_allocations(&t, NULL);
      check_allocations(&t, glow_pool_parallel(pool));
      check_locks(&t);
      if (!tier)
        check_sharing(&t);
      end(&t);
    }
  check_many();
  check_context();
  glow_pool_destroy(pool);
  glow_context_destroy(ctx);
  return unit_finish();
}
