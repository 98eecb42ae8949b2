/* The thread pool: each unit is run once, by the worker that owns its shard, in jobs that follow
 * each other fast or after a pause; rounding modes; threads that the system refuses. */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/pool.h"
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

/* ---- Jobs ------------------------------------------------------------------------------------ */

enum { MOST = 1000 };
typedef struct Unit {
  int times, rounding;
  int64_t worker, begin;
  pthread_t thread;
} Unit;

static void mark(void *const *ptrs, int64_t begin, int64_t end, int64_t worker) {
  Unit *units = ptrs[0];
  for (int64_t i = begin; i < end; i++) {
    units[i].times++;
    units[i].worker = worker;
    units[i].begin = begin;
    units[i].thread = pthread_self();
    units[i].rounding = fegetround();
  }
}

/* Runs a job; counts what is wrong with it. */
static int run_job(const GlowParallel *p, int64_t units, int64_t shards) {
  static Unit unit[MOST];
  memset(unit, 0, sizeof unit);
  void *ptrs[] = {unit};
  p->run(p, mark, ptrs, units, shards);
  int wrong = 0;
  pthread_t of_worker[GLOW_MAX_THREADS];
  bool known[GLOW_MAX_THREADS] = {0};
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
  }
  /* Each worker has one range, in order, of about as many shards as the others. */
  int64_t count = 0, most = 0, last = -1;
  for (int64_t i = 0, next; i < units; i = next, count++) {
    for (next = i + 1; next < units && unit[next].begin == i; next++)
      ;
    wrong += unit[i].begin != i || unit[i].worker <= last;
    last = unit[i].worker;
    most = next - i > most ? next - i : most;
  }
  int64_t parts = shards > units ? units : shards < 1 ? 1 : shards;
  int64_t each = parts ? (parts + p->workers - 1) / p->workers * (units / parts + 1) : 0;
  wrong += most > each || count > parts || count > p->workers;
  return wrong;
}

static void test_jobs(GlowContext *ctx) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, MOST}, shards[] = {0, 1, 2, 3, 4, 5, 16, 2000};
  for (int threads = 2; threads <= 5; threads++) {
    GlowPool *pool = glow_pool_create(ctx, threads);
    const GlowParallel *p = glow_pool_parallel(pool);
    CHECK(p && p->workers == threads);
    for (size_t i = 0; p && i < sizeof sizes / sizeof *sizes; i++)
      for (size_t j = 0; j < sizeof shards / sizeof *shards; j++)
        EXPECT(run_job(p, sizes[i], shards[j]) == 0, "%d threads, %d units in %d shards", threads,
               (int)sizes[i], (int)shards[j]);
    glow_pool_destroy(pool);
  }
  GlowPool *one = glow_pool_create(ctx, 1);
  CHECK(!glow_pool_parallel(one));
  glow_pool_destroy(one);
  glow_pool_destroy(NULL);
}

/* Many jobs in a row, and jobs after pauses in which everybody parks. */
static void test_pace(GlowContext *ctx) {
  GlowPool *pool = glow_pool_create(ctx, 3);
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

/* A thread inherits the rounding of its creator, which jobs must not see. */
static void test_rounding(GlowContext *ctx) {
  fesetround(FE_UPWARD);
  GlowPool *pool = glow_pool_create(ctx, 4);
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
    GlowPool *pool = glow_pool_create(ctx, 4);
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
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, record, NULL);
  test_jobs(ctx);
  test_pace(ctx);
  test_rounding(ctx);
  test_refused(ctx);
  glow_context_destroy(ctx);
  return unit_finish();
}
