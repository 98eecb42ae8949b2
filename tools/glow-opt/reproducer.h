/* Reproducers: when a pass breaks a module, or the tool dies, what led to it stands in a file that
 * `-run-reproducer` runs. The module follows the lines of the head as it was read, so a reproducer
 * is itself a text that the tools read:
 *
 *   ; glow-opt reproducer
 *   ; version: 0.1.0
 *   ; command: glow-opt -O2 m.gg
 *   ; name: /home/u/m.gg
 *   ; pipeline: O2
 *   ; math, bisect-limit: bounded 12:3   (options that change what passes do)
 *
 * Names of resources in the module count from the folder of `name`. */
#ifndef GLOW_TOOLS_GLOW_OPT_REPRODUCER_H
#define GLOW_TOOLS_GLOW_OPT_REPRODUCER_H

#include "pass/pass.h"

typedef struct GlowReproducer {
  GlowContext *ctx;
  const char *tool;
  GlowText head;
  const char *text; /* the module as it was read; borrowed */
  size_t size;
  GlowStr path; /* where the file is written */
} GlowReproducer;

/* Prepares one, and has signals that end the process write it (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGABRT), until glow_reproducer_end. `name` is that of the input. One at a time. */
void glow_reproducer_begin(GlowReproducer *r, GlowContext *ctx, const char *tool, int argc,
                           char *const *argv, const char *name, const char *text, size_t size,
                           const GlowPipeline *pipeline, const GlowRunnerOptions *options);
/* Writes it if status is GLOW_INTERNAL, and says where. Releases what begin took. */
void glow_reproducer_end(GlowReproducer *r, GlowStatus status);
/* The same as a release for glow_defer_push: an internal error was thrown, or memory ran out. */
void glow_reproducer_end_thrown(void *reproducer);

/* What a reproducer says. */
typedef struct GlowReproduced {
  GlowStr name;
  GlowPipeline *pipeline;
  GlowMath math;
  const char *bisect_limit; /* or NULL */
  size_t head_size;         /* where the module begins */
} GlowReproduced;
/* False after a diagnostic: the text is none, or its pipeline is not known here. */
bool glow_reproducer_read(GlowContext *ctx, const char *file, const char *text, size_t size,
                          GlowReproduced *out);

#endif
