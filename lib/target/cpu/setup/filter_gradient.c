/* The setup of filter gradients. */
#include "kernels/params.h"
#include "target/cpu/setup/cache.h"
#include "target/cpu/setups.h"

/* Whether every tap of every place is inside of X. */
static bool stays_inside(const GlowFilterGradientParams *p) {
  return p->pt == 0 && p->pl == 0 && (p->oh - 1) * p->sh + (p->kh - 1) * p->dh < p->ih &&
         (p->ow - 1) * p->sw + (p->kw - 1) * p->dw < p->iw;
}

/* How X and DY are packed, or read where they are. */
static void set_operands(const GlowCpuNumbers *cpu, GlowFilterGradientParams *p) {
  const int64_t columns = glow_cpu_columns(cpu), block = GLOW_CONV_BLOCK;
  p->parts = glow_div_up(p->ic, block);
  p->channels = p->parts > 1 && p->x_block > 1 ? block : glow_div_up(p->ic, p->parts);
  p->outputs = glow_div_up(p->oc, columns);
  /* A run of few channels has too few chains. Folding packs a row of X as often as the window has
   * rows, so half of the largest tile is enough. */
  bool few = p->channels < block && p->channels * p->kw < glow_min64(cpu->tile_pixels, 7);
  p->fold = few || p->kh == 1 ? p->kh : 1;
  p->places = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1;
  p->direct_x = p->x_block == block && p->channels == block && stays_inside(p);
  p->fold = p->direct_x ? 1 : p->fold;
  p->runs = p->kh / p->fold * (p->dw == 1 ? 1 : p->kw);
  p->run = p->fold * p->channels * (p->dw == 1 ? p->kw : 1);
  const int64_t floats = p->fold * p->channels, pitch = p->places * floats;
  p->a_place = p->direct_x ? p->sw * p->xw : p->sw * floats;
  p->a_row = p->direct_x ? p->sh * p->xh : p->fold == p->kh ? pitch : p->sh * pitch;
  p->down = p->direct_x ? p->dh * p->xh : p->dh * pitch;
  p->across = p->direct_x ? p->dw * p->xw : p->dw * floats;
  p->direct_y = p->y_block == block; /* which has all registers of a tile, or is one of them */
  p->d_vector = p->direct_y && cpu->vl == block ? p->yc : cpu->vl;
  p->d_place = p->direct_y ? p->yw : columns;
  p->d_row = p->direct_y ? p->yh : p->ow * columns;
}

/* A unit's rows of DY fill half of the first level, the sums of a block half of the second. */
static void set_blocks(const GlowCpuNumbers *cpu, GlowFilterGradientParams *p) {
  const int64_t columns = glow_cpu_columns(cpu), unit = p->runs * p->run * columns * 4;
  p->band = glow_max64(glow_min64(cpu->l1 / 2 / (p->ow * columns * 4), p->oh), 1);
  const int64_t kept = p->band < p->oh ? 2 * unit : unit;
  p->block = glow_max64(cpu->l2 / 2 / kept, 1);
  p->block = glow_min64(p->block, p->groups * p->parts * p->outputs);
}

static int64_t place_scratch(const GlowCpuNumbers *cpu, GlowFilterGradientParams *p) {
  const int64_t columns = glow_cpu_columns(cpu);
  const int64_t totals = p->block * p->runs * p->run * columns * 4;
  const int64_t rows = p->fold == p->kh ? p->band : (p->band - 1) * p->sh + (p->kh - 1) * p->dh + 1;
  p->sums_at = totals;
  p->dy_at = p->sums_at + (p->band < p->oh ? totals : 0);
  p->x_at = p->dy_at + (p->direct_y ? 0 : p->outputs * p->band * p->d_row * 4);
  return p->x_at +
         (p->direct_x ? 0 : glow_div_up(rows * p->places * p->fold * p->channels * 4, 64) * 64);
}

void glow_setup_filter_gradient(const GlowCpuNumbers *cpu, GlowFilterGradientParams *p,
                                GlowSetup *setup) {
  set_operands(cpu, p);
  int64_t tiles = glow_div_up(p->run, cpu->tile_pixels);
  p->rows = glow_div_up(p->run, tiles);
  p->narrow = tiles * p->rows - p->run;
  set_blocks(cpu, p);
  setup->units = p->groups * p->parts * p->outputs;
  setup->scratch = place_scratch(cpu, p);
  const bool odd =
      cpu->tile_vectors > 1 && p->oc - (p->outputs - 1) * glow_cpu_columns(cpu) <= cpu->vl;
  const bool whole = !odd || p->outputs > 1, narrow = p->narrow > 0, wide = p->narrow < tiles;
  if (whole && wide)
    setup->tiles[GLOW_FILTER_GRADIENT_TILE_FULL] =
        glow_size_filter_gradient_tile(p->rows, cpu->tile_vectors);
  if (whole && narrow)
    setup->tiles[GLOW_FILTER_GRADIENT_TILE_SMALL] =
        glow_size_filter_gradient_tile(p->rows - 1, cpu->tile_vectors);
  if (odd && wide)
    setup->tiles[GLOW_FILTER_GRADIENT_TILE_FULL_ODD] = glow_size_filter_gradient_tile(p->rows, 1);
  if (odd && narrow)
    setup->tiles[GLOW_FILTER_GRADIENT_TILE_SMALL_ODD] =
        glow_size_filter_gradient_tile(p->rows - 1, 1);
}
