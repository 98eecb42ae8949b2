/* Programs of an entry for other extents than its own that all its executions share. Those that an
 * execution cannot select for itself are made when it asks for them. Of the others, those whose
 * extents many runs have are made by a thread of their own, and no run waits for that; where others
 * use the context of the executable, too, a run makes them. LLVM makes code for all of them. The
 * last few that nobody runs are kept. */
#ifndef GLOW_BACKEND_CPU_SHARED_H
#define GLOW_BACKEND_CPU_SHARED_H

#include "backend/cpu/bound.h"
#include "exec/executable.h"

typedef struct GlowOpenProgram GlowOpenProgram;
typedef struct GlowSharedPrograms GlowSharedPrograms;

/* Throws if memory is exhausted. glow_shared_destroy ends what it does; its memory is the arena's.
 */
GlowSharedPrograms *glow_shared_create(GlowArena *arena, GlowOpenProgram *open,
                                       const GlowEntry *entry);
/* Nobody runs the programs any more. NULL is ignored. */
void glow_shared_destroy(GlowSharedPrograms *all);
/* The types of a shared program for its numbers (see bound.h). */
GlowBound *glow_shared_bound(GlowEntry *program);

/* The functions of GlowEngine. */
GlowEntry *glow_shared_at(const GlowEntry *entry, const int64_t *extents);
GlowEntry *glow_shared_find(const GlowEntry *entry, const int64_t *extents);
void glow_shared_leave(GlowEntry *program);
void glow_shared_wanted(const GlowEntry *entry, const int64_t *extents);
void glow_shared_spent(const GlowEntry *entry, const int64_t *extents, int64_t nanoseconds);

#endif
