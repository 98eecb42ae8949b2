/* Reduction: a module that a test finds interesting becomes a small one that it still finds
 * interesting.
 *
 * Strategies (strategies.def) say what could be left out; chunks of that are tried, halved where a
 * chunk is needed (after ddmin, as llvm-reduce does), until no strategy finds anything more. Every
 * candidate that a test sees verifies, and what is accepted also reads back. The result depends on
 * the module and the test's answers alone: how many tests run at once changes only the time. */
#ifndef GLOW_REDUCE_REDUCE_H
#define GLOW_REDUCE_REDUCE_H

#include "ir/ir.h"

typedef enum GlowVerdict {
  GLOW_NOT_INTERESTING,
  GLOW_INTERESTING,
  GLOW_NO_VERDICT /* interrupted, or the test cannot be run: the reduction ends here */
} GlowVerdict;

typedef struct GlowCandidate {
  const GlowModule *module; /* verifies */
  const char *text;         /* the same as text, resources under absolute paths; payload included */
  size_t size;
} GlowCandidate;

typedef GlowVerdict (*GlowInterestingFn)(void *user, const GlowCandidate *candidate);

/* A test of which several may run at once, in slots numbered from 0. `start` may keep nothing of
 * the candidate; false means NO_VERDICT. Each start is followed by one wait or cancel. */
typedef struct GlowReduceTest {
  uint32_t slots; /* at least 1 */
  bool (*start)(void *user, uint32_t slot, const GlowCandidate *candidate);
  GlowVerdict (*wait)(void *user, uint32_t slot);
  void (*cancel)(void *user, uint32_t slot);
  void *user;
} GlowReduceTest;

/* What there is of a module: nodes without yield and return, eval initializers included. */
typedef struct GlowModuleSize {
  uint32_t functions, nodes, storage;
  size_t bytes; /* of its text */
} GlowModuleSize;

/* One accepted candidate. */
typedef struct GlowReduceStep {
  const char *strategy;
  uint32_t chunk;      /* how many of what the strategy offered went at once */
  GlowModuleSize size; /* what is left */
  uint64_t tests;      /* run so far */
  const GlowModule *module;
} GlowReduceStep;

typedef struct GlowReduceOptions {
  const char *strategies; /* names between commas, in the table's order; NULL: all */
  uint32_t rounds;        /* over the strategies at most; 0: until nothing changes */
  void (*progress)(void *user, const GlowReduceStep *step); /* NULL: none */
  void *user;
} GlowReduceOptions;

typedef enum GlowReduceEnd {
  GLOW_REDUCED,
  GLOW_REDUCE_NOT_INTERESTING, /* the whole module is not: nothing was tried */
  GLOW_REDUCE_STOPPED          /* NO_VERDICT; *m is the best so far */
} GlowReduceEnd;

/* Replaces *m, which must verify, by the smallest module found, and destroys what *m was. If the
 * whole module gets NO_VERDICT, *m stays. Options may be NULL. */
GlowReduceEnd glow_reduce(GlowModule **m, GlowInterestingFn test, void *user,
                          const GlowReduceOptions *options);
GlowReduceEnd glow_reduce_tests(GlowModule **m, const GlowReduceTest *test,
                                const GlowReduceOptions *options);

GlowModuleSize glow_module_size(const GlowModule *m); /* bytes: 0 */
/* Whether every name of a list exists; reports the first that does not at `loc`. */
bool glow_reduce_strategies_known(GlowContext *ctx, GlowLoc loc, const char *list);
void glow_reduce_strategies_print(GlowText *out);

/* ---- Tests that are commands (command.c) ----------------------------------------------------- */

typedef struct GlowCommandTest {
  const char *command;     /* a program; with blanks or other signs of a shell's in it, a command
                              for sh -c */
  const char *const *args; /* `%s` in command or arguments: the path of the candidate; without any
                              it is the last argument */
  uint32_t nargs, jobs;
  double timeout;           /* seconds that one run may take; 0: no limit */
  const char *name;         /* file name of candidates: tests may look at the suffix */
  bool show;                /* let what the command prints reach stderr */
  bool (*stop)(void *user); /* polled while waiting; NULL: never */
  void *user;
} GlowCommandTest;

/* How the last run that was waited for ended. */
typedef struct GlowCommandEnd {
  int how;  /* GlowProcessEnd */
  int code; /* exit status or signal */
} GlowCommandEnd;

typedef struct GlowCommandRunner GlowCommandRunner;
/* Makes a folder for candidates below $TMPDIR. NULL after a diagnostic. */
GlowCommandRunner *glow_command_runner_create(GlowContext *ctx, const GlowCommandTest *test);
GlowReduceTest glow_command_runner_test(GlowCommandRunner *r);
GlowCommandEnd glow_command_runner_end(const GlowCommandRunner *r);
/* Kills what runs, removes the folder; also usable as a GlowDefer release. */
void glow_command_runner_destroy(void *runner);

#endif
