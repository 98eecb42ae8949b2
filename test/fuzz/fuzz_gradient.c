/* Texts with gradient declarations: what -grad makes of one verifies, prints and parses back to the
 * same text, or the declaration is refused. */
#include "driver/passes.h"
#include "test/fuzz/fuzz.h"

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowModule *m = glow_module_parse(ctx, "fuzz.gg", (const char *)in->data, in->size);
  if (!m || !glow_module_verify(m))
    return;
  GlowPipeline *p = glow_pipeline_parse(ctx, &glow_passes, "grad");
  GlowStatus status = glow_pipeline_run(m, p, &(GlowRunnerOptions){.verify_each = true});
  if (status == GLOW_INTERNAL || (status == GLOW_OK && !glow_module_verify_roundtrip(m)))
    __builtin_trap();
}

GLOW_FUZZ_TARGET(true, body)
