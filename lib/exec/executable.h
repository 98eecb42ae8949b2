/* Executables and states: a program that is ready to run, and the memory of its variables. What of
 * them is public stands in glow/executable.h.
 *
 * An executable is immutable and counted. Any number of threads may run it, each by an execution
 * (execution.h) of its own. A backend makes it; the memory of its description belongs to a context.
 * The context and what it holds must outlive the executable, unless it has a home. */
#ifndef GLOW_EXEC_EXECUTABLE_H
#define GLOW_EXEC_EXECUTABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec/background.h"
#include "exec/profile.h"
#include "glow/executable.h"
#include "rt/walk.h"
#include "tensor/bindings.h"

typedef struct GlowEntry GlowEntry;

typedef enum GlowMemoryClass {
  GLOW_MEMORY_PORT,     /* a placeholder, or a parameter: the caller's */
  GLOW_MEMORY_VARIABLE, /* a state's */
  GLOW_MEMORY_CONSTANT  /* the executable's */
} GlowMemoryClass;

/* A value that a program finds in memory that is not its own. */
typedef struct GlowExecValue {
  GlowStr name;
  GlowMemoryClass memory;
  const GlowType *type;    /* as declared */
  const GlowType *room;    /* of its memory: bounds are extents */
  const GlowType *before;  /* until something is written: an axis with a bound has extent 0 */
  const GlowType *after;   /* of a variable that a run lets grow; NULL: it stays as it is */
  GlowLoc loc;             /* for messages */
  bool read, written;      /* by the program */
  bool cleared;            /* a port: zeros before a run that has no value for it */
  const GlowTensor *value; /* of a constant; of a variable before the first run, if it is touched */
} GlowExecValue;

/* The seconds that each step of making an executable took. 0: not known, or there was no such step.
 */
typedef struct GlowExecutableCosts {
  double select, cache, emit, link, optimize, generate, load, constants;
  bool cached; /* what had to be made before the first run was found in the cache */
} GlowExecutableCosts;

/* The memory of the variables of an executable, which its programs share. Any number of states may
 * exist; one takes part in one run at a time. */
struct GlowState {
  GlowExecutable *executable;
  atomic_bool busy;
  GlowTensor **values; /* by storage; NULL: no variable, or as it was at first */
  int64_t *extents;    /* malloc'ed, for who asks for values; or NULL */
};

/* What an executable needs its backend for. Each may be NULL. */
typedef struct GlowEngine {
  /* Runs the program: inputs by value, NULL where there is none. Runs take turns. NULL: `program`
   * is walked. */
  GlowStatus (*run)(GlowExecution *x, GlowState *s, const GlowTensor *const *inputs);
  /* Before and behind a walk with HOST steps; such runs take turns. */
  void (*begin)(GlowExecution *x);
  void (*end)(GlowExecution *x);
  void (*host)(GlowFault *fault, int64_t instruction);
  /* Reports x->fault to the executable's context. */
  void (*report)(GlowExecution *x);
  /* The first value of variable i, where it is not known before: a copy. NULL after a diagnostic.
   */
  GlowTensor *(*first)(const GlowEntry *entry, uint32_t i);
  /* The program of an entry that names symbols, for these numbers in place of the symbols: the same
   * values, memory of the same alignment. The caller's until it leaves it; for the numbers of
   * entry->extents the entry itself, which nobody leaves. NULL after a diagnostic. Under the lock.
   */
  GlowEntry *(*at)(const GlowEntry *entry, const int64_t *extents);
  /* The same, if there is such a program already: without a lock. NULL: there is none. */
  GlowEntry *(*find)(const GlowEntry *entry, const int64_t *extents);
  void (*leave)(GlowEntry *at); /* not under the lock */
  /* The same for one execution, which nothing is locked or allocated for. selector_begin makes what
   * that needs of entry->selector_bytes bytes at `memory`; NULL: it cannot be made. selector_at is
   * the program of these extents, until it is called again; NULL: `at` does it, or says why not. */
  void *(*selector_begin)(const GlowEntry *entry, void *memory);
  GlowEntry *(*selector_at)(void *selector, const int64_t *extents);
  void (*selector_end)(void *selector);
  /* A run of a program that selector_at gave begins: if such runs have taken long, the engine may
   * make a program for all, after which entry->shared is another number. Not under the lock, which
   * the calling thread waits for only if the executable is not `guarded`. */
  void (*wanted)(const GlowEntry *entry, const int64_t *extents);
  /* It took so long. Without a lock. */
  void (*spent)(const GlowEntry *entry, const int64_t *extents, int64_t nanoseconds);
  /* Frees what runs have left in x->result and x->hosted. */
  void (*forget)(GlowExecution *x);
  void (*destroy)(GlowEntry *entry);
  /* Writes the executable (exec/written.h) to a file. IO or BAD_INPUT after a diagnostic. NULL: no
   * executable can be written. */
  GlowStatus (*write)(const GlowExecutable *e, const char *path);
} GlowEngine;

/* What the pieces of a program run: one of two functions, which agree in all but their speed.
 * Either may stand in the program's table at any step of any run. */
typedef struct GlowEntryCode {
  uint32_t npieces;
  GlowPieceFn **now;     /* the program's table. Written and read atomically */
  GlowPieceFn **library; /* of the library; NULL: of no kernel, or the library has none */
  GlowPieceFn **better;  /* made for the program; NULL: there is none, or none yet. Atomic, too */
} GlowEntryCode;

/* A symbol that each run sets: the extent of an input along an axis. */
typedef struct GlowEntrySymbol {
  const GlowExtent *extent;
  uint32_t value, axis; /* of several, the first one */
} GlowEntrySymbol;

/* What a program wants of the memory of an execution: bytes of the arena, bytes of scratch memory
 * for each worker, and entries of tables. */
typedef struct GlowEntryNeeds {
  int64_t memory, scratch, addresses, loops;
} GlowEntryNeeds;

/* A program of an executable. If it names symbols, `program` and what belongs to it are for these
 * extents, and engine->at gives those for others. */
struct GlowEntry {
  GlowExecutable *executable;
  GlowStr name;
  const GlowEngine *engine;
  void *backend; /* the engine's */
  /* Those of the module's storage first, in the same order in all entries; then parameters. */
  const GlowExecValue *values;
  uint32_t nvalues;
  const GlowEntrySymbol *symbols; /* those that no definition gives */
  const int64_t *extents;         /* of the symbols; those of `program` */
  uint32_t nsymbols;
  /* The symbols of the module; runs check those that follow from what inputs and variables say. */
  const GlowExtent *const *declared;
  uint32_t ndeclared;
  GlowLoc loc; /* of the function, for messages about them */
  const struct GlowSelectorText
      *selector;          /* the engine's: what executions select programs from; or NULL */
  int64_t selector_bytes; /* that each execution needs for that */
  atomic_uint shared;     /* how many programs the engine has made for `find` of its own accord */
  GlowEntryNeeds most;    /* of the programs that have been selected while it was made */
  const GlowProgram *program; /* NULL: engine->run */
  GlowEntryCode code;         /* of `program` */
  int64_t memory, align;      /* bytes of the arena of a run */
  int64_t scratch;            /* bytes that each worker needs behind it */
  const GlowProfilePiece *pieces;
  uint32_t npieces;
  GlowBackground *background; /* of an entry that engine->at gave: makes its code; or NULL */
  atomic_llong spent;         /* nanoseconds of its runs so far, while that has not started */
};

struct GlowExecutable {
  GlowContext *ctx;
  GlowArena *arena; /* of this struct and of all that it points to */
  atomic_int users;
  pthread_mutex_t lock; /* of the context: steps that the interpreter runs, and messages */
  bool guarded; /* nobody uses the context without the lock: threads of engines may use it, too */
  GlowEntry *entries;
  uint32_t nentries;
  uint32_t nstorage; /* how many values of each entry are storage */
  void *shared;      /* what entries share; freed behind them by `release_shared`, or NULL */
  void (*release_shared)(void *shared);
  GlowBackground *background; /* makes code while programs run; NULL: nothing is to be made */
  double patience;            /* seconds of runs until the background starts */
  atomic_llong spent;         /* nanoseconds of runs so far, while it has not started */
  atomic_llong code;          /* bytes of the code that was made for the programs, so far */
  GlowExecutableCosts costs;
  GlowExecution *speaker; /* messages to the context are about its run; guarded by `lock` */
  struct GlowHome *home; /* what the public API knows of it; NULL: the context is somebody else's */
  void (*leave)(struct GlowHome *home); /* called when all else is freed, or NULL */
};

/* An executable with one user in an arena, which it owns from then on. The caller fills in the
 * entries. */
GlowExecutable *glow_executable_make(GlowArena *arena, uint32_t nentries);
/* The entry of that name; NULL: the only one. NULL if there is none. */
GlowEntry *glow_executable_find(GlowExecutable *e, const char *name);
/* How many pieces the programs have that are kernels, and how many of these run compiled code now.
 */
void glow_executable_count_pieces(const GlowExecutable *e, uint32_t *all, uint32_t *compiled);
/* Piece i runs `function` from its next call on, in all runs. From any thread. */
void glow_entry_improve(GlowEntry *e, uint32_t i, GlowPieceFn *function);
/* Piece i runs the function made for the program if there is one and `better`, else the library's.
 */
void glow_entry_choose(GlowEntry *e, uint32_t i, bool better);
void glow_executable_release_fn(void *e); /* for glow_defer_push */

/* A state with the values that variables have before the first run. NULL: out of memory. */
GlowState *glow_state_make(GlowExecutable *e);
/* The value of a variable now, NULL if no program touches it. Borrowed, until the next run or
 * glow_state_destroy. */
const GlowTensor *glow_state_value(const GlowState *s, uint32_t i);
/* Bytes of what describes the value of a variable of an entry that is walked. */
size_t glow_state_value_bytes(const GlowExecValue *v);
/* Gives variable i, which is of such an entry and whose type has open extents, the extents of
 * `type`. Nothing is allocated. */
void glow_state_resize(GlowState *s, uint32_t i, const GlowType *type);

#endif
