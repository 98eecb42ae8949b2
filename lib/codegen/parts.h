/* A program's pieces in parts, each of which becomes an object of its own, and threads that make
 * them. */
#ifndef GLOW_CODEGEN_PARTS_H
#define GLOW_CODEGEN_PARTS_H

#include "codegen/codegen.h"

enum { GLOW_MOST_PARTS = 8 };

/* Of each piece of a program: its part, and the first piece that is equal to it. Equal pieces are in
 * the same part. The largest part comes first; part 0 has the tables of the program, too. */
typedef struct GlowParts {
  uint32_t count; /* 1 at least */
  const uint32_t *part, *first;
} GlowParts;

/* Divides the pieces by what they are alone: neither the number of threads nor their speed changes
 * a part. Tells `remark` (or NULL) what becomes of each piece. Arrays are the arena's. */
void glow_parts_divide(GlowContext *ctx, GlowArena *arena, const GlowProgramData *program,
                       const GlowCodegenOptions *options, GlowParts *parts);

/* Makes part i. False stops the others, or a throw does. */
typedef bool GlowPartFn(GlowContext *ctx, uint32_t i, void *arg);

/* Calls make(_, i, arg) for each i below count, in ascending order and in up to `threads` threads
 * (0: one for each processor), the caller among them. Each thread has a context of its own with the
 * deadline of ctx, which is silent: make has to keep what there is to report. Returns the status
 * that was thrown for the lowest i, if that is below *failed; *failed is the lowest i for which make
 * returned false, or count. Parts below either are complete. */
GlowStatus glow_parts_run(GlowContext *ctx, uint32_t count, uint32_t threads, GlowPartFn *make,
                          void *arg, uint32_t *failed);

#endif
