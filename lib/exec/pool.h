/* A small pool of threads for compiled programs: the `parallel_for` of glow/rt.h.
 *
 * The caller takes part as worker 0; the others spin for a while after each job, then park. A
 * worker begins with its own part of a job, which is always the same, and then helps the others.
 * One job runs at a time; whoever asks meanwhile does the work alone. Nothing is allocated once a
 * pool is made. */
#ifndef GLOW_EXEC_POOL_H
#define GLOW_EXEC_POOL_H

#include "glow/executable.h"
#include "support/context.h"

#define GLOW_MAX_THREADS 256

/* glow_pool_create for tools: where the system refuses threads there is a warning. Throws
 * NO_MEMORY. */
GlowPool *glow_pool_make(GlowContext *ctx, int threads);
void glow_pool_destroy_fn(void *pool); /* for glow_defer_push */

/* What a program takes; NULL for a pool of one worker. Valid as long as the pool. */
const GlowParallel *glow_pool_parallel(const GlowPool *pool);

#endif
