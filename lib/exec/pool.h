/* A small pool of threads for compiled programs: the `parallel_for` of rt/rt.h.
 *
 * The caller takes part as worker 0; the others spin for a while after each job, then park. A
 * worker begins with its own part of a job, which is always the same, and then helps the others.
 * One job runs at a time; whoever asks meanwhile does the work alone. Nothing is allocated once a
 * pool is made. */
#ifndef GLOW_EXEC_POOL_H
#define GLOW_EXEC_POOL_H

#include "rt/rt.h"
#include "support/context.h"

#define GLOW_MAX_THREADS 256

typedef struct GlowPool GlowPool;

/* A pool of `threads` workers (1 to GLOW_MAX_THREADS), the caller among them. Where the system
 * refuses threads the pool has fewer, with a warning. Throws NO_MEMORY. */
GlowPool *glow_pool_make(GlowContext *ctx, int threads);
/* Ends the threads. NULL is ignored. No job may be running. */
void glow_pool_destroy(GlowPool *pool);
void glow_pool_destroy_fn(void *pool); /* for glow_defer_push */

/* What a program takes; NULL for a pool of one worker. Valid as long as the pool. */
const GlowParallel *glow_pool_parallel(const GlowPool *pool);

#endif
