/* See background.h. */
#include "exec/background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/str.h"
#include "support/threads.h"

enum { MOST_THREADS = 16, NICE = 10 };

struct GlowBackground {
  GlowBackgroundWork work;
  pthread_mutex_t lock; /* of what follows, but for what is atomic */
  pthread_cond_t changed;
  pthread_t thread[MOST_THREADS];
  uint32_t threads; /* that are to be joined */
  bool joining;     /* somebody waits for them; guarded by list_lock */
  uint32_t done;    /* jobs */
  bool finished, failed;
  char trouble[256]; /* the first error */
  atomic_bool started, ended;
  atomic_uint next; /* the job that nobody has begun */
  GlowBackground *following;
};

/* All that have threads. The lock also covers starting them. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t joined = PTHREAD_COND_INITIALIZER;
static GlowBackground *list;
static bool registered, leaving; /* join_all will be called; has been called */

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct Job {
  GlowBackground *background;
  uint32_t number;
} Job;

static void hear(void *background, const GlowDiagnostic *d) {
  GlowBackground *b = background;
  pthread_mutex_lock(&b->lock);
  if (d->severity == GLOW_ERROR && !b->trouble[0])
    snprintf(b->trouble, sizeof b->trouble, "%s", d->message);
  pthread_mutex_unlock(&b->lock);
}

static void make(GlowContext *ctx, void *arg) {
  const Job *j = arg;
  j->background->work.make(ctx, j->number, j->background->work.user);
}

static void finish(GlowContext *ctx, void *arg) {
  const Job *j = arg;
  j->background->work.finish(ctx, j->background->work.user);
}

/* Notes that a job is done, or has thrown. Whether it was the last. */
static bool note_done(GlowBackground *b, bool ok) {
  pthread_mutex_lock(&b->lock);
  b->failed |= !ok;
  bool last = ++b->done == b->work.jobs;
  pthread_mutex_unlock(&b->lock);
  return last;
}

static void note_finished(GlowBackground *b) {
  pthread_mutex_lock(&b->lock);
  b->finished = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
}

/* One job in a context of its own, so that its memory goes with it. A job that throws is as one
 * that has made nothing. */
static void do_job(Job *j) {
  GlowContext *ctx = glow_context_create();
  bool ok = ctx != NULL;
  if (ctx) {
    glow_context_set_diagnostic_fn(ctx, hear, j->background);
    ok = glow_protect(ctx, make, j) == GLOW_OK;
  }
  bool last = note_done(j->background, ok);
  if (last && ctx && j->background->work.finish && !atomic_load(&j->background->ended))
    glow_protect(ctx, finish, j);
  glow_context_destroy(ctx);
  if (last)
    note_finished(j->background);
}

static void *work(void *background) {
  Job j = {.background = background};
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
  while (!atomic_load(&j.background->ended) &&
         (j.number = atomic_fetch_add(&j.background->next, 1)) < j.background->work.jobs)
    do_job(&j);
  return NULL;
}

/* One less than there are processors, so that runs go on; at least one. */
static uint32_t threads_for(const GlowBackground *b) {
  uint32_t n = glow_processors();
  n = n > 1 ? n - 1 : 1;
  n = n < MOST_THREADS ? n : MOST_THREADS;
  return n < b->work.jobs ? n : b->work.jobs;
}

/* ---- Starting and ending --------------------------------------------------------------------- */

/* With list_lock, which is free while threads are waited for: these may start and destroy others.
 */
static void join(GlowBackground *b) {
  while (b->joining)
    pthread_cond_wait(&joined, &list_lock);
  atomic_store(&b->ended, true);
  if (b->work.wake)
    b->work.wake(b->work.user);
  b->joining = true;
  pthread_mutex_unlock(&list_lock);
  while (b->threads)
    pthread_join(b->thread[--b->threads], NULL);
  pthread_mutex_lock(&list_lock);
  b->joining = false;
  pthread_cond_broadcast(&joined);
}

static void join_all(void) {
  pthread_mutex_lock(&list_lock);
  leaving = true;
  while (list) {
    GlowBackground *b = list;
    list = b->following;
    join(b); /* its owner may destroy it from here on */
  }
  pthread_mutex_unlock(&list_lock);
}

/* note [exit]: functions that exit() calls run in the opposite order in which they were registered,
 * and libraries register theirs whenever code of theirs runs for the first time. So no function of
 * ours would be the first. What does come first are the destructors of the variables of the thread
 * that calls exit(), most likely the main thread. */
int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *library);
extern void *__dso_handle;

static void leave(void *unused) {
  (void)unused;
  join_all();
}

/* With list_lock. */
static void register_exit(void) {
  static bool of_main;
  if (!of_main && syscall(SYS_gettid) == getpid())
    of_main = !__cxa_thread_atexit_impl(leave, NULL, &__dso_handle);
  if (!registered)
    registered = !atexit(join_all);
}

GlowBackground *glow_background_create(const GlowBackgroundWork *work) {
  GlowBackground *b = calloc(1, sizeof *b);
  if (!b)
    return NULL;
  b->work = *work;
  atomic_init(&b->started, false);
  atomic_init(&b->ended, false);
  atomic_init(&b->next, 0);
  pthread_mutex_init(&b->lock, NULL);
  pthread_mutex_lock(&list_lock);
  register_exit();
  pthread_mutex_unlock(&list_lock);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&b->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  return b;
}

/* Signals stay with the threads of the caller. */
static void start_threads(GlowBackground *b) {
  sigset_t all, saved;
  uint32_t most = threads_for(b);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  while (b->threads < most && !pthread_create(&b->thread[b->threads], NULL, work, b))
    b->threads++;
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

void glow_background_start(GlowBackground *b) {
  if (atomic_exchange(&b->started, true))
    return;
  pthread_mutex_lock(&list_lock);
  if (!leaving) {
    register_exit();
    start_threads(b);
    b->following = list;
    list = b;
  }
  bool none = !b->threads;
  pthread_mutex_unlock(&list_lock);
  if (none)
    note_finished(b);
}

bool glow_background_started(const GlowBackground *b) {
  return atomic_load_explicit(&b->started, memory_order_relaxed);
}

bool glow_background_wait(GlowBackground *b, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  double limit = (double)until.tv_nsec * 1e-9 + (seconds > 0 ? seconds < 1e9 ? seconds : 1e9 : 0);
  until.tv_sec += (time_t)limit;
  until.tv_nsec = (long)((limit - (double)(time_t)limit) * 1e9);
  pthread_mutex_lock(&b->lock);
  while (!b->finished && pthread_cond_timedwait(&b->changed, &b->lock, &until) != ETIMEDOUT)
    ;
  bool finished = b->finished;
  pthread_mutex_unlock(&b->lock);
  return finished;
}

bool glow_background_ended(const GlowBackground *b) { return atomic_load(&b->ended); }

const char *glow_background_trouble(GlowBackground *b, GlowContext *ctx) {
  char text[sizeof b->trouble];
  pthread_mutex_lock(&b->lock);
  memcpy(text, b->trouble, sizeof text);
  pthread_mutex_unlock(&b->lock);
  return text[0] ? glow_str(ctx, text) : NULL;
}

bool glow_background_failed(GlowBackground *b) {
  pthread_mutex_lock(&b->lock);
  bool failed = b->failed || b->done < b->work.jobs;
  pthread_mutex_unlock(&b->lock);
  return failed;
}

void glow_background_destroy(GlowBackground *b) {
  if (!b)
    return;
  pthread_mutex_lock(&list_lock);
  join(b);
  for (GlowBackground **at = &list; *at; at = &(*at)->following)
    if (*at == b) {
      *at = b->following;
      break;
    }
  pthread_mutex_unlock(&list_lock);
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->lock);
  free(b);
}
