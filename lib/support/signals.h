/* Signals that would end the process (SIGINT, SIGTERM, ...) wait while files are half written.
 *
 * A library must not install handlers. So the writing thread blocks these signals, checks from time
 * to time whether one is pending, removes its temporary files and unblocks the signals; the process
 * then ends by the signal, as it would have anyway. Signals that the program handles or ignores
 * itself are left alone.
 *
 * Limit: another thread of the program may take the signal. Threads of our pool block all signals
 * (exec/pool.c). */
#ifndef GLOW_SUPPORT_SIGNALS_H
#define GLOW_SUPPORT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef struct GlowSignals {
  sigset_t held, before; /* the signals that wait; the thread's mask before */
} GlowSignals;

/* From here to glow_signals_release, the signals wait. Pairs may nest. */
void glow_signals_hold(GlowSignals *s);
bool glow_signals_pending(const GlowSignals *s);
/* Does not return if a signal waits: the process ends. */
void glow_signals_release(const GlowSignals *s);

#endif
