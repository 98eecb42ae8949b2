/* The table of backends. */
#include "backend/backends.h"

#if GLOW_HAVE_CPU_BACKEND
#include "backend/cpu/cpu.h"
#endif

static const GlowBackend backends[] = {
#define BACKEND(name, function, compile, level, primitives, about)                                 \
  {#name, function, compile, level, primitives, about},
#include "backend/backends.def"
#ifdef GLOW_EXTRA_BACKENDS
#include GLOW_EXTRA_BACKENDS
#endif
#undef BACKEND
};

const GlowBackendTable glow_backends = {backends, sizeof backends / sizeof *backends};
