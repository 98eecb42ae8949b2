/* Looking up a backend, and networks of backends that only know whole runs. */
#include "driver/backend.h"

#include <stdlib.h>

const GlowBackend *glow_backend_find(GlowContext *ctx, const GlowBackendTable *table,
                                     const char *name) {
  const char *known = "";
  for (uint32_t i = 0; i < table->count; i++) {
    const GlowBackend *b = &table->backends[i];
    if (strcmp(b->name, name) == 0)
      return b;
    known = glow_str_printf(ctx, "%s%s%s (%s)", known, *known ? ", " : "", b->name, b->about);
  }
  glow_error(ctx, GLOW_NOWHERE, "unknown backend '%s'; this build has: %s", name, known);
  return NULL;
}

bool glow_tier_find(GlowContext *ctx, const GlowBackend *b, const char *name, GlowTier *tier) {
  *tier = GLOW_TIER_COMPILED;
  if (!name)
    return true;
  if (!b->prepare) {
    glow_error(ctx, GLOW_NOWHERE, "--tier: the backend %s runs no machine code", b->name);
    return false;
  }
  if (!strcmp(name, "library"))
    *tier = GLOW_TIER_LIBRARY;
  else if (strcmp(name, "compiled") != 0) {
    glow_error(ctx, GLOW_NOWHERE, "--tier: '%s' is none of compiled, library", name);
    return false;
  }
  return true;
}

/* ---- Networks of backends that do not compile ------------------------------------------------ */

typedef struct Whole {
  GlowNetwork base;
  GlowFunction *function;
  const GlowBindings *inputs;
  GlowBackendFn run;
  GlowRunOptions options;
  GlowArena *arena; /* of the profile; NULL: nobody asked */
  GlowNodeProfile *profile;
} Whole;

static void free_outputs(GlowNetwork *n) {
  for (uint32_t i = 0; i < n->outputs.count; i++)
    glow_tensor_free(n->outputs.data[i].tensor);
  n->outputs.count = 0;
}

static GlowStatus run_whole(GlowNetwork *n) {
  Whole *w = (Whole *)n;
  free_outputs(n);
  if (w->profile)
    glow_profile_begin(&w->profile->profile);
  GlowStatus status = w->run(w->function, w->inputs, &n->outputs, &w->options);
  if (w->profile)
    glow_profile_end(&w->profile->profile);
  return status;
}

static void destroy_whole(GlowNetwork *n) {
  Whole *w = (Whole *)n;
  free_outputs(n);
  if (w->arena)
    glow_arena_destroy(w->arena);
  free(w);
}

GlowNetwork *glow_backend_prepare(const GlowBackend *b, GlowFunction *f, const GlowBindings *inputs,
                                  const GlowRunOptions *options) {
  if (b->prepare)
    return b->prepare(f, inputs, options);
  Whole *w = glow_malloc(f->module->ctx, sizeof *w);
  *w = (Whole){.base = {.run = run_whole, .destroy = destroy_whole},
               .function = f,
               .inputs = inputs,
               .run = b->run,
               .options = *options};
  if (options->profile) {
    w->arena = glow_arena_create(f->module->ctx);
    w->profile = glow_node_profile_create(w->arena);
    w->base.profile = &w->profile->profile;
    w->options.finished = glow_node_profile_note;
    w->options.finished_user = w->profile;
  }
  return &w->base;
}
