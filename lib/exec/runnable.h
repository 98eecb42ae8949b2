/* A program with a state, memory and named inputs: what tools run. */
#ifndef GLOW_EXEC_RUNNABLE_H
#define GLOW_EXEC_RUNNABLE_H

#include "exec/execution.h"

typedef struct GlowRunnable {
  GlowExecutable *executable;
  GlowEntry *entry;
  GlowState *state;
  bool shared; /* the state is another runnable's */
  GlowExecution *execution;
  const GlowTensor **inputs; /* by value */
  GlowBindings outputs;      /* of the last run, in the order of the program. Borrowed */
  GlowBinding *listed;       /* outputs.data of a program */
} GlowRunnable;

/* Of the first program of an executable. Takes e (NULL: returns NULL). Inputs are borrowed; their
 * elements may change between runs. NULL after a diagnostic: the program reads an input that is not
 * given or has another type. Throws when memory is exhausted. */
GlowRunnable *glow_runnable_create(GlowExecutable *e, const GlowBindings *inputs,
                                   const GlowExecutionSetup *options);
/* Of another program of the same executable, on the state of `other`, which must outlive it. */
GlowRunnable *glow_runnable_share(const GlowRunnable *other, GlowEntry *entry,
                                  const GlowBindings *inputs, const GlowExecutionSetup *options);
/* Runs once. A failure has been reported to the executable's context. */
GlowStatus glow_runnable_run(GlowRunnable *r);
/* Appends copies of the outputs, which the caller frees. */
void glow_runnable_take(const GlowRunnable *r, GlowBindings *outputs);
/* NULL is ignored. */
void glow_runnable_destroy(GlowRunnable *r);
void glow_runnable_destroy_fn(void *r); /* for glow_defer_push */

#endif
