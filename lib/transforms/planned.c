/* See planned.h. */
#include "transforms/planned.h"

#include "support/diag.h"

/* Runs passes on the module. `entry` is the function that -dce leaves. */
static bool run_passes(const GlowPassRun *run, GlowModule *m, const char *passes, GlowStr entry) {
  const GlowPass *dce = glow_pass_find(run->table, "dce");
  const GlowPipeline *p = glow_pipeline_parse(run->ctx, run->table, passes);
  const GlowRunnerOptions options = {.math = run->math};
  return p && glow_pipeline_run(m, glow_pipeline_with(p, dce, "entry", entry), &options) == GLOW_OK;
}

/* Leaves of the module a program of the function `name`, and nothing else. */
static bool make_program(const GlowPassRun *run, GlowModule *m, const char *then, GlowStr name) {
  for (GlowFunction *f = m->first_function, *next; f; f = next) {
    next = f->next;
    if (f->kind == GLOW_GRADIENT)
      glow_function_remove(f);
  }
  if (!run_passes(run, m, "inline<devices>,dce", name))
    return false;
  bool is_lowered = glow_need_holds(m, GLOW_NEED_BIT_LOWERED, "", false);
  return run_passes(run, m, then ? then : is_lowered ? "irgen,O2" : "O2,irgen,O2", name);
}

int64_t glow_planned_bytes(const GlowPassRun *run, const GlowFunction *f, const char *then,
                           GlowStr *why) {
  GlowHold hold;
  GlowStr task = run->ctx->task;
  GlowModule *m = glow_module_clone(f->module);
  glow_hold_begin(run->ctx, &hold);
  bool ok = make_program(run, m, then, f->name);
  const GlowFunction *program = ok ? glow_module_function(m, f->name) : NULL;
  int64_t bytes = program ? program->arena : -1;
  glow_hold_end(&hold);
  glow_module_destroy(m);
  run->ctx->task = task;
  GlowStr error = glow_held_error(&hold);
  *why = error ? error : "no memory is planned";
  return bytes;
}
