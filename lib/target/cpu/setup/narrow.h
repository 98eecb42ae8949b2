/* How machines multiply bytes without zero points, shared by selection and setup. */
#ifndef GLOW_TARGET_CPU_SETUP_NARROW_H
#define GLOW_TARGET_CPU_SETUP_NARROW_H

#include "target/cpu/setup/setup.h"

/* Whether sums need to know of weights that they stay in 16 bits: AVX2 without VNNI, the only row
 * with eight lanes. */
static inline bool glow_narrow_proves(const GlowCpuNumbers *cpu) { return cpu->vl == 8; }

/* Pixels of a tile, NARROW_PIXELS of lib/kernels/cpu/narrow_sums.h. */
static inline int64_t glow_narrow_pixels(const GlowCpuNumbers *cpu) {
  return glow_narrow_proves(cpu) ? 4 : cpu->tile_pixels;
}

#endif
