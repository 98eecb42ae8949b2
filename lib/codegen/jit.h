/* Objects as code in memory, through ORC. */
#ifndef GLOW_CODEGEN_JIT_H
#define GLOW_CODEGEN_JIT_H

#include "codegen/codegen.h"
#include "codegen/llvm.h"

/* Loads an object file (taken), which may call `symbols` and what libc exports, and finds the
 * GlowProgram `program`. NULL after a diagnostic. */
GlowCode *glow_jit_load(GlowContext *ctx, LLVMMemoryBufferRef object, const char *program,
                        const GlowSymbol *symbols, uint32_t count);

#endif
