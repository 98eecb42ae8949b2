/* See threads.h. */
#include "support/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* A machine may have more processors than a cpu_set_t. */
uint32_t glow_processors(void) {
  cpu_set_t cpus;
  long n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
  return n > 1 ? (uint32_t)n : 1;
}

typedef struct Share {
  void (*fn)(void *arg);
  void *arg;
} Share;

static void *call(void *share) {
  const Share *s = share;
  s->fn(s->arg);
  return NULL;
}

void glow_share(uint32_t threads, void (*fn)(void *arg), void *arg) {
  Share s = {fn, arg};
  pthread_t thread[GLOW_MOST_SHARING];
  uint32_t begun = 0, most = threads < GLOW_MOST_SHARING ? threads : GLOW_MOST_SHARING;
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  while (begun + 1 < most && pthread_create(&thread[begun], NULL, call, &s) == 0)
    begun++;
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
  fn(arg);
  while (begun > 0)
    pthread_join(thread[--begun], NULL);
}
