/* Threads that share a piece of work, and how many can. */
#ifndef GLOW_SUPPORT_THREADS_H
#define GLOW_SUPPORT_THREADS_H

#include <stdint.h>

/* How many processors this process may use; at least 1. */
uint32_t glow_processors(void);

enum { GLOW_MOST_SHARING = 64 };

/* Calls fn(arg) in up to `threads` threads at the same time (at most GLOW_MOST_SHARING; 0 is 1),
 * one of which is the caller's, and returns when all calls have. Where the system refuses threads
 * there are fewer calls, so each takes work from a common list until nothing is left. Signals stay
 * with the caller's thread. fn must not throw out of itself: contexts have no locks. */
void glow_share(uint32_t threads, void (*fn)(void *arg), void *arg);

#endif
