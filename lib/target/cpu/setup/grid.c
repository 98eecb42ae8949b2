/* The setups of GridSample. */
#include "target/cpu/setups.h"

enum { GROUP = 4 }; /* channels of a unit */

/* As many places as have their plan in half of the second level of cache. */
static void divide(const GlowCpuNumbers *cpu, GlowGridParams *p, GlowSetup *setup) {
  int64_t bytes = p->neighbours * (int64_t)(sizeof(int32_t) + sizeof(double));
  int64_t most = glow_max64(cpu->l2 / 2 / bytes, 16) / 16 * 16;
  p->chunk = glow_min64(glow_div_up(p->places, 16) * 16, most);
  p->chunks = glow_div_up(p->places, p->chunk);
  p->weights_at = p->neighbours * p->chunk * (int64_t)sizeof(int32_t);
  setup->units = p->images * p->chunks * glow_div_up(p->channels, GROUP);
  setup->scratch = p->chunk * bytes;
}

void glow_setup_grid_sample(const GlowCpuNumbers *cpu, GlowGridParams *p, GlowSetup *setup) {
  divide(cpu, p, setup);
}
void glow_setup_grid_nearest(const GlowCpuNumbers *cpu, GlowGridParams *p, GlowSetup *setup) {
  divide(cpu, p, setup);
}
