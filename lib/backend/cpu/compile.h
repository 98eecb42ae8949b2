/* What an entry of the CPU backend keeps besides what runs need. */
#ifndef GLOW_BACKEND_CPU_COMPILE_H
#define GLOW_BACKEND_CPU_COMPILE_H

#include "backend/cpu/cached.h"
#include "backend/cpu/code.h"
#include "exec/executable.h"

typedef struct GlowCpuBackend {
  GlowFunction *function; /* for messages and HOST steps */
  GlowCpuPlan plan;
  const GlowProgramData *data;
  GlowCpuCode code;           /* made for its pieces */
  GlowCachedConstants cached; /* what the cache had; closed if that is nothing */
  GlowValues *values;         /* the executable's */
} GlowCpuBackend;

/* GlowEngine.write. */
GlowStatus glow_cpu_write(const GlowExecutable *e, const char *path);

#endif
