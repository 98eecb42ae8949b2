/* How machines multiply bytes without zero points, shared by selection and setup. */
#ifndef GLOW_TARGET_CPU_SETUP_NARROW_H
#define GLOW_TARGET_CPU_SETUP_NARROW_H

#include "target/cpu/setup/setup.h"

/* Whether sums need to know of weights that they stay in 16 bits: AVX2 without VNNI. */
static inline bool glow_narrow_proves(const GlowCpuNumbers *cpu) {
  return cpu->vl == 8 && !cpu->fours;
}

/* Columns of a unit, in whole panels: all n, unless there would be few units. `others`: how many
 * units there are besides. */
int64_t glow_columns_of_unit(int64_t n, int64_t others);

/* Pixels of a tile, NARROW_PIXELS of lib/kernels/cpu/narrow_sums.h. */
static inline int64_t glow_narrow_pixels(const GlowCpuNumbers *cpu) {
  return glow_narrow_proves(cpu) ? 4 : cpu->tile_pixels;
}

/* Extents of a square tile, and what is too few for them: registers then do as much. */
enum { GLOW_SQUARE = 16, GLOW_SQUARE_LEAST_PIXELS = 4, GLOW_SQUARE_LEAST_STEP = 4 };

/* How many groups of four steps square tiles take at once: as many as fit one and divide `run`, the
 * groups that lie next to each other. 0: no such tiles. */
static inline int64_t glow_narrow_step(const GlowCpuNumbers *cpu, int64_t run, int64_t pixels) {
  int64_t step = glow_min64(run, GLOW_SQUARE);
  while (step > 1 && run % step)
    step--;
  return cpu->squares && pixels >= GLOW_SQUARE_LEAST_PIXELS && step >= GLOW_SQUARE_LEAST_STEP ? step
                                                                                              : 0;
}

#endif
