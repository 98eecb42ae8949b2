/* What a command line says about a model: how it is read, compiled and run. The options that
 * glow-run and glow-bench share. */
#ifndef GLOW_DRIVER_MODEL_H
#define GLOW_DRIVER_MODEL_H

#include "driver/backend.h"
#include "driver/options.h"
#include "driver/session.h"
#include "exec/pool.h"
#include "ir/remarks.h"
#include "support/cache.h"
#include "target/target.h"

typedef struct GlowModelFlags {
  GlowStrList binds, carries;
  const char *backend, *tier, *entry, *target;
  GlowTier default_tier; /* without --tier */
  int64_t threads, max_memory;
  bool isolate;
  int level; /* -O, or -1 */
  GlowMath math;
  GlowRemarkFlags remarks;
  GlowCacheFlags cache;
} GlowModelFlags;

#define GLOW_MODEL_DEFAULTS(name, machine_code)                                                    \
  {                                                                                                \
    .backend = (name), .default_tier = (machine_code), .threads = 1, .level = -1,                  \
    .cache = GLOW_CACHE_DEFAULTS                                                                   \
  }

/* clang-format off */
/* Rows for the table of options, without --backend, whose help differs. */
#define GLOW_MODEL_OPTIONS(flags)                                                                  \
  {.name = "threads", .value = "N", .help = "how many threads share the work of machine code (1)", \
   .kind = GLOW_OPT_INT, .target = &(flags).threads, .min = 1, .max = GLOW_MAX_THREADS,            \
   .two_dashes = true},                                                                            \
  {.name = "max-memory", .value = "SIZE",                                                          \
   .help = "refuse what needs more memory to run, such as 64M or 2G", .kind = GLOW_OPT_SIZE,       \
   .target = &(flags).max_memory, .two_dashes = true},                                             \
  GLOW_TIER_OPTION((flags).tier),                                                                  \
  {.name = "isolate", .help = "LLVM runs in a process of its own, and only that ends if it fails", \
   .kind = GLOW_OPT_FLAG, .target = &(flags).isolate, .two_dashes = true},                         \
  GLOW_CACHE_OPTIONS((flags).cache),                                                               \
  GLOW_LEVEL_OPTIONS((flags).level, "lower and generate instructions, then run the program",       \
                     "the same with cheap optimizations", "the same with all optimizations"),      \
  GLOW_MATH_OPTIONS((flags).math),                                                                 \
  {.name = "remarks", .value = "[=REGEX]",                                                         \
   .help = "show what passes did, and what became of instructions (REGEX: codegen)",               \
   .kind = GLOW_OPT_OPTIONAL, .target = &(flags).remarks.speakers},                                \
  {.name = "remarks-output", .value = "FILE", .help = "write remarks as lines of JSON",            \
   .kind = GLOW_OPT_STRING, .target = &(flags).remarks.output},                                    \
  {.name = "target", .value = "NAME",                                                              \
   .help = "make it a program for this target, as glow-opt does; help lists them",                 \
   .kind = GLOW_OPT_STRING, .target = &(flags).target, .list = glow_targets_print},                    \
  {.name = "bind", .value = "N=8",                                                                 \
   .help = "give an open dimension a size, a bound with N=..8, or a range with N=1..8", .kind = GLOW_OPT_REPEAT,        \
   .target = &(flags).binds},                                                                      \
  {.name = "carry", .value = "past.*=present.*",                                                   \
   .help = "outputs that are inputs of the next run: the inputs become variables, which grow in place", \
   .kind = GLOW_OPT_REPEAT, .target = &(flags).carries},                                           \
  {.name = "entry", .value = "NAME",                                                               \
   .help = "the function or program to run, if there are several", .kind = GLOW_OPT_STRING,        \
   .target = &(flags).entry, .two_dashes = true}
/* clang-format on */

/* How the flags say that a model is loaded; the lists are theirs. */
GlowLoadOptions glow_model_load_options(const GlowModelFlags *flags);
/* glow_session_load with what the flags say. */
GlowStatus glow_model_load(GlowSession *s, GlowContext *ctx, const char *path,
                           const GlowModelFlags *flags);

/* Makes the loaded model ready for the backend. Sets its target; lowers to primitives if
 * `primitives` asks for it or the backend wants it; and runs the -O level, which by default is the
 * one that the backend gives to graphs. */
GlowStatus glow_model_optimize(GlowSession *s, const GlowModelFlags *flags,
                               const GlowBackend *backend, bool primitives);

/* Runs an entry that is ready `steps` times on the same inputs; variables keep their values from
 * step to step. The session gets the outputs of the last step. */
GlowStatus glow_model_run_steps(GlowSession *s, GlowRunnable *r, int64_t steps);
/* Runs an entry that notes a profile, until a run is about as fast as those before: so page faults
 * of the first run do not show. On a busy machine, any run that was not interrupted for long will
 * do. */
GlowStatus glow_model_run_warm(GlowRunnable *r);
/* The backend of the flags, and how the model is run there. `pool` and the flags must outlive the
 * options. NULL after a diagnostic. */
const GlowBackend *glow_model_backend(GlowContext *ctx, const GlowBackendTable *table,
                                      const GlowModelFlags *flags);
GlowRunOptions glow_model_run_options(GlowContext *ctx, const GlowModelFlags *flags,
                                      const GlowBackend *backend, const GlowPool *pool);

#endif
