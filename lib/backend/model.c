/* See model.h. */
#include "backend/model.h"

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

GlowRunOptions glow_model_run_options(GlowContext *ctx, const GlowModelFlags *flags,
                                      const GlowPool *pool) {
  return (GlowRunOptions){.level = flags->level < 0 ? NULL : &flags->level,
                          .parallel = glow_pool_parallel(pool),
                          .max_memory = flags->max_memory,
                          .cache = glow_cache_choose(ctx, &flags->cache)};
}
