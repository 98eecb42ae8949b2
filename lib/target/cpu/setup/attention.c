/* The setup of tiled attention: tiles of queries as equal as possible. */
#include "target/cpu/setups.h"

/* Memory of one worker; see glow_attention. */
static int64_t scratch_bytes(const GlowCpuNumbers *cpu, const GlowAttentionParams *p) {
  int64_t nb = glow_cpu_columns(cpu), state = GLOW_ATTENTION_LANES + 1;
  int64_t packed = p->k_panels * p->size * nb + p->v_panels * p->kv_tile * nb;
  int64_t weights = cpu->tile_pixels * (glow_div_up(p->kv_tile, nb) * nb + 16);
  int64_t scaled = glow_div_up(cpu->tile_pixels * p->size, 16) * 16;
  return 4 * (packed + glow_div_up(p->queries * state, 16) * 16 + scaled + weights);
}

void glow_setup_attention(const GlowCpuNumbers *cpu, GlowAttentionParams *p, GlowSetup *setup) {
  int64_t nb = glow_cpu_columns(cpu);
  p->tiles = glow_div_up(p->queries, cpu->tile_pixels);
  p->tile = glow_div_up(p->queries, p->tiles);
  p->narrow = p->tiles * p->tile - p->queries;
  p->k_panels = glow_div_up(p->kv_tile, nb);
  p->v_panels = glow_div_up(p->v_size, nb);
  setup->units = p->batch * p->heads;
  setup->scratch = scratch_bytes(cpu, p);
  setup->tiles[GLOW_ATTENTION_TILE_FULL] = glow_size_attention_tile(p->tile);
  if (p->narrow)
    setup->tiles[GLOW_ATTENTION_TILE_SMALL] = glow_size_attention_tile(p->tile - 1);
}
