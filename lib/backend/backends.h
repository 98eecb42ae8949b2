/* The backends of this build: the table of backends.def, which a tool hands to lib/driver. A tool
 * that uses the table links all backends, and LLVM with the CPU backend. */
#ifndef GLOW_BACKEND_BACKENDS_H
#define GLOW_BACKEND_BACKENDS_H

#include "driver/backend.h"

/* The functions of each row of backends.def. A build for tests may have rows of its own:
 * GLOW_EXTRA_BACKENDS is their file. */
#define BACKEND(name, function, compile, level, primitives, about)                                 \
  GlowStatus function(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,          \
                      const GlowRunOptions *options);
#include "backend/backends.def"
#ifdef GLOW_EXTRA_BACKENDS
#include GLOW_EXTRA_BACKENDS
#endif
#undef BACKEND

/* The backend of a tool that runs models, unless its command line names one. */
#if GLOW_HAVE_CPU_BACKEND
#define GLOW_DEFAULT_BACKEND "cpu"
#else
#define GLOW_DEFAULT_BACKEND "interp"
#endif

extern const GlowBackendTable glow_backends;

#endif
