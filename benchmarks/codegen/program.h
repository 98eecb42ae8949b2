/* What the benchmarks of machine code share: from the text of a program to its plan and buffers. */
#ifndef GLOW_BENCHMARKS_CODEGEN_PROGRAM_H
#define GLOW_BENCHMARKS_CODEGEN_PROGRAM_H

#include "backend/cpu/cpu.h"
#include "support/text.h"

/* Reads the text, which is released. NULL after diagnostics. */
GlowModule *bench_parse(GlowContext *ctx, GlowText *text);
/* The same, and plans its program. False after diagnostics. */
bool bench_plan(GlowContext *ctx, GlowText *text, const GlowIsa *isa, GlowCpuPlan *plan);

/* Seconds of this thread's own time: what the system gives to others does not count. */
double bench_own_time(void);

/* Numbers between -0.5 and 0.5. */
void bench_fill(float *p, int64_t n, uint32_t seed);

/* Bytes at a cache line, in large pages where there are any; NULL without memory. For free(). */
void *bench_alloc(int64_t bytes);

/* Buffers of floats for all of the plan's storage, filled; bench_free_storage frees them. */
bool bench_make_storage(const GlowCpuPlan *plan, void **storage);
void bench_free_storage(const GlowCpuPlan *plan, void **storage);

#endif
