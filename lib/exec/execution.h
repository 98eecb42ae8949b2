/* Memory for runs of one program. */
#ifndef GLOW_EXEC_EXECUTION_H
#define GLOW_EXEC_EXECUTION_H

#include "rt/walk.h"
#include "support/arena.h"

/* Prepares `run` for calls of glow_walk, one at a time: allocates what the walker needs in `arena`,
 * and adds up the program's addresses. The caller has set arena, storage and fault of `run`. */
void glow_execution_begin(GlowArena *arena, const GlowProgram *program, GlowRunContext *run);

#endif
