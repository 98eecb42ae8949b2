/* Memory for runs of one program. */
#ifndef GLOW_EXEC_EXECUTION_H
#define GLOW_EXEC_EXECUTION_H

#include "rt/walk.h"
#include "support/arena.h"

/* Makes ready for runs by glow_walk, one at a time: gives `run` room for the walker, which lives in
 * the arena, and adds up the program's addresses. Arena, storage and fault of `run` are set. */
void glow_execution_begin(GlowArena *arena, const GlowProgram *program, GlowRunContext *run);

#endif
