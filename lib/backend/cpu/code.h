/* Code that is made for the pieces of a program: from the cache, by LLVM at once, or in the
 * background. */
#ifndef GLOW_BACKEND_CPU_CODE_H
#define GLOW_BACKEND_CPU_CODE_H

#include "backend/cpu/pays.h"
#include "exec/code.h"
#include "exec/executable.h"
#include "exec/written.h"
#include "support/cache.h"

/* Code in memory, and a copy of the bytes that it was mapped from, which files get. */
typedef struct GlowCpuImage {
  struct GlowCpuImage *next;
  GlowCode *code;
  GlowBytes bytes; /* owned */
} GlowCpuImage;

/* All code that was made for a program. */
typedef struct GlowCpuCode {
  GlowEntry *entry; /* whose table of pieces gets the functions */
  const GlowProgramData *data;
  GlowCodegenOptions options; /* lives as long as the executable; `remark` is NULL */
  GlowPieceGroups groups;     /* that pay */
  uint64_t program;           /* a checksum of data that images must fit */
  const GlowCache *cache;     /* where the code is stored; NULL: nowhere */
  GlowBytes key;
  GlowBytes text;       /* for another process that compiles; empty: this one does */
  pthread_mutex_t lock; /* of the images */
  GlowCpuImage *images; /* newest first */
} GlowCpuCode;

/* Whether code for a group is missing. */
bool glow_cpu_code_lacks(const GlowCpuCode *c, const GlowPieceGroup *group);
/* Maps an image and gives the program's pieces the functions that it has. False after a diagnostic.
 * From any thread. */
bool glow_cpu_code_map(GlowCpuCode *c, GlowContext *ctx, GlowBytes image);
/* Maps what a written executable or the cache (under c->key) has for the program. Whether that was
 * something. */
bool glow_cpu_code_find(GlowCpuCode *c, GlowContext *ctx, const GlowWritten *written);
/* All images; the array is the arena's. From any thread. */
const GlowBytes *glow_cpu_code_images(GlowCpuCode *c, GlowArena *arena, uint32_t *count);
/* Makes code for `count` groups and maps it. Remarks go to `remark`, or NULL; at most so many
 * threads work, 0: one for each processor. Returns NULL, or why its own code cannot be linked.
 * Throws, after a diagnostic, if there is no code generation or if it fails. */
const char *glow_cpu_code_make(GlowCpuCode *c, GlowContext *ctx,
                               const GlowPieceGroup *const *groups, uint32_t count,
                               GlowRemarkFn *remark, uint32_t threads, GlowCodegenTimes *times);
/* Stores all images in the cache. */
void glow_cpu_code_store(GlowCpuCode *c, GlowContext *ctx);
void glow_cpu_code_release(GlowCpuCode *c);

/* Work in the background that makes all code that is missing, a group at a time, or in other
 * processes a program at a time. `codes` lives as long as the executable. NULL: nothing is missing.
 */
GlowBackground *glow_cpu_code_later(GlowArena *arena, GlowCpuCode *const *codes, uint32_t count);

#endif
