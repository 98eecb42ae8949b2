/* A folder of entries by key, shared by processes: for what is slow to make and can be made again.
 *
 * An entry has a head, which is checked as a whole, and a body, which is mapped and never read
 * here. It is written to a temporary name and renamed, so a reader sees all of it or nothing. What
 * is not exactly what was stored under the key (damaged, cut short, of another format, or a file
 * that somebody else could have written) counts as absent, and storing replaces it. Nothing here
 * reports: without a cache everything works, only slower. */
#ifndef GLOW_SUPPORT_CACHE_H
#define GLOW_SUPPORT_CACHE_H

#include "support/file.h"

typedef struct GlowCache {
  const char *dir; /* created, for its owner alone, when something is stored */
  int64_t limit;   /* bytes of all entries; beyond it those that were not used for longest go */
} GlowCache;

/* The body begins at a page. */
typedef struct GlowCacheEntry {
  GlowBytes head, body;
  void *map; /* NULL: there is no entry */
  size_t map_size;
} GlowCacheEntry;

/* What a tool's command line says about its cache. */
typedef struct GlowCacheFlags {
  bool off;
  const char *dir; /* NULL: $GLOW_CACHE_DIR, $XDG_CACHE_HOME/glow or $HOME/.cache/glow */
  int64_t mib;
} GlowCacheFlags;
#define GLOW_CACHE_DEFAULTS                                                                        \
  { .mib = 4096 }
/* Rows for the table of options. */
#define GLOW_CACHE_OPTIONS(flags)                                                                  \
  {.name = "no-cache",                                                                             \
   .help = "compile anew, and keep nothing",                                                       \
   .kind = GLOW_OPT_FLAG,                                                                          \
   .target = &(flags).off,                                                                         \
   .two_dashes = true},                                                                            \
      {.name = "cache-dir",                                                                        \
       .value = "DIR",                                                                             \
       .help = "keep machine code and packed weights there ($XDG_CACHE_HOME/glow)",                \
       .kind = GLOW_OPT_STRING,                                                                    \
       .target = &(flags).dir,                                                                     \
       .two_dashes = true},                                                                        \
  {                                                                                                \
    .name = "cache-limit", .value = "MIB",                                                         \
    .help = "remove what was not used for longest beyond this size (4096)", .kind = GLOW_OPT_INT,  \
    .target = &(flags).mib, .max = (int64_t)1 << 30, .two_dashes = true                            \
  }

/* The cache that the flags choose, in the context; NULL if it is off or there is no place for it.
 */
const GlowCache *glow_cache_choose(GlowContext *ctx, const GlowCacheFlags *flags);

/* Finds the entry of a key and marks it as used. It must be closed, and stays as it is until then,
 * whatever happens to the folder. */
bool glow_cache_find(const GlowCache *c, GlowBytes key, GlowCacheEntry *entry);
void glow_cache_close(GlowCacheEntry *entry);

/* Stores an entry, then removes old ones. Whether it is stored. */
bool glow_cache_store(const GlowCache *c, GlowBytes key, GlowBytes head, const GlowBytes *body,
                      size_t nbody);

#endif
