/* The setups of regions, of Col2Im and of DeformConv. */
#include "target/cpu/setups.h"

enum { GROUP = 4 }; /* channels of a unit */

/* Samples of a cell on an axis, of which those count that are not far outside: with as many samples
 * as elements they are at least half an element apart. */
static int64_t samples_of(const GlowRoiParams *p, int a) {
  return p->map.ratio ? p->map.ratio : 2 * p->map.in[a] + 8;
}

static void divide(GlowRoiParams *p, GlowSetup *setup) {
  setup->units = p->map.regions * glow_div_up(p->map.channels, GROUP);
}

void glow_setup_roi_align(const GlowCpuNumbers *cpu, GlowRoiParams *p, GlowSetup *setup) {
  int64_t lanes = cpu->vl / 2, entry = 2 * (int64_t)(sizeof(double) + sizeof(int32_t));
  p->rows = samples_of(p, 0);
  p->columns = samples_of(p, 1);
  p->pitch = glow_div_up(p->map.cells[1], lanes) * lanes;
  setup->scratch = (p->map.cells[0] * p->rows + p->pitch * p->columns) * entry;
  divide(p, setup);
}
void glow_setup_max_roi_pool(const GlowCpuNumbers *cpu, GlowRoiParams *p, GlowSetup *setup) {
  (void)cpu;
  p->rows = p->columns = p->pitch = 0;
  setup->scratch =
      (2 * (p->map.cells[0] + p->map.cells[1]) + p->map.in[1]) * (int64_t)sizeof(int64_t);
  divide(p, setup);
}

void glow_setup_col2_im(const GlowCpuNumbers *cpu, GlowCol2ImParams *p, GlowSetup *setup) {
  (void)cpu;
  p->row = (p->image[2] + p->stride[2]) * (int64_t)sizeof(double);
  setup->units = p->planes * p->image[0] * p->image[1];
  setup->scratch = p->row;
}

/* As many places as have their samples in a quarter of the second level, at least a tile's rows. */
void glow_setup_deform_conv(const GlowCpuNumbers *cpu, GlowDeformParams *p, GlowSetup *setup) {
  int64_t rows = cpu->tile_pixels, size = sizeof(float), spare = cpu->vl;
  p->k = p->channels / p->group * p->taps;
  p->pitch = p->k * p->group + spare;
  int64_t most = glow_max64(cpu->l2 / 4 / (p->pitch * size) / rows, 1) * rows;
  p->chunk = glow_min64(most, glow_div_up(p->places, rows) * rows);
  p->chunks = glow_div_up(p->places, p->chunk);
  setup->units = p->images * p->chunks;
  setup->scratch = ((rows + 1) * glow_cpu_columns(cpu) + p->chunk * p->pitch) * size;
}
