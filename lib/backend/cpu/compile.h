/* What an entry of the CPU backend keeps besides what runs need. */
#ifndef GLOW_BACKEND_CPU_COMPILE_H
#define GLOW_BACKEND_CPU_COMPILE_H

#include "backend/cpu/cached.h"
#include "backend/cpu/code.h"
#include "backend/cpu/open.h"
#include "exec/executable.h"
#include "exec/run_options.h"

typedef struct GlowCpuBackend {
  GlowFunction *function; /* for messages and HOST steps */
  GlowCpuPlan plan;
  const GlowProgramData *data;
  GlowCpuCode code;           /* made for its pieces */
  GlowCachedConstants cached; /* what the cache had; closed if that is nothing */
  GlowValues *values;         /* the executable's */
  GlowOpenProgram *open;      /* of a program that names symbols; or NULL */
} GlowCpuBackend;

/* Fills in an entry of a program whose types are what they are now; `same` is an entry of the same
 * text, or NULL. False after diagnostics. */
bool glow_cpu_compile_entry(GlowEntry *entry, GlowFunction *f, GlowArena *arena,
                            const GlowRunOptions *options, const GlowEntry *same);

/* What the programs of selector.h need of it: messages. */
const GlowEngine *glow_cpu_selector_engine(void);

/* GlowEngine.write. */
GlowStatus glow_cpu_write(const GlowExecutable *e, const char *path);

#endif
