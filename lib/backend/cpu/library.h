/* Programs that run by library code (kernels/library.h): machine code of kernels that was compiled
 * together with Glow. Nothing is compiled for a program. */
#ifndef GLOW_BACKEND_CPU_LIBRARY_H
#define GLOW_BACKEND_CPU_LIBRARY_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/image.h"
#include "exec/executable.h"

/* Appends the params of a piece as library code for `isa` reads them. Returns where they begin. */
int64_t glow_library_params(GlowImageBuilder *b, const GlowIsa *isa, const GlowWork *w);
/* The same for the body of a piece; -1 if it has none, or one that the library cannot run. */
int64_t glow_library_body(GlowImageBuilder *b, const GlowWork *w);
/* Why the library cannot run a piece; NULL: it can. */
const char *glow_library_refuses(GlowArena *arena, const GlowWork *w);

/* The program, in an arena, with the library's functions in its table of pieces, which `code`
 * describes. NULL after a diagnostic: this build has no library for the machine, or the library
 * cannot run a piece and `whole` is set; else the table has NULL there. */
const GlowProgram *glow_library_bind(GlowContext *ctx, GlowArena *arena, const GlowIsa *isa,
                                     const GlowProgramData *data, bool whole, GlowEntryCode *code);

#endif
