/* Signals that would end the process (SIGINT, SIGTERM, ...) wait while files are half written.
 *
 * A library installs no handlers. It keeps such signals back in its own thread, asks whether one
 * waits, cleans up, and lets it through: the process then ends by the signal, as without this. What
 * the program handles or ignores itself is left alone. Threads that are ours take no signals
 * (exec/pool.c); in a program with other threads one of those may take it. */
#ifndef GLOW_SUPPORT_SIGNALS_H
#define GLOW_SUPPORT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef struct GlowSignals {
  sigset_t held, before; /* which are kept back; the thread's mask before */
} GlowSignals;

/* Nests. */
void glow_signals_hold(GlowSignals *s);
bool glow_signals_pending(const GlowSignals *s);
/* Does not return if one waits. */
void glow_signals_release(const GlowSignals *s);

#endif
