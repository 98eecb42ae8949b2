/* Backends: what runs a program. A backend is a function with the contract of glow_interp_run and,
 * if it compiles, a function that makes an executable. No backend is named here. */
#ifndef GLOW_DRIVER_BACKEND_H
#define GLOW_DRIVER_BACKEND_H

#include "backend/interp/interp.h"
#include "exec/runnable.h"

/* Runs a program once, with the contract of glow_interp_run. */
typedef GlowStatus (*GlowBackendFn)(GlowFunction *f, const GlowBindings *inputs,
                                    GlowBindings *outputs, const GlowRunOptions *options);

/* Makes an executable of functions of one module, which borrows them; NULL after diagnostics. */
typedef GlowExecutable *(*GlowCompileFn)(GlowFunction *const *functions, uint32_t count,
                                         const GlowRunOptions *options);

typedef struct GlowBackend {
  const char *name;
  GlowBackendFn run;
  GlowCompileFn compile; /* NULL: each run starts anew */
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

const char *glow_tier_name(GlowTier tier); /* as in --tier */
/* Sets *tier to where machine code comes from, by its name in --tier: "compiled", "library" or "auto"; NULL
 * leaves it as it is. False after a diagnostic, also if the backend runs no machine code. */
bool glow_tier_find(GlowContext *ctx, const GlowBackend *b, const char *name, GlowTier *tier);

/* An executable of programs of one module, at least one, or of functions if the backend runs those.
 * It borrows the module and what the options point to. NULL after diagnostics. The caller releases
 * it; a throw does not. */
GlowExecutable *glow_backend_compile(const GlowBackend *b, GlowFunction *const *functions,
                                     uint32_t count, const GlowRunOptions *options);
/* The same of one, with a state, memory and inputs. */
GlowRunnable *glow_backend_prepare(const GlowBackend *b, GlowFunction *f, const GlowBindings *inputs,
                                   const GlowRunOptions *options);

#endif
