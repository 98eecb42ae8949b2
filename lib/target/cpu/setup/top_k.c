/* The setup of TopK. */
#include "target/cpu/setups.h"

enum { LINES = 16, SPARE = 8, SAMPLE = 4096 };

/* Twice as many groups as elements that are wanted, so that few elements are better than the k-th
 * best of their maxima. A larger sample finds a better limit, but is read twice. */
static void choose_sample(const GlowCpuNumbers *cpu, GlowTopKParams *p) {
  int64_t lanes = cpu->vl * 4 / p->bytes;
  p->groups = glow_div_up(2 * p->k, lanes) * lanes;
  if (p->n < 2 * p->groups)
    p->groups = 0;
  p->sample = p->groups ? glow_min64(p->n, glow_max64(16 * p->groups, SAMPLE)) : 0;
  p->sample -= p->groups ? p->sample % p->groups : 0;
  p->room = p->groups ? glow_max64(2 * p->k + 2 * 4 * lanes, p->groups) : p->n;
}

void glow_setup_top_k(const GlowCpuNumbers *cpu, GlowTopKParams *p, GlowSetup *setup) {
  int64_t entry = p->bytes == 8 ? 16 : 8;
  choose_sample(cpu, p);
  p->work_at = p->k == 1 ? 0 : glow_div_up((p->room + SPARE) * entry, 64) * 64;
  p->lines_at = 2 * p->work_at;
  p->pitch = glow_div_up(p->n * p->bytes, 64) * 64 / p->bytes + 64 / p->bytes;
  setup->units = p->outer * glow_div_up(p->inner, LINES);
  setup->scratch = p->lines_at + (p->inner > 1 ? LINES * p->pitch * p->bytes : 0);
}
