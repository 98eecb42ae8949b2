/* The passes of Glow, and the pipelines that are made of them. */
#ifndef GLOW_DRIVER_PASSES_H
#define GLOW_DRIVER_PASSES_H

#include "pass/pass.h"

/* A build for tests may have rows of its own: GLOW_EXTRA_PASSES is their file. */
#define PASS(name, function, ...) bool glow_pass_##function(GlowPassRun *run);
#include "driver/passes.def"
#undef PASS

extern const GlowPassTable glow_passes;
/* The table for people, then the named pipelines. */
void glow_passes_print(GlowText *out);

/* What is left of Calls, for any device, as those need who cannot run a Call: IRGen, and with it
 * all backends. */
#define GLOW_INLINE_ALL "inline<devices>"
/* What makes programs of the graphs of a module, which a backend runs as one: GLOW_INLINE_ALL,
 * -O<optimization> on graphs, irgen. */
GlowPipeline *glow_pipeline_to_programs(const GlowModule *m, int optimization, GlowMath math);

/* ---- pipelines.c, for the table -------------------------------------------------------------- */
const char *glow_pipeline_text(GlowContext *ctx, const char *target, GlowLevel level,
                               int optimization);
void glow_pipelines_print(GlowText *out);

#endif
