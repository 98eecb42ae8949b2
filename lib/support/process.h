/* Child processes: started without a shell, watched with a time limit, killed together with all
 * processes that they started. Each child leads a process group of its own, so a signal that a
 * terminal sends to the tool does not reach the child. Its standard input is empty. */
#ifndef GLOW_SUPPORT_PROCESS_H
#define GLOW_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct GlowProcess {
  long pid;         /* also the id of its group; 0: no process */
  double started;   /* seconds of the monotonic clock */
  double end_after; /* time limit in seconds; 0: none */
} GlowProcess;

typedef enum GlowProcessEnd {
  GLOW_PROCESS_EXITED,   /* code: the exit status */
  GLOW_PROCESS_SIGNALED, /* code: the signal */
  GLOW_PROCESS_TIMED_OUT,
  GLOW_PROCESS_STOPPED /* `stop` returned true */
} GlowProcessEnd;

/* Starts argv[0], which is searched for in PATH. Its stdout and stderr go to the descriptor
 * `output` (STDERR_FILENO: the tool's own stderr); -1 discards them. Returns 0 or an errno. */
int glow_process_start(GlowProcess *p, const char *const *argv, int output, double end_after);
/* Waits until the process ends, its time is over, or stop(user) returns true (`stop` may be NULL).
 * In the last two cases the process is killed. `code` may be NULL. */
GlowProcessEnd glow_process_wait(GlowProcess *p, bool (*stop)(void *user), void *user, int *code);
/* Kills the process and its group, if there is one. */
void glow_process_kill(GlowProcess *p);
/* Seconds of the monotonic clock. */
double glow_clock(void);

#endif
