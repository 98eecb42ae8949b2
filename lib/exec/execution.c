/* See execution.h. */
#include "exec/execution.h"

void glow_execution_begin(GlowArena *arena, const GlowProgram *p, GlowRunContext *run) {
  run->rounds = GLOW_NEW_ARRAY(arena, int64_t, 2 * (size_t)p->loops + 1);
  run->resolved = GLOW_NEW_ARRAY(arena, void *, (size_t)p->naddresses + 1);
  glow_resolve(p, run, run->resolved);
}
