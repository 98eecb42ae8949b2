/* The thread pool: each unit is run once, in jobs that follow each other fast or after a pause;
 * what a slow or sleeping thread has not begun is done by the others; pools that are used while
 * they are busy; idle pools; rounding modes; threads that the system refuses. */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/pool.h"
#include "support/diag.h"
#include "test/unit/unit.h"

/* ---- Refused threads ------------------------------------------------------------------------- */

static int threads_left = -1; /* how many more may start; negative: any number */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg) {
  if (threads_left == 0)
    return EAGAIN;
  threads_left -= threads_left > 0;
  return __real_pthread_create(thread, attr, start, arg);
}

/* ---- Threads that sleep ---------------------------------------------------------------------- */

static atomic_bool hold; /* a thread that is woken does not come */
static atomic_int held;  /* how many do not */
static _Thread_local bool is_caller;

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  int status = __real_pthread_cond_wait(cond, mutex);
  if (is_caller || !atomic_load(&hold))
    return status;
  pthread_mutex_unlock(mutex);
  atomic_fetch_add(&held, 1);
  while (atomic_load(&hold))
    usleep(1000);
  atomic_fetch_sub(&held, 1);
  pthread_mutex_lock(mutex);
  return status;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

enum { MOST = 1000 };
typedef struct Unit {
  atomic_int times;
  int rounding;
  int64_t worker, begin;
  pthread_t thread;
} Unit;

static void mark(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  Unit *units = ptrs[0];
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&units[i].times, 1);
    units[i].worker = worker;
    units[i].begin = begin;
    units[i].thread = pthread_self();
    units[i].rounding = fegetround();
  }
}

/* Counts what is wrong with a job of this thread that is over. */
static int check_job(const GlowParallel *p, const Unit *unit, int64_t units, int64_t shards) {
  int wrong = 0;
  pthread_t of_worker[GLOW_MAX_THREADS];
  bool known[GLOW_MAX_THREADS] = {0}, is_begin[MOST + 1] = {0};
  int64_t parts = shards > units ? units : shards < 1 ? 1 : shards, pieces = 0;
  for (int64_t i = 0; i < parts; i++)
    is_begin[units / parts * i + units % parts * i / parts] = true;
  for (int64_t i = 0; i < MOST; i++) {
    const Unit *u = &unit[i];
    wrong += u->times != (i < units);
    if (i >= units)
      continue;
    wrong += u->worker < 0 || u->worker >= p->workers || u->rounding != FE_TONEAREST;
    wrong += u->worker == 0 && !pthread_equal(u->thread, pthread_self());
    wrong += known[u->worker] && !pthread_equal(of_worker[u->worker], u->thread);
    known[u->worker] = true;
    of_worker[u->worker] = u->thread;
    /* Pieces are whole shards, and few: each is half of what is left of a worker's. */
    wrong += u->begin == i ? !is_begin[i] : i == 0 || u->begin != unit[i - 1].begin;
    pieces += u->begin == i;
  }
  return wrong + (pieces > parts || pieces > 11 * p->workers);
}

static int run_job(const GlowParallel *p, int64_t units, int64_t shards) {
  Unit unit[MOST] = {0};
  void *ptrs[] = {unit};
  p->run(p, mark, ptrs, units, shards);
  return check_job(p, unit, units, shards);
}

static void test_jobs(GlowContext *ctx) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, MOST}, shards[] = {0, 1, 2, 3, 4, 5, 16, 2000};
  for (int threads = 2; threads <= 5; threads++) {
    GlowPool *pool = glow_pool_make(ctx, threads);
    const GlowParallel *p = glow_pool_parallel(pool);
    CHECK(p && p->workers == threads);
    for (size_t i = 0; p && i < sizeof sizes / sizeof *sizes; i++)
      for (size_t j = 0; j < sizeof shards / sizeof *shards; j++)
        EXPECT(run_job(p, sizes[i], shards[j]) == 0, "%d threads, %d units in %d shards", threads,
               (int)sizes[i], (int)shards[j]);
    glow_pool_destroy(pool);
  }
  GlowPool *one = glow_pool_make(ctx, 1);
  CHECK(!glow_pool_parallel(one));
  glow_pool_destroy(one);
  glow_pool_destroy(NULL);
}

/* Many jobs in a row, and jobs after pauses in which everybody parks. */
static void test_pace(GlowContext *ctx) {
  GlowPool *pool = glow_pool_make(ctx, 3);
  const GlowParallel *p = glow_pool_parallel(pool);
  int wrong = 0;
  for (int i = 0; i < 3000; i++)
    wrong += run_job(p, i % 50, 3);
  CHECK(wrong == 0);
  for (int i = 0; i < 5; i++) {
    usleep(20000);
    wrong += run_job(p, 30, 3);
  }
  CHECK(wrong == 0);
  glow_pool_destroy(pool);
}

/* ---- Threads that are slow, or do not come --------------------------------------------------- */

enum { SLOW_UNITS = 64 };

typedef struct Slow {
  atomic_int done;  /* units */
  atomic_bool came; /* a worker */
  atomic_int in_vain;
} Slow;

/* Waits up to five seconds. */
static void wait_until(Slow *s, bool worker) {
  for (int i = 0; i < 5000; i++) {
    if (worker ? atomic_load(&s->done) == SLOW_UNITS : atomic_load(&s->came))
      return;
    usleep(1000);
  }
  atomic_fetch_add(&s->in_vain, 1);
}

/* The worker waits in its first piece for all other units: in vain, if nobody else may run what it
 * has not begun. The caller waits for the worker before. */
static void mark_slowly(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  Slow *s = ptrs[1];
  mark(ptrs, begin, end, worker);
  atomic_fetch_add(&s->done, (int)(end - begin));
  if (worker)
    atomic_store(&s->came, true);
  wait_until(s, worker);
}

static void test_slow(GlowContext *ctx) {
  GlowPool *pool = glow_pool_make(ctx, 2);
  const GlowParallel *p = glow_pool_parallel(pool);
  for (int i = 0; i < 10; i++) {
    Unit unit[MOST] = {0};
    Slow slow = {0};
    void *ptrs[] = {unit, &slow};
    p->run(p, mark_slowly, ptrs, SLOW_UNITS, SLOW_UNITS);
    CHECK(check_job(p, unit, SLOW_UNITS, SLOW_UNITS) == 0 && !slow.in_vain);
  }
  glow_pool_destroy(pool);
}

/* A job is over without a worker that the system does not let run, and when it comes there have
 * been others. */
static void test_held(GlowContext *ctx) {
  GlowPool *pool = glow_pool_make(ctx, 2);
  const GlowParallel *p = glow_pool_parallel(pool);
  int wrong = 0;
  for (int round = 0; round < 20; round++) {
    atomic_store(&hold, true);
    for (int i = 0; i < 1000 && !atomic_load(&held); i++) {
      usleep(2000); /* it parks */
      wrong += run_job(p, 30, 30);
    }
    CHECK(atomic_load(&held) == 1);
    for (int i = 0; i < 5; i++)
      wrong += run_job(p, 40 + i, 30);
    atomic_store(&hold, false);
    for (int i = 0; i < 50; i++)
      wrong += run_job(p, 50 + i, 30);
  }
  CHECK(wrong == 0);
  glow_pool_destroy(pool);
}

/* ---- A pool that is busy --------------------------------------------------------------------- */

typedef struct Caller {
  const GlowParallel *p;
  int wrong;
} Caller;

static void run_inner(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  atomic_int *wrong = ptrs[1];
  mark(ptrs, begin, end, worker);
  atomic_fetch_add(wrong, run_job(ptrs[2], 20, 10));
}

static void *call(void *arg) {
  Caller *c = arg;
  for (int i = 0; i < 300; i++)
    c->wrong += run_job(c->p, 50 + i, 16);
  return NULL;
}

/* Work that shares work, and two threads with one pool: whoever comes second is on its own. */
static void test_busy(GlowContext *ctx) {
  GlowPool *pool = glow_pool_make(ctx, 3);
  const GlowParallel *p = glow_pool_parallel(pool);
  for (int i = 0; i < 20; i++) {
    Unit unit[MOST] = {0};
    atomic_int wrong = 0;
    void *ptrs[] = {unit, &wrong, (void *)(uintptr_t)p};
    p->run(p, run_inner, ptrs, 30, 30);
    CHECK(check_job(p, unit, 30, 30) == 0 && wrong == 0);
  }
  Caller here = {p, 0}, there = {p, 0};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call, &there) == 0);
  call(&here);
  pthread_join(thread, NULL);
  CHECK(here.wrong == 0 && there.wrong == 0);
  glow_pool_destroy(pool);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Pools without work cost nothing. */
static void test_idle(GlowContext *ctx) {
  GlowPool *pools[3];
  for (int i = 0; i < 3; i++) {
    pools[i] = glow_pool_make(ctx, 2);
    CHECK(run_job(glow_pool_parallel(pools[i]), 100, 10) == 0);
  }
  double used = 1;
  for (int i = 0; i < 20 && used > 0.01; i++) { /* they spin first, when the machine lets them */
    usleep(20000);
    double before = cpu_seconds();
    usleep(200000);
    used = cpu_seconds() - before;
  }
  EXPECT(used <= 0.01, "idle pools used %.0f ms of 200", used * 1e3);
  for (int i = 0; i < 3; i++)
    glow_pool_destroy(pools[i]);
}

/* A thread inherits the rounding of its creator, which jobs must not see. */
static void test_rounding(GlowContext *ctx) {
  fesetround(FE_UPWARD);
  GlowPool *pool = glow_pool_make(ctx, 4);
  fesetround(FE_TONEAREST);
  CHECK(run_job(glow_pool_parallel(pool), 100, 4) == 0);
  glow_pool_destroy(pool);
}

static char message[256];
static GlowSeverity severity;
static void record(void *user, const GlowDiagnostic *d) {
  (void)user;
  severity = d->severity;
  snprintf(message, sizeof message, "%s", d->message);
}

static void test_refused(GlowContext *ctx) {
  for (int started = 0; started < 3; started++) {
    message[0] = '\0';
    threads_left = started;
    GlowPool *pool = glow_pool_make(ctx, 4);
    threads_left = -1;
    char want[64];
    snprintf(want, sizeof want, "only %d of 4 threads could be started: ", started + 1);
    EXPECT(strncmp(message, want, strlen(want)) == 0 && severity == GLOW_WARNING, "got '%s'",
           message);
    const GlowParallel *p = glow_pool_parallel(pool);
    CHECK(started ? p && p->workers == started + 1 : !p);
    if (p)
      CHECK(run_job(p, 100, 4) == 0);
    glow_pool_destroy(pool);
  }
}

int main(void) {
  is_caller = true;
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, record, NULL);
  test_jobs(ctx);
  test_pace(ctx);
  test_slow(ctx);
  test_held(ctx);
  test_busy(ctx);
  test_idle(ctx);
  test_rounding(ctx);
  test_refused(ctx);
  glow_context_destroy(ctx);
  return unit_finish();
}
