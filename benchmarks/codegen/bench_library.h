/* The speed of library code beside that of compiled code. */
#ifndef GLOW_BENCHMARKS_CODEGEN_BENCH_LIBRARY_H
#define GLOW_BENCHMARKS_CODEGEN_BENCH_LIBRARY_H

#include "target/cpu/isa.h"

/* Prints a line for each case: the best times of both over `seconds`, in turns, and what share of
 * the speed of compiled code library code has. False after diagnostics, or
 * if the results of a case differ. */
bool bench_library(const GlowIsa *isa, double seconds);

#endif
