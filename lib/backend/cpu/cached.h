/* Programs in the cache: their code as an image (exec/code.h), and the constants that are not in a
 * weight file as the code reads them. */
#ifndef GLOW_BACKEND_CPU_CACHED_H
#define GLOW_BACKEND_CPU_CACHED_H

#include "backend/cpu/cpu.h"
#include "exec/executable.h"
#include "support/cache.h"

/* All that machine code and constants of a program depend on: its text without weights, the target,
 * how much is spent on code, this build, and the identity of the files that weights come from.
 * False if that cannot be said without reading much: large weights that came through a pipe or in
 * typed fields. */
bool glow_cached_key(const GlowFunction *program, const GlowCodegenOptions *options, GlowText *key);

/* What an entry holds. */
typedef struct GlowCached {
  GlowCacheEntry entry;
  GlowBytes image;
  const void **constants; /* by storage; NULL: the entry does not have this one */
} GlowCached;

/* Finds the entry, to be closed. The plan says what constants there can be; arrays are the arena's.
 */
bool glow_cached_find(const GlowCache *cache, const GlowText *key, GlowArena *arena,
                      const GlowCpuPlan *plan, GlowCached *cached);

/* Stores an image, and of the constants that the code reads those that were computed, or that have
 * a copy at an aligned place. `values` are those of the plan's outer values. */
void glow_cached_store(const GlowCache *cache, const GlowText *key, GlowArena *arena,
                       const GlowCpuPlan *plan, const GlowText *image,
                       const GlowExecValue *values, const GlowValues *held);

#endif
