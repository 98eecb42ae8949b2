/* A cache: a folder of entries by key, shared by processes. Entries are data that are slow to make
 * and can be made again.
 *
 * An entry has a head and a body. A checksum covers the head; the body is mapped and never read
 * here. Entries are written under a temporary name and then renamed, so a reader sees a whole entry
 * or none. A damaged or shortened file, a file of another format and a file that another user could
 * have written count as absent; storing the entry replaces them. No function here reports errors:
 * without a cache everything works, only slower. */
#ifndef GLOW_SUPPORT_CACHE_H
#define GLOW_SUPPORT_CACHE_H

#include "support/file.h"

typedef struct GlowCache {
  const char *dir; /* created when an entry is stored; only its owner has access */
  int64_t limit;   /* bytes of all entries; beyond it the least recently used ones are removed */
} GlowCache;

/* An entry that was found, mapped. The body begins at a page. */
typedef struct GlowCacheEntry {
  GlowBytes head, body;
  void *map; /* NULL: there is no entry */
  size_t map_size;
} GlowCacheEntry;

/* What a tool's command line says about its cache. */
typedef struct GlowCacheFlags {
  bool off;
  const char *dir; /* NULL: $GLOW_CACHE_DIR, $XDG_CACHE_HOME/glow or $HOME/.cache/glow */
  int64_t mib;     /* the limit, in MiB */
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

/* Finds the entry of a key and marks the entry as used. Returns whether there is one; the caller
 * then closes it. Until then its bytes stay the same, whatever happens to the folder. */
bool glow_cache_find(const GlowCache *c, GlowBytes key, GlowCacheEntry *entry);
void glow_cache_close(GlowCacheEntry *entry);

/* Stores an entry whose body is the `nbody` parts in order, then removes old entries. Returns
 * whether the entry is stored. */
bool glow_cache_store(const GlowCache *c, GlowBytes key, GlowBytes head, const GlowBytes *body,
                      size_t nbody);

#endif
