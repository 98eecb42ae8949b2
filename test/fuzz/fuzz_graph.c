/* Graphs from bytes: a random module must print and read back, and compute the same bits as a graph
 * and as the program that -O2 makes of it. Its gradient must verify, or be refused. */
#include <stdio.h>

#include "driver/passes.h"
#include "test/fuzz/fuzz.h"
#include "test/random/compare.h"

/* With GLOW_FUZZ_PRINT in the environment, shows what the bytes stand for. */
static void print(const GlowModule *m) {
  GlowText text;
  if (!m || !getenv("GLOW_FUZZ_PRINT"))
    return;
  glow_text_init(&text, m->ctx);
  glow_module_print(m, &text, &(GlowPrintOptions){.no_payload = true});
  puts(glow_text_cstr(&text));
  fflush(stdout);
  glow_text_release(&text);
}

/* False if irgen refuses, which it may for sequences and open extents. A module that does not run
 * may be found to be wrong once a pass makes a value known. */
static bool compile(GlowModule *m, bool runs) {
  GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes, "O2,dce,dce<entry=main>,irgen,O2");
  GlowStatus status =
      p ? glow_pipeline_run(m, p,
                            &(GlowRunnerOptions){.verify_each = true, .math = GLOW_MATH_EXACT})
        : GLOW_INTERNAL;
  if (status == GLOW_INTERNAL && runs)
    __builtin_trap();
  return status == GLOW_OK;
}

static void differentiate(const GlowModule *m) {
  GlowModule *copy = glow_module_clone(m);
  GlowFunction *f = glow_module_function(copy, glow_str(m->ctx, "main"));
  GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes, "grad");
  if (glow_random_declare(f, glow_str(m->ctx, "main.gradient")) &&
      glow_pipeline_run(copy, p, &(GlowRunnerOptions){.verify_each = true}) == GLOW_INTERNAL)
    __builtin_trap();
  glow_module_destroy(copy);
}

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowChoice choice = glow_choice_bytes(in->data, in->size);
  GlowBindings inputs = {0}, want = {0}, got = {0};
  ctx->error_limit = 0;
  GlowModule *m = glow_random_module(ctx, &choice, NULL);
  print(m);
  if (!m || !glow_module_verify_roundtrip(m))
    __builtin_trap();
  differentiate(m);
  GlowStr name = glow_str(ctx, "main");
  if (glow_random_inputs(glow_module_function(m, name), &choice, &inputs)) {
    GlowStatus status = glow_run_copy(m, name, &inputs, &want);
    if (compile(m, status == GLOW_OK) && status == GLOW_OK &&
        (glow_run_copy(m, name, &inputs, &got) != GLOW_OK || glow_outputs_differ(ctx, &want, &got)))
      __builtin_trap();
  }
  glow_random_release(&inputs);
  glow_random_release(&want);
  glow_random_release(&got);
}

GLOW_FUZZ_TARGET(false, body)
