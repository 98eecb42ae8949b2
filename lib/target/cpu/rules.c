/* See rules.h. */
#include "target/cpu/rules.h"
#include "kernels/params.h"
#include "target/cpu/rows.h"

enum { SHARD_COST = 32768, MOST_SHARDS = 64 };

static bool all_are(GlowArray a, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) != value)
      return false;
  return a.count == count;
}

bool glow_winograd_can_pool(const GlowMaxPoolMembers *m) {
  return all_are(m->kernels, 2, 2) && all_are(m->strides, 2, 2) &&
         all_are(m->pads, m->pads.count, 0) && all_are(m->dilations, m->dilations.count, 1) &&
         !m->ceil;
}

const char *glow_pool_stays(const GlowConvolutionMembers *conv, const GlowMaxPoolMembers *pool) {
  if (conv->strategy != GLOW_CONV_STRATEGY_WINOGRAD)
    return "rows of a direct convolution would have to stay in the cache";
  return glow_winograd_can_pool(pool)
             ? NULL
             : "only windows of 2x2, side by side, all inside, lie in one tile of results";
}

int64_t glow_shards(int64_t cost) {
  int64_t shards = glow_min64(cost / SHARD_COST, MOST_SHARDS);
  return shards < 1 ? 1 : shards;
}

bool glow_conv_can_scatter(const GlowIsa *isa, int64_t taps) {
  return taps <= GLOW_CONV_MAX_TAPS && glow_find_conv_scattered(isa, 1, isa->tile_vectors);
}

/* As few rows as give nearly the fewest tiles. */
static int64_t merged_rows(const GlowConvGrid *g, int64_t pixels) {
  int64_t fewest = glow_div_up(g->oh * g->ow, pixels), merged = 1;
  while (
      merged < g->oh &&
      (g->oh % merged || g->oh / merged * glow_div_up(g->ow * merged, pixels) * 64 > fewest * 65))
    merged++;
  return merged;
}

GlowConvTile glow_conv_tile(const GlowIsa *isa, const GlowConvGrid *g) {
  int64_t pixels = isa->tile_pixels, merged = g->flat ? merged_rows(g, pixels) : 1;
  int64_t width = g->ow * merged, tiles = glow_div_up(width, pixels), rows = 1;
  /* A twelfth of the registers or more would be idle, and there are other rows to fill them. */
  if (!g->single && glow_conv_can_scatter(isa, g->taps) && width * 12 <= tiles * pixels * 11 &&
      width < g->rows * g->ow)
    return (GlowConvTile){1, {(uint32_t)glow_min64(pixels, g->rows * g->ow)}};
  int64_t cols = glow_div_up(width, tiles);
  if (!g->single && width * 2 <= pixels)
    rows = glow_min64(glow_min64(pixels / width, g->rows / merged),
                      glow_min64(GLOW_CONV_MAX_ROWS, GLOW_CONV_POINTERS / (1 + g->edges)));
  return (GlowConvTile){merged > 1 ? 3 : 2,
                        {(uint32_t)(rows < 1 ? 1 : rows), (uint32_t)cols, (uint32_t)merged}};
}
