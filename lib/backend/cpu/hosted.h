/* Instructions of a program whose extents are known only when they run: the walker calls back, and
 * the interpreter's walker takes a step on the same memory. */
#ifndef GLOW_BACKEND_CPU_HOSTED_H
#define GLOW_BACKEND_CPU_HOSTED_H

#include "backend/cpu/cpu.h"
#include "backend/interp/interp_internal.h"
#include "exec/execution.h"

/* The functions of GlowEngine for such a program; the entry has a GlowCpuBackend. */
void glow_hosted_begin(GlowExecution *x);
void glow_hosted_end(GlowExecution *x);
void glow_hosted_forget(GlowExecution *x);
void glow_hosted_step(GlowFault *fault, int64_t instruction);

#endif
