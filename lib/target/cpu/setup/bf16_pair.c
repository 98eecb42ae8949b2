/* The setup of products of bfloat16 with order = pair: bands of copied pixels that stay in the
 * second level of cache, and filters for threads. */
#include "target/cpu/setup/narrow.h"
#include "target/cpu/setups.h"

enum { PANEL = 16, WORD = 4, FEW_UNITS = 8, LEAST_COLUMNS = 64, LINE = 64, FEW_PAIRS = 64 };

/* Shares the lines of the next band, if they are fetched, among the tiles that a band calls. */
static void share_next(GlowBf16PairParams *p, int64_t calls) {
  int64_t blocks = glow_div_up(p->g.ic, PANEL);
  p->stretches = p->stride = p->stretch = 0;
  if (p->ahead >= 0)
    return;
  p->stretches = glow_max64(calls / blocks, 1);
  p->stride = glow_div_up(blocks, calls);
  p->stretch = glow_div_up(p->band * p->cols, p->stretches);
}

/* Bands fill a quarter of the second level of cache, since filters of a tile pass through it, too;
 * threads want some units, of bands where there are few filters. */
void glow_setup_bf16_pair(const GlowCpuNumbers *cpu, GlowBf16PairParams *p, GlowSetup *setup) {
  const GlowConvGeometry *g = &p->g;
  const bool single = g->oh == 1;
  int64_t around = (g->kw - 1) * g->dw + 1;
  int64_t few = glow_div_up(FEW_UNITS, p->images * glow_div_up(g->oc, LEAST_COLUMNS));
  /* Pixels of many channels take an odd number of cache lines, or those of a tile would meet in a
   * few sets of the cache. */
  p->pixel = p->tap < FEW_PAIRS ? p->tap : (glow_div_up(p->tap * WORD, LINE) | 1) * LINE / WORD;
  const bool merged = g->dw == 1 && p->pixel == p->tap;
  p->runs = merged ? 1 : g->kw;
  p->run = merged ? g->kw * p->tap : p->tap;
  p->tiles = glow_div_up(g->ow, cpu->tile_pixels);
  p->cols = glow_div_up(g->ow, p->tiles);
  p->narrow = p->tiles * p->cols - g->ow;
  int64_t pixels = single ? p->cols * g->sw : ((g->ow - 1) * g->sw + around) * g->sh;
  int64_t steps = single ? p->tiles : g->oh;
  bool stays = g->oc * g->kh * g->kw * p->tap * WORD <= cpu->l2 / 2;
  bool far = stays && p->width == g->ow && p->x_block == PANEL && g->xw == PANEL &&
             p->images * g->xn * 4 > 2 * cpu->l2;
  int64_t fit = cpu->l2 / (far ? 8 : 4) / (pixels * p->pixel * WORD);
  p->band = glow_max64(glow_min64(fit, steps / few), 1);
  p->bands = glow_div_up(steps, p->band);
  p->band = glow_div_up(steps, p->bands);
  p->bands = glow_div_up(steps, p->band);
  p->line = ((single ? p->band * p->cols : g->ow) - 1) * g->sw + around;
  int64_t columns = glow_columns_of_unit(g->oc, p->images * p->bands),
          whole = glow_cpu_columns(cpu);
  p->columns = glow_div_up(columns, whole) * whole;
  p->parts = glow_div_up(g->oc, p->columns);
  int64_t tiles = single ? p->band : p->band * p->tiles;
  p->ahead = far ? -1 : stays || whole < 2 * PANEL ? 0 : tiles == 1 ? 2 : 1;
  share_next(p, p->columns / whole * tiles);
  int64_t rows = ((single ? 1 : p->band) - 1) * g->sh + (g->kh - 1) * g->dh + 1;
  setup->units = p->images * p->bands * p->parts;
  setup->scratch = rows * p->line * p->pixel * WORD;
  setup->tiles[GLOW_BF16_PAIR_TILE_FULL] = glow_size_bf16_pair_tile(p->cols);
  if (p->narrow)
    setup->tiles[GLOW_BF16_PAIR_TILE_SMALL] = glow_size_bf16_pair_tile(p->cols - 1);
}
