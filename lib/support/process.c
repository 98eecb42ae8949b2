/* Child processes, by posix_spawn. Waiting is polling, with pauses that grow from 0.2 to 10
 * milliseconds. Polling needs no signal handler, so a library may do it, and no signal is lost
 * between a check and a sleep. */
#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

double glow_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Signals that the tool ignores, catches or blocks get their default action in the child. */
static int set_attributes(posix_spawnattr_t *a) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int code = posix_spawnattr_setsigdefault(a, &all);
  if (code == 0)
    code = posix_spawnattr_setsigmask(a, &none);
  if (code == 0)
    code = posix_spawnattr_setpgroup(a, 0);
  if (code == 0)
    code = posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETPGROUP);
  return code;
}

/* Redirects stdout and stderr to `output`: the tool's own stdout may be where its result goes. */
static int set_files(posix_spawn_file_actions_t *f, int output) {
  int code = posix_spawn_file_actions_addopen(f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (int fd = STDOUT_FILENO; code == 0 && fd <= STDERR_FILENO; fd++)
    code = output < 0 ? posix_spawn_file_actions_addopen(f, fd, "/dev/null", O_WRONLY, 0)
                      : posix_spawn_file_actions_adddup2(f, output, fd);
  return code;
}

int glow_process_start(GlowProcess *p, const char *const *argv, int output, double end_after) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  *p = (GlowProcess){.started = glow_clock(), .end_after = end_after};
  int code = posix_spawnattr_init(&attributes);
  if (code != 0)
    return code;
  code = posix_spawn_file_actions_init(&files);
  if (code == 0) {
    pid_t pid;
    code = set_attributes(&attributes);
    if (code == 0)
      code = set_files(&files, output);
    if (code == 0)
      code = posix_spawnp(&pid, argv[0], &files, &attributes, (char *const *)argv, environ);
    if (code == 0)
      p->pid = pid;
    posix_spawn_file_actions_destroy(&files);
  }
  posix_spawnattr_destroy(&attributes);
  return code;
}

static bool is_over(const GlowProcess *p) {
  return p->end_after > 0 && glow_clock() - p->started >= p->end_after;
}

GlowProcessEnd glow_process_wait(GlowProcess *p, bool (*stop)(void *user), void *user, int *code) {
  long pause = 200000; /* nanoseconds */
  for (;;) {
    int status = 0;
    pid_t got = waitpid((pid_t)p->pid, &status, WNOHANG);
    if (got == (pid_t)p->pid || (got < 0 && errno != EINTR)) {
      bool signaled = got > 0 && WIFSIGNALED(status);
      p->pid = 0;
      if (code)
        *code = got < 0 ? 127 : signaled ? WTERMSIG(status) : WEXITSTATUS(status);
      return signaled ? GLOW_PROCESS_SIGNALED : GLOW_PROCESS_EXITED;
    }
    bool over = is_over(p);
    if (over || (stop && stop(user))) {
      glow_process_kill(p);
      return over ? GLOW_PROCESS_TIMED_OUT : GLOW_PROCESS_STOPPED;
    }
    nanosleep(&(struct timespec){0, pause}, NULL);
    pause = pause < 10000000 ? pause + pause / 4 : pause;
  }
}

void glow_process_kill(GlowProcess *p) {
  if (p->pid <= 0)
    return;
  kill((pid_t)-p->pid, SIGKILL);
  while (waitpid((pid_t)p->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  p->pid = 0;
}
