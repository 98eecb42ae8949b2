/* Gradients of random functions.
 *
 *   glow-random-gradient [--seeds N] [--seed S]
 *
 * Each function gets a gradient by all that it reads, and a gradient of that. -grad must refuse
 * them, or leave functions that verify, print and read back, give the kept results the bits of the
 * function itself, run where it runs, and give the same bits as programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/passes.h"
#include "test/random/compare.h"

static unsigned passed, failed, derived, twice, ran, programs;

static void expect(bool ok, uint64_t seed, const char *what) {
  ok ? ++passed : ++failed;
  if (!ok)
    printf("FAILED seed %llu: %s\n", (unsigned long long)seed, what);
}

static void ignore(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

static GlowStatus run_pipeline(GlowModule *m, const char *text) {
  GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes, text);
  GlowRunnerOptions options = {.verify_each = true, .math = GLOW_MATH_EXACT};
  return p ? glow_pipeline_run(m, p, &options) : GLOW_INTERNAL;
}

/* Whether the last results of g are those of f, where both have them. */
static bool keeps_results(GlowModule *m, const GlowFunction *f, const GlowFunction *g,
                          const GlowBindings *want, const GlowBindings *got) {
  const GlowStr *a = glow_function_result_names(f, m->arena);
  const GlowStr *b = glow_function_result_names(g, m->arena);
  for (uint32_t i = 0; i < f->nresults; i++) {
    const GlowTensor *x = glow_bindings_find(want, a[i]);
    const GlowTensor *y = glow_bindings_find(got, b[g->nresults - f->nresults + i]);
    if (!x || !y || glow_tensor_compare(m->ctx, y, x, 0, 0).mismatch)
      return false;
  }
  return true;
}

/* Compares a run of g with f's, and with that of the program that g becomes. */
static void run_gradient(GlowModule *m, GlowChoice *choice, uint64_t seed) {
  GlowContext *ctx = m->ctx;
  GlowStr f = glow_str(ctx, "main"), g = glow_str(ctx, "test.gradient");
  GlowBindings inputs = {0}, want = {0}, got = {0}, again = {0};
  if (glow_random_inputs(glow_module_function(m, f), choice, &inputs) &&
      glow_run_small(m, f, &inputs, &want) == GLOW_OK &&
      glow_run_small(m, g, &inputs, &got) == GLOW_OK) {
    ran++;
    expect(keeps_results(m, glow_module_function(m, f), glow_module_function(m, g), &want, &got),
           seed, "kept results differ");
    GlowStatus status = run_pipeline(m, "O2,dce,dce<entry=test.gradient>,irgen,O2");
    expect(status != GLOW_INTERNAL, seed, "the program does not verify");
    if (status == GLOW_OK && glow_run_copy(m, g, &inputs, &again) == GLOW_OK) {
      programs++;
      const char *what = glow_outputs_differ(ctx, &got, &again);
      expect(!what, seed, what);
    }
  }
  glow_random_release(&inputs);
  glow_random_release(&want);
  glow_random_release(&got);
  glow_random_release(&again);
}

static void body(GlowContext *ctx, void *arg) {
  uint64_t seed = *(const uint64_t *)arg;
  GlowChoice choice = glow_choice_seed(seed);
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  GlowModule *m = glow_random_module(ctx, &choice, &t);
  GlowStr first = glow_str(ctx, "test.gradient"), second = glow_str(ctx, "test.second");
  GlowFunction *g =
      m ? glow_random_declare(glow_module_function(m, glow_str(ctx, "main")), first) : NULL;
  if (g) {
    GlowModule *both = glow_module_clone(m);
    GlowFunction *h = glow_random_declare(glow_module_function(both, first), second);
    GlowStatus status = run_pipeline(m, "grad");
    expect(status != GLOW_INTERNAL, seed, "the gradient does not verify");
    if (h && status == GLOW_OK) {
      GlowStatus again = run_pipeline(both, "grad");
      expect(again != GLOW_INTERNAL && (again != GLOW_OK || glow_module_verify_roundtrip(both)),
             seed, "the gradient's gradient does not verify");
      twice += again == GLOW_OK;
    }
    if (status == GLOW_OK) {
      derived++;
      expect(glow_module_verify_roundtrip(m), seed, "the gradient does not read back");
      run_gradient(m, &choice, seed);
    }
  }
  glow_defer_pop(ctx, &release, true);
}

int main(int argc, char **argv) {
  uint64_t seeds = 300, first = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seeds") == 0)
      seeds = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--seed") == 0) {
      first = strtoull(argv[i + 1], NULL, 10);
      seeds = 1;
    }
  }
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    GlowContext *ctx = glow_context_create();
    if (!ctx)
      return 1;
    ctx->error_limit = 0; /* refusals count as errors */
    if (seeds > 1)
      glow_context_set_diagnostic_fn(ctx, ignore, NULL);
    expect(glow_protect(ctx, body, &seed) == GLOW_OK, seed, "stopped");
    glow_context_destroy(ctx);
  }
  printf("%u gradients, %u of gradients, %u ran, %u as programs\n%u passed, %u failed\n", derived,
         twice, ran, programs, passed, failed);
  return failed || (seeds > 100 && (!twice || !programs));
}
