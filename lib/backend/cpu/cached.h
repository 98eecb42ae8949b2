/* Programs in the cache, in two entries: the code that was made for their pieces, as images
 * (exec/code.h), and the constants that are not in a weight file as the code reads them. */
#ifndef GLOW_BACKEND_CPU_CACHED_H
#define GLOW_BACKEND_CPU_CACHED_H

#include "backend/cpu/cpu.h"
#include "exec/executable.h"
#include "support/cache.h"

/* All that machine code and constants of a program depend on: its text without weights, the target,
 * this build, and the identity of the files that weights come from. False if that cannot be said
 * without reading much: large weights that came through a pipe or in typed fields. */
bool glow_cached_key(const GlowFunction *program, const GlowIsa *isa, GlowText *key);

/* Images, which the entry has. */
typedef struct GlowCachedCode {
  GlowCacheEntry entry;
  const GlowBytes *images;
  uint32_t count;
} GlowCachedCode;

/* Finds the code of a program, to be closed. The array is the arena's. */
bool glow_cached_find_code(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                           GlowCachedCode *cached);
void glow_cached_store_code(const GlowCache *cache, GlowBytes key, const GlowBytes *images,
                            uint32_t count, GlowContext *ctx);

/* Constants at aligned places, which the entry has. */
typedef struct GlowCachedConstants {
  GlowCacheEntry entry;
  const void **constants; /* by storage; NULL: the entry does not have this one */
} GlowCachedConstants;

/* Finds the constants of a program, to be closed. The plan says what constants there can be; the
 * array is the arena's. */
bool glow_cached_find_constants(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                                const GlowCpuPlan *plan, GlowCachedConstants *cached);
/* Stores, of the constants that the program reads, those that were computed, or that have a copy at
 * an aligned place. `values` are those of the plan's outer values. */
void glow_cached_store_constants(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                                 const GlowCpuPlan *plan, const GlowExecValue *values,
                                 const GlowValues *held);

#endif
