/* Backends: what runs a program. A backend is a function with the contract of glow_interp_run and,
 * if it compiles, a function that makes a network. No backend is named here. */
#ifndef GLOW_DRIVER_BACKEND_H
#define GLOW_DRIVER_BACKEND_H

#include "exec/network.h"

typedef struct GlowBackend {
  const char *name;
  GlowBackendFn run;
  GlowPrepareFn prepare; /* NULL: each run starts anew */
  int level;             /* what -O a graph gets if none is named; -1: none is needed */
  bool primitives;       /* it wants what -lower=all leaves */
  const char *about;
} GlowBackend;

/* The backends that a tool is built with: a value that it hands over (backend/backends.h). */
typedef struct GlowBackendTable {
  const GlowBackend *backends;
  uint32_t count;
} GlowBackendTable;

/* The backend called `name`; NULL after a diagnostic that lists them. */
const GlowBackend *glow_backend_find(GlowContext *ctx, const GlowBackendTable *table,
                                     const char *name);

/* Sets *tier to where machine code comes from, by its name in --tier: "compiled" or "library"; NULL
 * is compiled. False after a diagnostic, also if the backend runs no machine code. */
bool glow_tier_find(GlowContext *ctx, const GlowBackend *b, const char *name, GlowTier *tier);

/* A network of a program, or of a function if the backend runs those. NULL after diagnostics. The
 * caller destroys it; a throw does not. */
GlowNetwork *glow_backend_prepare(const GlowBackend *b, GlowFunction *f, const GlowBindings *inputs,
                                  const GlowRunOptions *options);

#endif
