/* Work on an executable that no run waits for: threads of low priority, which make better code. */
#ifndef GLOW_EXEC_BACKGROUND_H
#define GLOW_EXEC_BACKGROUND_H

#include "support/context.h"

typedef struct GlowBackground GlowBackground;

/* What there is to do. Functions get a context of their thread, which keeps what it says, and may
 * throw; `user` is the owner's. */
typedef struct GlowBackgroundWork {
  uint32_t jobs;
  /* Job number i. Jobs begin in ascending order, several run at a time. */
  void (*make)(GlowContext *ctx, uint32_t i, void *user);
  /* After the last job, in the thread that did it; not if the work was ended before. Or NULL. */
  void (*finish)(GlowContext *ctx, void *user);
  /* Called when the work ends early, for jobs that wait for something; or NULL. */
  void (*wake)(void *user);
  void *user;
} GlowBackgroundWork;

/* Work that waits for glow_background_start. NULL: out of memory. */
GlowBackground *glow_background_create(const GlowBackgroundWork *work);
/* Begins the work; again, nothing. From any thread. Without memory, or where the system refuses
 * threads, nothing happens. */
void glow_background_start(GlowBackground *b);
/* Whether glow_background_start has been called. From any thread, and cheap. */
bool glow_background_started(const GlowBackground *b);
/* Waits until all is done that can be, and at most so long. Whether that was long enough. */
bool glow_background_wait(GlowBackground *b, double seconds);
/* Whether jobs should leave off, because nobody needs what they make. From jobs. */
bool glow_background_ended(const GlowBackground *b);
/* The first error that a job has reported, a text of ctx; NULL: none has. From any thread. */
const char *glow_background_trouble(GlowBackground *b, GlowContext *ctx);
/* Whether a job threw, or no thread could be started. After glow_background_wait. */
bool glow_background_failed(GlowBackground *b);
/* Ends the work: no job begins any more, and those under way are waited for. The end of the process
 * does the same if the main thread ends it, so that no thread runs in a library that goes away.
 * NULL is ignored. */
void glow_background_destroy(GlowBackground *b);

#endif
