/* The pool: one job at a time, announced by a counter that workers watch. */
#include "runtime/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"

/* Turns of an idle loop before a thread parks: some hundred microseconds, longer than the pieces of
 * a network that only one thread runs. */
#define SPINS 8192

typedef struct Worker {
  GlowPool *pool;
  int64_t number;
  pthread_t thread;
} Worker;

/* note [parking]: a thread that parks adds itself to `parked` (or sets `waiting`) and then reads
 * the counter that it waits for; whoever changes that counter does so first and then reads
 * `parked`. All four are sequentially consistent, so at least one of the two sees the other, and a
 * thread that is not seen does not sleep. */
struct GlowPool {
  GlowParallel parallel;
  Worker *worker; /* [1, parallel.workers) have threads */
  int spins;
  /* The job: written before `job` is raised, read after. */
  GlowPieceFn *piece;
  void *const *ptrs;
  int64_t units, shards;
  bool stop;
  atomic_uint job;    /* raised for each job */
  atomic_int pending; /* workers that have not finished it */
  atomic_int parked;  /* workers that sleep or are about to */
  atomic_int waiting; /* whether the caller does */
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Where shard i begins. */
static int64_t shard_begin(const GlowPool *p, int64_t i) {
  return p->units / p->shards * i + p->units % p->shards * i / p->shards;
}

/* A worker's shards are neighbours and one piece, so that it reads what they share once. */
static void run_shards(const GlowPool *p, int64_t number) {
  int64_t workers = p->parallel.workers;
  int64_t begin = shard_begin(p, p->shards * number / workers);
  int64_t end = shard_begin(p, p->shards * (number + 1) / workers);
  if (begin < end)
    p->piece(p->ptrs, begin, end, number);
}

/* Waits until the job's number is not `seen`; returns it. */
static unsigned wait_for_job(GlowPool *p, unsigned seen) {
  unsigned now;
  for (int i = 0; i < p->spins; i++) {
    if ((now = atomic_load_explicit(&p->job, memory_order_acquire)) != seen)
      return now;
    relax();
  }
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->parked, 1);
  while ((now = atomic_load(&p->job)) == seen)
    pthread_cond_wait(&p->work, &p->mutex);
  atomic_fetch_sub(&p->parked, 1);
  pthread_mutex_unlock(&p->mutex);
  return now;
}

static void *work(void *arg) {
  const Worker *w = arg;
  GlowPool *p = w->pool;
  fesetenv(FE_DFL_ENV); /* round to nearest, keep denormals: whatever the creating thread had */
  for (unsigned seen = 0;;) {
    seen = wait_for_job(p, seen);
    if (p->stop)
      return NULL;
    run_shards(p, w->number);
    if (atomic_fetch_sub(&p->pending, 1) == 1 && atomic_load(&p->waiting)) {
      pthread_mutex_lock(&p->mutex);
      pthread_cond_signal(&p->done);
      pthread_mutex_unlock(&p->mutex);
    }
  }
}

static void announce(GlowPool *p) {
  atomic_fetch_add(&p->job, 1);
  if (!atomic_load(&p->parked))
    return;
  pthread_mutex_lock(&p->mutex);
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->mutex);
}

static void wait_for_workers(GlowPool *p) {
  for (int i = 0; i < p->spins; i++) {
    if (!atomic_load_explicit(&p->pending, memory_order_acquire))
      return;
    relax();
  }
  pthread_mutex_lock(&p->mutex);
  atomic_store(&p->waiting, 1);
  while (atomic_load(&p->pending))
    pthread_cond_wait(&p->done, &p->mutex);
  atomic_store(&p->waiting, 0);
  pthread_mutex_unlock(&p->mutex);
}

static void run(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs, int64_t units,
                int64_t shards) {
  GlowPool *p = parallel->pool;
  p->piece = piece;
  p->ptrs = ptrs;
  p->units = units;
  p->shards = shards < 1 ? 1 : shards > units ? units : shards;
  if (p->shards <= 1 || parallel->workers == 1) {
    if (units > 0)
      piece(ptrs, 0, units, 0);
    return;
  }
  atomic_store_explicit(&p->pending, (int)parallel->workers - 1, memory_order_relaxed);
  announce(p);
  run_shards(p, 0);
  wait_for_workers(p);
}

/* Starts threads until one is refused; signals stay with the caller's thread. */
static int start(GlowPool *p, int threads) {
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  int i = 1, status = 0;
  for (; i < threads; i++) {
    p->worker[i] = (Worker){.pool = p, .number = i};
    status = pthread_create(&p->worker[i].thread, NULL, work, &p->worker[i]);
    if (status)
      break;
    p->parallel.workers++;
  }
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
  return status;
}

GlowPool *glow_pool_create(GlowContext *ctx, int threads) {
  GLOW_CHECK(ctx, threads >= 1 && threads <= GLOW_MAX_THREADS, "a number of threads");
  size_t workers = sizeof(Worker) * (size_t)threads;
  GlowPool *p = glow_malloc(ctx, sizeof *p + workers);
  p->worker = (Worker *)(p + 1);
  p->parallel = (GlowParallel){.run = run, .pool = p, .workers = 1};
  cpu_set_t cpus;
  bool crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < threads;
  p->spins = crowded ? 0 : SPINS; /* spinning would keep the others from their work */
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->done, NULL);
  int status = start(p, threads);
  if (status)
    glow_warning(ctx, GLOW_NOWHERE, "only %d of %d threads could be started: %s",
                 (int)p->parallel.workers, threads, strerror(status));
  return p;
}

void glow_pool_destroy(GlowPool *p) {
  if (!p)
    return;
  p->stop = true;
  announce(p);
  for (int64_t i = 1; i < p->parallel.workers; i++)
    pthread_join(p->worker[i].thread, NULL);
  pthread_cond_destroy(&p->done);
  pthread_cond_destroy(&p->work);
  pthread_mutex_destroy(&p->mutex);
  free(p);
}

void glow_pool_destroy_fn(void *pool) { glow_pool_destroy(pool); }

const GlowParallel *glow_pool_parallel(const GlowPool *p) {
  return p->parallel.workers > 1 ? &p->parallel : NULL;
}
