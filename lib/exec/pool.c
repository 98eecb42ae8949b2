/* The pool: one job at a time. A counter that workers watch announces it. The job is cut into
 * ranges, from which workers take pieces until nothing is left. */
#include "exec/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"
#include "support/threads.h"

/* Turns of an idle loop before a thread parks: some hundred microseconds, longer than the pieces of
 * a network that only one thread runs. */
#define SPINS 8192
/* A range has so many bits for each of its ends. */
#define SHARD_BITS 16
#define MOST_SHARDS ((1 << SHARD_BITS) - 1)
/* Between what different threads write, so that they do not share a line of the cache. */
#define APART 64

/* note [ranges]: what is left of a worker's shards is one word: the number of the job, the first
 * shard, and the one behind the last. The owner takes from the front and the others from the back,
 * by compare and swap. A job is over when all its shards are done, whoever did them: nobody waits
 * for a thread that the system does not let run. Such a thread may come late, with the number of a
 * job that is over; then no range has this number any more, so it takes nothing. And as long as a
 * range has something left, its job goes on, so what was read about the job before a swap that
 * succeeds belongs to it. */
typedef struct Worker {
  GlowPool *pool;
  int64_t number;
  pthread_t thread;
  _Atomic uint64_t range;
  char apart[APART];
} Worker;

/* note [parking]: a thread that parks adds itself to `parked` (or sets `waiting`) and then reads
 * the counter that it waits for; whoever changes that counter does so first and then reads
 * `parked`. All four are sequentially consistent, so at least one of the two sees the other, and a
 * thread that is not seen does not sleep. */
struct GlowPool {
  GlowParallel parallel;
  Worker *worker; /* [1, parallel.workers) have threads */
  int spins;
  int refused; /* why a thread could not be started, as errno; 0: all were */
  atomic_flag busy;
  atomic_bool stop;
  _Atomic(GlowPieceFn *) piece;
  _Atomic(void *const *) ptrs;
  _Atomic int64_t units, shards;
  atomic_uint job;    /* raised for each job */
  atomic_int parked;  /* workers that sleep or are about to */
  atomic_int waiting; /* whether the caller does */
  pthread_mutex_t mutex;
  pthread_cond_t work, finished;
  char apart[APART];
  _Atomic int64_t done; /* shards of the job */
  char apart_too[APART];
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- Taking shards --------------------------------------------------------------------------- */

typedef struct Range {
  unsigned job;
  int64_t begin, end;
} Range;

static uint64_t pack(Range r) {
  return (uint64_t)r.job << 2 * SHARD_BITS | (uint64_t)r.begin << SHARD_BITS | (uint64_t)r.end;
}
static Range unpack(uint64_t word) {
  return (Range){(unsigned)(word >> 2 * SHARD_BITS), word >> SHARD_BITS & MOST_SHARDS,
                 word & MOST_SHARDS};
}

/* Where shard i of a job begins. */
static int64_t shard_begin(int64_t units, int64_t shards, int64_t i) {
  return units / shards * i + units % shards * i / shards;
}

/* Takes half of what is left, so that pieces are large and yet all threads end at about the same
 * time, and runs it as one piece: neighbours share operands. False if there is nothing left. */
static bool run_some(GlowPool *p, unsigned job, int64_t number, int64_t of) {
  _Atomic uint64_t *range = &p->worker[of].range;
  uint64_t word = atomic_load_explicit(range, memory_order_acquire);
  for (;;) {
    Range left = unpack(word), taken;
    if (left.job != job || left.begin == left.end)
      return false;
    int64_t count = (left.end - left.begin + 1) / 2;
    taken = left;
    if (of == number)
      left.begin = taken.end = left.begin + count;
    else
      left.end = taken.begin = left.end - count;
    GlowPieceFn *piece = atomic_load_explicit(&p->piece, memory_order_relaxed);
    void *const *ptrs = atomic_load_explicit(&p->ptrs, memory_order_relaxed);
    int64_t units = atomic_load_explicit(&p->units, memory_order_relaxed);
    int64_t shards = atomic_load_explicit(&p->shards, memory_order_relaxed);
    if (!atomic_compare_exchange_weak_explicit(range, &word, pack(left), memory_order_acq_rel,
                                               memory_order_acquire))
      continue;
    piece(ptrs, shard_begin(units, shards, taken.begin), shard_begin(units, shards, taken.end),
          number);
    if (atomic_fetch_add(&p->done, count) + count == shards && atomic_load(&p->waiting)) {
      pthread_mutex_lock(&p->mutex);
      pthread_cond_signal(&p->finished);
      pthread_mutex_unlock(&p->mutex);
    }
    return true;
  }
}

/* A worker's own shards first: they are neighbours, and in each job the same part of the whole, so
 * what it reads is often what it wrote. Then what the others have not come to. */
static void run_shards(GlowPool *p, unsigned job, int64_t number) {
  int64_t workers = p->parallel.workers;
  for (int64_t i = 0; i < workers; i++) {
    while (run_some(p, job, number, (number + i) % workers))
      ;
  }
}

/* ---- Workers --------------------------------------------------------------------------------- */

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
  for (unsigned job = 0;;) {
    job = wait_for_job(p, job);
    if (atomic_load(&p->stop))
      return NULL;
    run_shards(p, job, w->number);
  }
}

/* ---- The caller ------------------------------------------------------------------------------ */

static void announce(GlowPool *p) {
  atomic_fetch_add(&p->job, 1);
  if (!atomic_load(&p->parked))
    return;
  pthread_mutex_lock(&p->mutex);
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->mutex);
}

static void wait_for_shards(GlowPool *p, int64_t shards) {
  for (int i = 0; i < p->spins; i++) {
    if (atomic_load_explicit(&p->done, memory_order_acquire) == shards)
      return;
    relax();
  }
  pthread_mutex_lock(&p->mutex);
  atomic_store(&p->waiting, 1);
  while (atomic_load(&p->done) != shards)
    pthread_cond_wait(&p->finished, &p->mutex);
  atomic_store(&p->waiting, 0);
  pthread_mutex_unlock(&p->mutex);
}

static void share(GlowPool *p, GlowPieceFn *piece, void *const *ptrs, int64_t units,
                  int64_t shards) {
  int64_t workers = p->parallel.workers;
  unsigned job = atomic_load_explicit(&p->job, memory_order_relaxed) + 1;
  atomic_store_explicit(&p->piece, piece, memory_order_relaxed);
  atomic_store_explicit(&p->ptrs, ptrs, memory_order_relaxed);
  atomic_store_explicit(&p->units, units, memory_order_relaxed);
  atomic_store_explicit(&p->shards, shards, memory_order_relaxed);
  atomic_store_explicit(&p->done, 0, memory_order_relaxed);
  for (int64_t i = 0; i < workers; i++)
    atomic_store_explicit(&p->worker[i].range,
                          pack((Range){job, shards * i / workers, shards * (i + 1) / workers}),
                          memory_order_release);
  announce(p);
  run_shards(p, job, 0);
  wait_for_shards(p, shards);
}

static void run(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs, int64_t units,
                int64_t shards) {
  GlowPool *p = parallel->pool;
  shards = shards > units ? units : shards;
  shards = shards > MOST_SHARDS ? MOST_SHARDS : shards;
  bool alone = shards <= 1 || parallel->workers == 1;
  if (!alone && !atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire)) {
    share(p, piece, ptrs, units, shards);
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
  } else if (units > 0) {
    piece(ptrs, 0, units, 0);
  }
}

/* Starts threads until one is refused; signals stay with the caller's thread. */
static void start(GlowPool *p, int threads) {
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  for (int i = 1; i < threads; i++) {
    p->worker[i].pool = p;
    p->worker[i].number = i;
    p->refused = pthread_create(&p->worker[i].thread, NULL, work, &p->worker[i]);
    if (p->refused)
      break;
    p->parallel.workers++;
  }
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

GlowStatus glow_pool_create(int threads, GlowPool **pool) {
  if (pool)
    *pool = NULL;
  if (!pool || threads < 1 || threads > GLOW_MAX_THREADS)
    return GLOW_BAD_USAGE;
  GlowPool *p = calloc(1, sizeof *p + sizeof(Worker) * (size_t)threads);
  if (!p)
    return GLOW_NO_MEMORY;
  p->worker = (Worker *)(p + 1);
  p->parallel = (GlowParallel){.run = run, .pool = p, .workers = 1};
  atomic_flag_clear(&p->busy);
  bool crowded = glow_processors() < (uint32_t)threads;
  p->spins = crowded ? 0 : SPINS; /* spinning would keep the others from their work */
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->finished, NULL);
  start(p, threads);
  *pool = p;
  return GLOW_OK;
}

GlowPool *glow_pool_make(GlowContext *ctx, int threads) {
  GlowPool *p;
  GlowStatus status = glow_pool_create(threads, &p);
  GLOW_CHECK(ctx, status != GLOW_BAD_USAGE, "a number of threads");
  if (status != GLOW_OK)
    glow_throw(ctx, status);
  if (p->refused)
    glow_warning(ctx, GLOW_NOWHERE, "only %d of %d threads could be started: %s",
                 (int)p->parallel.workers, threads, strerror(p->refused));
  return p;
}

void glow_pool_destroy(GlowPool *p) {
  if (!p)
    return;
  atomic_store(&p->stop, true);
  announce(p);
  for (int64_t i = 1; i < p->parallel.workers; i++)
    pthread_join(p->worker[i].thread, NULL);
  pthread_cond_destroy(&p->finished);
  pthread_cond_destroy(&p->work);
  pthread_mutex_destroy(&p->mutex);
  free(p);
}

void glow_pool_destroy_fn(void *pool) { glow_pool_destroy(pool); }

const GlowParallel *glow_pool_parallel(const GlowPool *p) {
  return p->parallel.workers > 1 ? &p->parallel : NULL;
}
