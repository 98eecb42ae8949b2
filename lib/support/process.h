/* Commands run as child processes: started without a shell's help, watched with a limit in time,
 * killed with all that they started. Each one leads a process group of its own, so a signal that a
 * terminal sends to the tool does not reach it. Standard input is empty. */
#ifndef GLOW_SUPPORT_PROCESS_H
#define GLOW_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct GlowProcess {
  long pid;         /* also of its group; 0: none */
  double started;   /* seconds of the monotonic clock */
  double end_after; /* seconds; 0: no limit */
} GlowProcess;

typedef enum GlowProcessEnd {
  GLOW_PROCESS_EXITED,   /* code: the exit status */
  GLOW_PROCESS_SIGNALED, /* code: the signal */
  GLOW_PROCESS_TIMED_OUT,
  GLOW_PROCESS_STOPPED /* `stop` said so */
} GlowProcessEnd;

/* Starts argv[0], found as a shell would find it. What it prints goes to the descriptor `output`
 * (STDERR_FILENO: the tool's own), with -1 to nobody. Returns 0 or an errno. */
int glow_process_start(GlowProcess *p, const char *const *argv, int output, double end_after);
/* Waits until it ends by itself, its time is over, or stop(user) is true (NULL: never); in the last
 * two cases it is killed. `code` may be NULL. */
GlowProcessEnd glow_process_wait(GlowProcess *p, bool (*stop)(void *user), void *user, int *code);
/* Kills the process and its group, if there is one. */
void glow_process_kill(GlowProcess *p);
/* Seconds of the monotonic clock. */
double glow_clock(void);

#endif
