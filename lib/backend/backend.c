/* The table of backends. */
#include "backend/backend.h"

static const GlowBackend backends[] = {
#define BACKEND(name, function, level, primitives, about)                                          \
  {#name, function, level, primitives, about},
#include "backend/backends.def"
#ifdef GLOW_EXTRA_BACKENDS
#include GLOW_EXTRA_BACKENDS
#endif
#undef BACKEND
};

const GlowBackend *glow_backend_find(GlowContext *ctx, const char *name) {
  const char *known = "";
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
    const GlowBackend *b = &backends[i];
    if (strcmp(b->name, name) == 0)
      return b;
    known = glow_str_printf(ctx, "%s%s%s (%s)", known, *known ? ", " : "", b->name, b->about);
  }
  glow_error(ctx, GLOW_NOWHERE, "unknown backend '%s'; this build has: %s", name, known);
  return NULL;
}
