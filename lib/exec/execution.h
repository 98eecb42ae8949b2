/* Executions: the memory of one run at a time. */
#ifndef GLOW_EXEC_EXECUTION_H
#define GLOW_EXEC_EXECUTION_H

#include "exec/executable.h"
#include "exec/pool.h"

typedef struct GlowExecutionSetup {
  const GlowParallel *parallel; /* threads that share the work, or NULL */
  bool profile;                 /* note where the time goes */
  bool placed;   /* there is no memory for ports that are written: see GlowExecution.places */
  void *memory;  /* glow_execution_bytes of it, the caller's; NULL: it is allocated */
  int64_t extra; /* bytes for the caller's own use */
} GlowExecutionSetup;

/* More values of GlowFault.error, for what code of this process finds. */
enum {
  GLOW_FAULT_HOSTED = -1, /* a HOST step failed and has said why */
  GLOW_FAULT_LATE = -2,   /* the time of the tool is over */
  GLOW_FAULT_STOP = -3    /* somebody has stopped the run */
};

struct GlowExecution {
  GlowFault fault; /* of the last run. The first member: callbacks get nothing but its address */
  GlowEntry *entry;
  GlowEntry *now;   /* whose program is walked: of the same program of the text, but for the extents
                       of the last run; entry itself if that names no symbols */
  int64_t *extents; /* of entry->symbols in the last run */
  GlowRunContext context;
  int64_t arena, bytes; /* of the program's arena with scratch memory; of all its memory */
  void *memory;         /* of all that follows and of the arena; NULL: it is the caller's */
  uint8_t *divided;     /* the part of it that each program divides for itself, and its bytes */
  int64_t room;
  void *selector; /* what selects programs for x alone; NULL: nothing does */
  unsigned seen;  /* entry->shared when x looked for a shared program */
  void *larger;   /* `divided`, if a program needed more than `memory` has; or NULL */
  void *extra;    /* of the setup's size, at first zeros */
  void **storage; /* what the program gets: the memory of each value */
  void **own;     /* memory for each port that the program touches; NULL: there is none */
  void **places;  /* memory of the caller, aligned to 64 bytes, where the next run writes a port;
                     NULL: its own */
  GlowTensor *tensors;  /* what storage[i] is the data of, with the type that it has now */
  bool profiled;        /* somebody asked for a profile */
  GlowProfile *profile; /* of the last run; of engine->run, the engine's. NULL: nobody asked */
  GlowBindings result;  /* engine->run: what the last run wrote */
  void *hosted;         /* the engine's; it frees it when it forgets x */
  GlowPool *pool;       /* destroyed with it, or NULL */
  atomic_bool busy, stop;
  double since; /* when the run began, if its time counts; else 0 */
};

/* The bytes of memory that an execution will have. */
int64_t glow_execution_bytes(const GlowEntry *e, const GlowExecutionSetup *setup);
/* Memory for runs of a program. NULL: out of memory. Runs allocate nothing, but for HOST steps,
 * engine->run and messages. */
GlowExecution *glow_execution_make(GlowEntry *e, const GlowExecutionSetup *setup);
/* Runs once. inputs[i] is the tensor of value i, a port of a fitting type; NULL: there is none;
 * each port that is only read must have one. An input that is aligned to 64 bytes is read where it
 * is. The state may be NULL if the program touches no variable. GLOW_BUSY: another run uses x or s.
 * GLOW_CANCELLED: it was stopped. GLOW_BAD_INPUT: a fault, which was reported to the executable's
 * context. After a failure, outputs and variables that the program writes have no defined value. */
GlowStatus glow_execution_call(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs);
/* The same in three parts. begin: nobody else uses x and s until end; or BUSY. */
GlowStatus glow_execution_begin(GlowExecution *x, GlowState *s);
GlowStatus glow_execution_go(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs);
void glow_execution_end(GlowExecution *x, GlowState *s);
/* What the last run wrote to port i. Borrowed, until the next run or glow_execution_destroy. NULL:
 * the program does not write it. */
const GlowTensor *glow_execution_tensor(const GlowExecution *x, uint32_t i);

#endif
