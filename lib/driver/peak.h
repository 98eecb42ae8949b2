/* The machine that times are compared with: its FMA peak, measured in short bursts between other
 * measurements, and its name. */
#ifndef GLOW_DRIVER_PEAK_H
#define GLOW_DRIVER_PEAK_H

#include "target/cpu/isa.h"

/* Runs independent FMAs on full vectors of the row, which must run here, for about 20 microseconds;
 * returns flop/s. 0 where the row has no FMA or there is no burst for its processor. */
double glow_fma_burst(const GlowIsa *isa);
/* The best of some bursts over about a millisecond: what one core could do around now. */
double glow_fma_peak(const GlowIsa *isa);
/* The processor as /proc/cpuinfo calls it, into `name`. */
void glow_cpu_name(char *name, size_t size);

#endif
