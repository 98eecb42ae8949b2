/* The setup of Winograd's convolution: the tiles of a chunk and of a block. */
#include "target/cpu/setups.h"

static int64_t places(const GlowWinogradParams *p) { return p->points * p->points; }

/* A place of V or M: an odd number of cache lines. */
static int64_t odd_lines(int64_t floats) { return (floats / 16 | 1) * 16; }

/* Tiles of a block: as many as there is room for their V and M in the cache. But each block reads
 * the whole filter, so a block has at least I * O / (I + O) tiles: then reading the filter costs
 * half of what writing and reading V and M costs. */
static int64_t block_tiles(const GlowCpuNumbers *cpu, int64_t points, int64_t in, int64_t out) {
  int64_t tile_bytes = points * (in + out) * 4;
  int64_t tiles = glow_max64(cpu->l2 / tile_bytes, in * out / (in + out));
  return glow_min64(tiles, 20 * cpu->l2 / tile_bytes);
}

/* Chunks are as few as cover the tiles, and differ by one tile at most. The program may say how
 * many tiles a chunk has, and how many chunks a block. */
static void choose_block(const GlowCpuNumbers *cpu, GlowWinogradParams *p) {
  int64_t in = glow_div_up(p->g.ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK;
  int64_t out = glow_div_up(p->g.oc, p->ob) * p->ob;
  p->chunk = p->given[0];
  p->block = p->given[1];
  if (!p->chunk) {
    p->chunk = glow_div_up(p->tiles, glow_div_up(p->tiles, cpu->tile_pixels));
    p->block = glow_div_up(block_tiles(cpu, places(p), in, out), p->chunk);
  }
  p->chunks = glow_div_up(p->tiles, p->chunk);
  p->full = p->tiles - p->chunks * (p->chunk - 1);
  p->block = glow_min64(p->block, p->chunks);
  p->room = p->block * p->chunk;
  p->v_place = odd_lines(in * p->room);
  p->m_place = odd_lines(out * p->room);
  p->m_at = places(p) * p->v_place;
}

void glow_setup_winograd(const GlowCpuNumbers *cpu, GlowWinogradParams *p, GlowSetup *setup) {
  choose_block(cpu, p);
  bool all = p->step == GLOW_WINOGRAD_STEP_ALL;
  bool multiplies = all || p->step == GLOW_WINOGRAD_STEP_PRODUCT;
  setup->units = all ? p->chunks : multiplies ? places(p) * glow_div_up(p->g.oc, p->ob) : p->tiles;
  setup->grain = all ? p->block : 0; /* each reads the filter */
  setup->scratch = (p->m_at + places(p) * p->m_place) * 4;
  GlowTileSize *tiles = setup->tiles;
  if (all || p->step == GLOW_WINOGRAD_STEP_INPUT)
    tiles[GLOW_WINOGRAD_TILE_INPUT] = glow_size_winograd_input(p->side);
  if (multiplies)
    tiles[GLOW_WINOGRAD_TILE_FULL] = glow_size_winograd_product(p->chunk);
  if (multiplies && p->full < p->chunks)
    tiles[GLOW_WINOGRAD_TILE_SMALL] = glow_size_winograd_product(p->chunk - 1);
  if (all || p->step == GLOW_WINOGRAD_STEP_OUTPUT)
    tiles[GLOW_WINOGRAD_TILE_OUTPUT] = glow_size_winograd_output(p->side);
}
