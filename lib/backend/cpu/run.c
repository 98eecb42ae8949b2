/* Targets, and runs that compile, run once and forget. */
#include "backend/cpu/cpu.h"

#include "analysis/footprint.h"
#include "exec/runnable.h"
#include "target/cpu/cpu.h"

const GlowIsa *glow_cpu_target(const GlowModule *m, GlowLoc loc) {
  const GlowTarget *t;
  if (!glow_target_of(m, &t))
    return NULL;
  const GlowIsa *isa = t ? glow_cpu_isa(t) : NULL;
  const char *lacks = isa ? t->family->lacks(t) : NULL;
  if (!t)
    glow_error(m->ctx, loc, "the CPU backend has no target that this machine can run");
  else if (!isa)
    glow_error(m->ctx, loc, "the CPU backend makes no code for target %s", t->name);
  else if (lacks)
    glow_error(m->ctx, loc, "this machine cannot run code for target %s (it needs %s)", t->name,
               lacks);
  else
    return isa;
  const GlowIsa *host = glow_isa_host();
  if (host)
    glow_note(m->ctx, loc, "glow-opt -target=%s makes it a program for this machine", host->name);
  glow_note(m->ctx, GLOW_NOWHERE, "--backend=interp runs programs for any target");
  return NULL;
}

bool glow_cpu_fits(GlowFunction *program, const GlowCpuPlan *plan, int64_t workers, int64_t limit) {
  if (!limit)
    return true;
  GlowFootprint p = glow_function_footprint(program);
  p.arena = plan->arena;
  p.scratch = workers * plan->scratch;
  return glow_footprint_fits(program, &p, limit);
}

GlowStatus glow_cpu_run(GlowFunction *program, const GlowBindings *inputs, GlowBindings *outputs,
                        const GlowRunOptions *options) {
  GlowContext *ctx = program->module->ctx;
  GlowExecutionSetup how = {.parallel = options ? options->parallel : NULL};
  GlowRunnable *r = glow_runnable_create(glow_cpu_compile(&program, 1, options), inputs, &how);
  if (!r)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_runnable_destroy_fn, r);
  GlowStatus status = glow_runnable_run(r);
  if (status == GLOW_OK)
    glow_runnable_take(r, outputs);
  if (status == GLOW_OK && options && options->values)
    glow_values_take_state(options->values, r->state);
  glow_defer_pop(ctx, &defer, true);
  if (status == GLOW_OK && options && options->progress)
    options->progress(options->progress_user, 1, 1);
  return status;
}
