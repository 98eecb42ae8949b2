/* Tables that the walker needs, for tests and benchmarks that walk programs themselves. */
#ifndef GLOW_EXEC_TABLES_H
#define GLOW_EXEC_TABLES_H

#include "rt/walk.h"
#include "support/arena.h"

/* Allocates them, and adds up the program's addresses. The caller has set arena, storage and fault.
 */
static inline void glow_walk_tables(GlowArena *arena, const GlowProgram *p, GlowRunContext *run) {
  run->rounds = GLOW_NEW_ARRAY(arena, int64_t, 2 * (size_t)p->loops + 1);
  run->resolved = GLOW_NEW_ARRAY(arena, void *, (size_t)p->naddresses + 1);
  glow_resolve(p, run, run->resolved);
}

#endif
