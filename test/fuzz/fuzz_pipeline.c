/* Pass-pipeline strings: what parses, and what is made of that, must print to something that parses to the same. */
#include "driver/passes.h"
#include "test/fuzz/fuzz.h"

static void check_print(GlowContext *ctx, const GlowPipeline *p) {
  GlowText first, second;
  glow_text_init(&first, ctx);
  glow_text_init(&second, ctx);
  glow_pipeline_print(p, &first);
  GlowPipeline *again = glow_pipeline_parse(ctx, &glow_passes, glow_text_cstr(&first));
  if (!again)
    __builtin_trap();
  glow_pipeline_print(again, &second);
  if (strcmp(glow_text_cstr(&first), glow_text_cstr(&second)))
    __builtin_trap();
  glow_text_release(&first);
  glow_text_release(&second);
}

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowPipeline *p = glow_pipeline_parse(ctx, &glow_passes, (const char *)in->data);
  if (!p)
    return;
  check_print(ctx, p);
  glow_pipeline_check_math(p, GLOW_MATH_EXACT, GLOW_NOWHERE);
  const GlowPass *pass = &glow_passes.passes[strlen((const char *)in->data) % glow_passes.count];
  GlowPipeline *less = glow_pipeline_without(p, pass);
  glow_pipeline_append(less, p);
  check_print(ctx, less);
}

GLOW_FUZZ_TARGET(true, body)
