/* The passes of Glow, and the pipelines that are made of them. */
#ifndef GLOW_DRIVER_PASSES_H
#define GLOW_DRIVER_PASSES_H

#include "pass/pass.h"

/* A build for tests may have rows of its own, in the file GLOW_EXTRA_PASSES. */
#define PASS(name, function, ...) bool glow_pass_##function(GlowPassRun *run);
#include "driver/passes.def"
#undef PASS

enum { GLOW_NAMED_PIPELINES = 1 };
extern const GlowPassTable glow_passes;
/* The table for people, then the named pipelines. */
void glow_passes_print(GlowText *out);

/* Inlines all Calls, on any device. IRGen needs this, and so do all backends, which cannot run a
 * Call. */
#define GLOW_INLINE_ALL "inline<devices>"
/* The pipeline from the graphs of a module to programs that a backend runs: GLOW_INLINE_ALL,
 * -O<optimization> on graphs, irgen. */
GlowPipeline *glow_pipeline_to_programs(const GlowModule *m, int optimization, GlowMath math);

/* ---- pipelines.c, for the table -------------------------------------------------------------- */
extern const GlowNamedPipeline glow_named_pipelines[GLOW_NAMED_PIPELINES];
const char *glow_pipeline_text(GlowContext *ctx, const char *target, GlowLevel level,
                               int optimization);
void glow_pipelines_print(GlowText *out);

#endif
