/* See model.h. */
#include "driver/model.h"

#include "support/process.h"

enum { WARM_RUNS = 10, MOST_WARM_RUNS = 100 };

GlowLoadOptions glow_model_load_options(const GlowModelFlags *flags) {
  return (GlowLoadOptions){.entry = flags->entry,
                           .binds = flags->binds.data,
                           .nbinds = flags->binds.count,
                           .carries = flags->carries.data,
                           .ncarries = flags->carries.count};
}

GlowStatus glow_model_load(GlowSession *s, GlowContext *ctx, const char *path,
                           const GlowModelFlags *flags) {
  GlowLoadOptions load = glow_model_load_options(flags);
  return glow_session_load(s, ctx, path, &load);
}

/* Passes that need extents would say that these are open, but not for want of which inputs. */
static GlowStatus check_shapes(GlowSession *s) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < names.count; i++) {
    const GlowType *type = glow_session_input_type(s, names.data[i]);
    if (glow_type_has_rangeless(type) &&
        !glow_bindings_take(s->ctx, &s->inputs, names.data[i], type, GLOW_NOWHERE))
      status = GLOW_BAD_INPUT;
  }
  return status;
}

/* Makes a program of a graph. */
static GlowStatus make_program(GlowSession *s, int level, GlowMath math, bool primitives) {
  GlowStatus status = glow_session_keep_entry(s);
  if (status == GLOW_OK && primitives)
    status = glow_session_lower_all(s);
  if (status == GLOW_OK)
    status = glow_session_optimize(s, level, math);
  if (status != GLOW_BAD_INPUT)
    return status;
  s->ctx->too_many_errors = s->ctx->drop_notes = false; /* what else there is, is said always */
  glow_note(s->ctx, GLOW_NOWHERE, "--backend=interp without -O runs the graph as it is");
  return status;
}

GlowStatus glow_model_optimize(GlowSession *s, const GlowModelFlags *flags,
                               const GlowBackend *backend, bool primitives) {
  bool graph = s->entry->kind == GLOW_FUNC;
  int level = flags->level < 0 && graph ? backend->level : flags->level;
  GlowStatus status = flags->target ? glow_session_retarget(s, flags->target) : GLOW_OK;
  primitives |= backend->primitives;
  if (status == GLOW_OK && graph && level >= 0)
    status = check_shapes(s);
  if (status == GLOW_OK && graph && level >= 0)
    return make_program(s, level, flags->math, primitives);
  if (status == GLOW_OK && primitives)
    status = glow_session_lower_all(s);
  return status == GLOW_OK ? glow_session_optimize(s, level, flags->math) : status;
}

const GlowBackend *glow_model_backend(GlowContext *ctx, const GlowBackendTable *table,
                                      const GlowModelFlags *flags) {
  GlowTier tier;
  const GlowBackend *b = glow_backend_find(ctx, table, flags->backend);
  return b && glow_tier_find(ctx, b, flags->tier, &tier) ? b : NULL;
}

GlowRunOptions glow_model_run_options(GlowContext *ctx, const GlowModelFlags *flags,
                                      const GlowBackend *backend, const GlowPool *pool) {
  GlowTier tier = flags->default_tier;
  glow_tier_find(ctx, backend, flags->tier, &tier); /* glow_model_backend has checked the name */
  return (GlowRunOptions){.tier = tier,
                          .parallel = glow_pool_parallel(pool),
                          .isolate = flags->isolate,
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
