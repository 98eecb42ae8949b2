/* Backends: what runs a program. The table is backends.def; a backend is one function with the
 * contract of glow_interp_run, and one that makes a network if it compiles. */
#ifndef GLOW_BACKEND_BACKEND_H
#define GLOW_BACKEND_BACKEND_H

#include "backend/network.h"
#include "runtime/session.h"

typedef struct GlowBackend {
  const char *name;
  GlowBackendFn run;
  GlowPrepareFn prepare; /* NULL: each run starts anew */
  int level;             /* what -O a graph gets if none is named; -1: none is needed */
  bool primitives;       /* it wants what -lower=all leaves */
  const char *about;
} GlowBackend;

/* The functions of each row of backends.def. A build for tests may have rows of its own:
 * GLOW_EXTRA_BACKENDS is their file. */
#define BACKEND(name, function, prepare, level, primitives, about)                                 \
  GlowStatus function(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,          \
                      const GlowRunOptions *options);
#include "backend/backends.def"
#ifdef GLOW_EXTRA_BACKENDS
#include GLOW_EXTRA_BACKENDS
#endif
#undef BACKEND

/* The backend called `name`; NULL after a diagnostic that lists them. */
const GlowBackend *glow_backend_find(GlowContext *ctx, const char *name);

/* A network of a program, or of a function if the backend runs those. NULL after diagnostics. The
 * caller destroys it; a throw does not. */
GlowNetwork *glow_backend_prepare(const GlowBackend *b, GlowFunction *f, const GlowBindings *inputs,
                                  const GlowRunOptions *options);

#endif
