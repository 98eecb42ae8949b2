/* When the runner verifies: a pass that breaks the module is found after that pass, after the last
 * one, or not at all, as the options say. */
#include "driver/passes.h"
#include "support/diag.h"
#include "test/unit/unit.h"

static const char module_text[] =
    "declare {\n  placeholder @x : float<2>\n  placeholder @y : float<2>\n"
    "}\nfunc @main {\n  %a = Relu(@x) : float<2>\n  Save(%a, @y)\n}\n";
static int later; /* runs of the pass that comes after the broken one */

static bool break_module(GlowPassRun *run) {
  glow_use_set(&run->function->body->first->operands[0], NULL);
  return true;
}

static bool count_runs(GlowPassRun *run) {
  (void)run;
  later++;
  return true;
}

static const GlowPassOption no_options[] = {{0}};
static const GlowPass broken = {
    .name = "broken", .level = GLOW_PASS_GRAPH, .run = break_module, .options = no_options};
static const GlowPass after = {
    .name = "after", .level = GLOW_PASS_GRAPH, .run = count_runs, .options = no_options};

/* The status of a run of `first` and then of the pass that counts its runs in `later`. */
static GlowStatus run_both(GlowContext *ctx, const GlowPass *first, GlowRunnerOptions options) {
  GlowModule *m = glow_module_parse(ctx, "m.gg", module_text, sizeof module_text - 1);
  GlowPipeline *p = glow_pipeline_create(ctx, &glow_passes);
  CHECK(m && glow_pipeline_add(p, first, NULL) && glow_pipeline_add(p, &after, NULL));
  later = 0;
  return glow_pipeline_run(m, p, &options);
}

static void run(GlowContext *ctx, void *arg) {
  (void)arg;
  const GlowRunnerOptions each = {.verify_each = true}, last = {.verify_last = true},
                          both = {.verify_each = true, .verify_last = true}, none = {0};
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  CHECK(run_both(ctx, &broken, each) == GLOW_INTERNAL && later == 0);
  CHECK(run_both(ctx, &broken, both) == GLOW_INTERNAL && later == 0);
  CHECK(run_both(ctx, &broken, last) == GLOW_INTERNAL && later == 1);
  CHECK(run_both(ctx, &broken, none) == GLOW_OK && later == 1);
  CHECK(run_both(ctx, &after, last) == GLOW_OK && later == 2);
  glow_silence_end(&silence);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  CHECK(ctx && glow_protect(ctx, run, NULL) == GLOW_OK);
  glow_context_destroy(ctx);
  return unit_finish();
}
