/* Executables: models that are ready to run.
 *
 *   executable  programs, constants and code. Immutable; any number of threads may use it.
 *   state       the values of variables. Takes part in one run at a time, else GLOW_BUSY.
 *   execution   the memory of a run. Has one run at a time, else GLOW_BUSY.
 *
 * An executable needs no context and no module: those it was made from may change or be destroyed.
 * It is counted, and its states and executions count as users. Threads that run at the same time
 * have an execution each. After fork() only the parent may use any of this.
 *
 * Functions that return a status answer BAD_USAGE if an argument is NULL that may not be, and set
 * what they would have made to NULL. Structs begin with their size, as the side knows it that fills
 * them in or wants them filled in: they may grow at their end. */
#ifndef GLOW_EXECUTABLE_H
#define GLOW_EXECUTABLE_H

#include "glow/buffer.h"
#include "glow/module.h"
#include "glow/rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GlowExecutable GlowExecutable;
typedef struct GlowState GlowState;
typedef struct GlowExecution GlowExecution;
typedef struct GlowPool GlowPool;
typedef struct GlowStore GlowStore;

/* ---- Making executables ---------------------------------------------------------------------- */
typedef struct GlowCompileOptions {
  size_t size;
  /* As on glow-run's command line, quoted as for a shell; NULL: none. -O0 to -O3, -exact,
   * -fast-math, -target=NAME, -bind=N=8, -carry=past.*=present.*, -g, --backend=NAME, --tier=NAME,
   * --entry=NAME, -remarks[=REGEX], --isolate, --max-memory=SIZE, --threads=N, --cache-dir=DIR,
   * --cache-limit=MIB, --no-cache. Without --backend machine code is run; without --tier that is
   * `auto`: the library of kernels at first, and code made for the programs when they have run for
   * 0.3 seconds. */
  const char *options;
  GlowStore *store; /* shares constants with other executables; NULL: they are its own */
} GlowCompileOptions;

/* Optimizes a copy of a module as the options say and makes an executable of its programs: of that
 * which --entry names, else of all functions that no other one calls. `options` may be NULL. Files
 * of weights are opened again by their names. Messages go to the module's context, those about the
 * options with a place in the text "options". Of a node without a location they name its place in
 * the text of glow_module_to_text. BAD_USAGE: the options are wrong. */
GLOW_API GlowStatus glow_compile(GlowModule *module, const GlowCompileOptions *options,
                                 GlowExecutable **executable);

/* The same of a model's file: .onnx, .gg or .gir, or an executable that was written, recognised by
 * content ("-": standard input). Messages go to ctx. Written executables have machine code: open
 * only what you would run. */
GLOW_API GlowStatus glow_executable_open(GlowContext *ctx, const char *path,
                                         const GlowCompileOptions *options,
                                         GlowExecutable **executable);

/* Writes the executable to a file ("-": standard output), with the code that it has by now. Any
 * process of this build on such a machine can open or glow-run it; nothing is compiled then, and
 * LLVM is not needed. BAD_USAGE: its backend makes no machine code. BAD_INPUT: a value cannot be
 * written, such as a computed constant of strings. IO: the file cannot be written. From any thread.
 */
GLOW_API GlowStatus glow_executable_write(const GlowExecutable *executable, const char *path);

/* Compiles what pays and is code of the library still, in threads of low priority, and waits for
 * that, at most so many seconds. Runs may go on meanwhile. BUSY: not all is compiled yet.
 * BAD_INPUT: some of it cannot be compiled, because libglow_codegen is not there or refuses it;
 * this stays code of the library. With --tier=library there is nothing to do. From any thread. */
GLOW_API GlowStatus glow_executable_compile(GlowExecutable *executable, double seconds);

/* One user more; returns the executable. */
GLOW_API GlowExecutable *glow_executable_retain(GlowExecutable *executable);
/* One user less; the last one frees the executable, after the piece that is being compiled. NULL is
 * ignored. */
GLOW_API void glow_executable_release(GlowExecutable *executable);

/* ---- What an executable has ------------------------------------------------------------------ */
/* The name of program i; NULL beyond the last one. Strings of an executable live as long as it. */
GLOW_API const char *glow_executable_entry(const GlowExecutable *executable, size_t i);

/* Fills in port i of a program (NULL: the only one): the placeholders of the module in order, then
 * parameters and results. The caller sets port->size. False, and nothing is written: there is no
 * such port or program. */
GLOW_API bool glow_executable_port(const GlowExecutable *executable, const char *entry, size_t i,
                                   GlowPort *port);

/* The same for variable i of a state: those that some program reads or writes, in the order of the
 * module. */
GLOW_API bool glow_executable_variable(const GlowExecutable *executable, size_t i, GlowPort *port);

/* What runs need, in bytes. */
typedef struct GlowMemory {
  size_t size;
  size_t constants; /* of the executable alone */
  size_t shared;    /* constants in mapped files or a store, which others may use, too */
  size_t code;      /* machine code that has been made for it so far */
  size_t state;     /* of each state */
  size_t execution; /* of each execution: what GlowExecutionOptions.memory must have */
  size_t outputs;   /* what comes to that with GlowExecutionOptions.outputs */
} GlowMemory;

/* What a program (NULL: the only one) will need with so many threads, known before the first run.
 * An execution of the interpreter, and of steps that it runs, allocates what it needs as it goes;
 * this is not counted. The caller sets memory->size. */
GLOW_API GlowStatus glow_executable_memory(const GlowExecutable *executable, const char *entry,
                                           int threads, GlowMemory *memory);

typedef struct GlowExecutableInfo {
  size_t size;
  const char *backend, *target; /* "cpu" and "x86-64-v3" */
  /* Seconds: reading the model; passes; choosing kernels; machine code; values of constants;
   * reading and writing the cache. */
  double load, passes, select, code, constants, cache;
  bool cached;     /* code and constants were found in the cache */
  size_t hosted;   /* instructions that the interpreter runs, one run at a time */
  size_t pieces;   /* calls of kernels */
  size_t compiled; /* those of them that run code made for the program */
} GlowExecutableInfo;

/* The caller sets info->size. */
GLOW_API void glow_executable_info(const GlowExecutable *executable, GlowExecutableInfo *info);

/* ---- States ---------------------------------------------------------------------------------- */
/* A state with the values that variables have before the first run. All programs of the executable
 * share it. */
GLOW_API GlowStatus glow_state_create(GlowExecutable *executable, GlowState **state);
/* Another state with the same values. BUSY: a run uses the state. */
GLOW_API GlowStatus glow_state_copy(const GlowState *state, GlowState **copy);
/* The value of a variable, by its number in glow_executable_variable. Borrowed until the next run
 * with the state. BUSY: a run uses the state. BAD_USAGE: there is no such variable, or its elements
 * are no bytes. */
GLOW_API GlowStatus glow_state_get(const GlowState *state, size_t variable, GlowBuffer *buffer);
/* Gives a variable another value, which is copied. */
GLOW_API GlowStatus glow_state_set(GlowState *state, size_t variable, const GlowBuffer *buffer);
/* Gives all variables the values that they have before the first run. */
GLOW_API GlowStatus glow_state_reset(GlowState *state);
/* NULL is ignored. No run may be under way. */
GLOW_API void glow_state_destroy(GlowState *state);

/* ---- Executions ------------------------------------------------------------------------------ */
typedef struct GlowExecutionOptions {
  size_t size;
  const char *entry;            /* the program; NULL: the only one */
  GlowPool *pool;               /* threads that share the work; NULL: see `parallel` */
  const GlowParallel *parallel; /* threads of the caller's own; NULL: as many as --threads said */
  void *memory;                 /* for the execution; NULL: it allocates its memory */
  size_t bytes;                 /* of `memory`, as glow_executable_memory says */
  bool outputs;                 /* it has memory of its own for what runs write */
  bool profile;                 /* for glow_execution_time */
} GlowExecutionOptions;

/* Memory for runs of one program. `options` may be NULL. A pool, the caller's threads and memory
 * must outlive the execution. BAD_USAGE: there is no such program, or `bytes` is too small. */
GLOW_API GlowStatus glow_execution_create(GlowExecutable *executable,
                                          const GlowExecutionOptions *options,
                                          GlowExecution **execution);

/* Runs once on `count` buffers, one for each port in order; those that are left out, or have no
 * data, are not given. What a run reads must be given. What it writes must be given, aligned to 64
 * bytes, unless the execution has outputs of its own; if it does, a buffer that is given gets a
 * copy if it is not aligned so. Of a port that is read and written the buffer has the input, and
 * then the output; without one, the program must write it before it reads it. Buffers may not
 * overlap if one of them is written. `state` may be NULL if the program has no variables. Rounds to
 * nearest and keeps denormals, whatever the caller has set. Nothing is allocated, but for the
 * interpreter and steps that it runs; such runs of one executable take turns.
 *
 * BAD_USAGE: a buffer is missing, too small, not aligned or overlaps another one, or the state is
 * missing or another executable's. BAD_INPUT: the run failed, such as at an index out of range.
 * CANCELLED: it was stopped. glow_execution_fault says more. After a failure what is written, and
 * variables, have no defined values. BUSY: another run uses the execution or the state; nothing has
 * happened. */
GLOW_API GlowStatus glow_execution_run(GlowExecution *execution, GlowState *state,
                                       const GlowBuffer *buffers, size_t count);

/* What the last run, which succeeded, wrote to a port, with the extents that it computed: in the
 * caller's buffer, or in memory of the execution until the next run. NULL: it wrote none. */
GLOW_API const GlowBuffer *glow_execution_output(const GlowExecution *execution, size_t port);

/* Ends the run under way after the step that it is at; or, if there is none or it is over before it
 * notices, the next one. From any thread. */
GLOW_API void glow_execution_stop(GlowExecution *execution);

typedef struct GlowFaultInfo {
  size_t size;
  GlowStatus status;
  GlowLoc loc;      /* in the model; of BAD_USAGE: nowhere */
  const char *text; /* one line; "" after a run that succeeded */
} GlowFaultInfo;

/* Why the last run failed; a run that was refused as BUSY does not count. The caller sets
 * fault->size. Valid until the next run. */
GLOW_API void glow_execution_fault(const GlowExecution *execution, GlowFaultInfo *fault);

typedef struct GlowStepTime {
  size_t size;
  const char *op;     /* the instruction: "mat_mul" */
  const char *kernel; /* what computed it */
  GlowLoc loc;
  unsigned long long calls; /* in the last run */
  double seconds;           /* of all calls together */
} GlowStepTime;

/* The time of piece of work i in the last run of an execution with options.profile; an instruction
 * may need several. The caller sets time->size. False: there is no such piece. */
GLOW_API bool glow_execution_time(const GlowExecution *execution, size_t i, GlowStepTime *time);

/* NULL is ignored. No run may be under way. */
GLOW_API void glow_execution_destroy(GlowExecution *execution);

/* ---- Pools and stores ------------------------------------------------------------------------ */
/* Threads that share the work of a run: `threads` of them, the caller among them, 1 to 256; fewer
 * if the system refuses some. Any number of executions may have the same pool: while it is busy for
 * one, another runs on its caller's thread alone. */
GLOW_API GlowStatus glow_pool_create(int threads, GlowPool **pool);
/* NULL is ignored. No execution with the pool may be left. */
GLOW_API void glow_pool_destroy(GlowPool *pool);

/* Constants that executables share: those with the same bytes, such as the packed weights of one
 * model compiled twice. Weights that are read where their file is mapped are shared anyway. */
GLOW_API GlowStatus glow_store_create(GlowStore **store);
/* NULL is ignored. Executables keep what they use. */
GLOW_API void glow_store_destroy(GlowStore *store);

#ifdef __cplusplus
}
#endif
#endif
