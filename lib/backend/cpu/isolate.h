/* Compiling in another process, so that nothing that goes wrong in LLVM ends this one. */
#ifndef GLOW_BACKEND_CPU_ISOLATE_H
#define GLOW_BACKEND_CPU_ISOLATE_H

#include "backend/cpu/code.h"
#include "ir/ir.h"

/* The text that another process compiles a program from: the program without values. It lies in the
 * arena, and a NUL follows. */
GlowBytes glow_isolate_text(const GlowFunction *program, GlowArena *arena);

/* Lets glow-llc, which stands beside this program or library, compile the program of a text, and
 * maps its code. When `background` ends, the other process is killed; NULL: nobody waits for that.
 * Returns NULL, or why there is no code, a text of ctx. From any thread. */
const char *glow_isolate_compile(GlowContext *ctx, GlowBytes text, GlowCpuCode *code,
                                 const GlowBackground *background);

#endif
