/* See signals.h. */
#include "support/signals.h"

#include <stddef.h>

void glow_signals_hold(GlowSignals *s) {
  static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  sigemptyset(&s->held);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now;
    if (sigaction(ends[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL)
      sigaddset(&s->held, ends[i]);
  }
  pthread_sigmask(SIG_BLOCK, &s->held, &s->before);
}

bool glow_signals_pending(const GlowSignals *s) {
  sigset_t waiting;
  sigpending(&waiting);
  for (int i = 1; i < NSIG; i++) {
    if (sigismember(&s->held, i) == 1 && sigismember(&waiting, i) == 1)
      return true;
  }
  return false;
}

void glow_signals_release(const GlowSignals *s) { pthread_sigmask(SIG_SETMASK, &s->before, NULL); }
