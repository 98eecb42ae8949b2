/* Calls of a body that library code runs as one (kernels/body.h). */
#ifndef GLOW_BACKEND_CPU_PAIRS_H
#define GLOW_BACKEND_CPU_PAIRS_H

#include "codegen/codegen.h"

/* The body with such calls as one, where nothing else reads what is between them; in the arena. */
GlowBody glow_pair_calls(GlowArena *arena, const GlowBody *body);

#endif
