/* See model.h. */
#include "driver/model.h"

#include "support/process.h"

enum { WARM_RUNS = 10, MOST_WARM_RUNS = 100 };

GlowStatus glow_model_load(GlowSession *s, GlowContext *ctx, const char *path,
                           const GlowModelFlags *flags) {
  GlowLoadOptions load = {
      .entry = flags->entry, .binds = flags->binds.data, .nbinds = flags->binds.count};
  return glow_session_load(s, ctx, path, &load);
}

GlowStatus glow_model_optimize(GlowSession *s, const GlowModelFlags *flags,
                               const GlowBackend *backend, bool primitives) {
  bool given = flags->level >= 0 || s->entry->kind != GLOW_FUNC;
  GlowStatus status = flags->target ? glow_session_retarget(s, flags->target) : GLOW_OK;
  if (status == GLOW_OK && (primitives || backend->primitives))
    status = glow_session_lower_all(s);
  return status == GLOW_OK
             ? glow_session_optimize(s, given ? flags->level : backend->level, flags->math)
             : status;
}

const GlowBackend *glow_model_backend(GlowContext *ctx, const GlowBackendTable *table,
                                      const GlowModelFlags *flags) {
  GlowTier tier;
  const GlowBackend *b = glow_backend_find(ctx, table, flags->backend);
  return b && glow_tier_find(ctx, b, flags->tier, &tier) ? b : NULL;
}

GlowRunOptions glow_model_run_options(GlowContext *ctx, const GlowModelFlags *flags,
                                      const GlowBackend *backend, const GlowPool *pool) {
  GlowTier tier;
  glow_tier_find(ctx, backend, flags->tier, &tier); /* glow_model_backend has checked the name */
  return (GlowRunOptions){.tier = tier,
                          .parallel = glow_pool_parallel(pool),
                          .max_memory = flags->max_memory,
                          .cache = glow_cache_choose(ctx, &flags->cache)};
}

GlowStatus glow_model_run_steps(GlowSession *s, GlowRunnable *r, int64_t steps) {
  for (int64_t i = 0; i < steps; i++) {
    GlowStatus status = glow_runnable_run(r);
    if (status != GLOW_OK && steps > 1)
      glow_note(s->ctx, GLOW_NOWHERE, "this was step %lld of %lld", (long long)i + 1,
                (long long)steps);
    if (status != GLOW_OK)
      return status;
  }
  glow_runnable_take(r, &s->outputs);
  return GLOW_OK;
}

GlowStatus glow_model_run_warm(GlowRunnable *r) {
  double start = glow_clock(), best = 0;
  GlowStatus status = GLOW_OK;
  for (int i = 0; i < MOST_WARM_RUNS && status == GLOW_OK; i++) {
    status = glow_runnable_run(r);
    double t = r->execution->profile->seconds, passed = glow_clock() - start;
    if (i && t <= best * (i < WARM_RUNS ? 1.02 : 1.5) && (i > 2 || passed > 2))
      break;
    if (passed > 30)
      break;
    best = !i || t < best ? t : best;
  }
  return status;
}

GlowStatus glow_model_run(GlowSession *s, const GlowBackend *backend, const GlowRunOptions *options,
                          int64_t steps) {
  GlowRunOptions o = *options;
  o.values = glow_session_values(s);
  GlowRunnable *r = glow_backend_prepare(backend, s->entry, &s->inputs, &o);
  if (!r)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_runnable_destroy_fn, r);
  GlowStatus status = glow_model_run_steps(s, r, steps);
  if (status == GLOW_OK)
    glow_values_take_state(o.values, r->state);
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}
