/* The machine: its FMA peak, measured in short bursts between other measurements, and its name. */
#ifndef GLOW_BENCHMARKS_CODEGEN_PEAK_H
#define GLOW_BENCHMARKS_CODEGEN_PEAK_H

#include "kernels/isa.h"

/* Seconds on a clock that does not jump. */
double bench_now(void);
/* Runs independent FMAs on full vectors of the row for about 20 microseconds; returns flop/s. */
double bench_fma_burst(const GlowIsa *isa);
/* The processor as /proc/cpuinfo calls it, into `name`. */
void bench_cpu_name(char *name, size_t size);

#endif
