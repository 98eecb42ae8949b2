/* The setup of products of floats: tiles of rows as equal as possible, chunks of k, and what is
 * copied to scratch. */
#include "target/cpu/setup/cache.h"
#include "target/cpu/setups.h"

/* With fewer rows than this a panel of B is used too seldom to be packed. */
enum { PACK_ROWS = 12 };
/* With fewer columns than this a row of A is used too seldom to be copied. */
enum { COPY_COLUMNS = 128 };
/* Threads should find at least this many units. */
enum { FEW_UNITS = 8 };
/* Panels of a group at least. */
enum { FEW_PANELS = 8 };
_Static_assert((int)GLOW_MATMUL_TILE_ROW < (int)GLOW_SETUP_TILES, "there is room for each tile");
/* Registers that a tile of one row fills, on machines with at least so many rows in a tile. */
enum { ROW_VECTORS = 8, ROW_PIXELS = 6 };

int64_t glow_product_chunk(const GlowCpuNumbers *cpu, int64_t k) {
  int64_t most = glow_strip_bytes(cpu) / (glow_cpu_columns(cpu) * 4);
  int64_t chunks = glow_div_up(k, most);
  return chunks > 1 ? glow_div_up(glow_div_up(k, chunks), 4) * 4 : k;
}

/* Rows of A whose first elements fall into few sets of a cache push each other out. */
static bool rows_collide(const GlowMatmulParams *p) {
  return p->ak != 1 || p->am * 4 % 1024 == 0 || p->am > 4096;
}

/* Rows: tiles, and blocks of tiles whose A is a band. */
static void cut_rows(const GlowCpuNumbers *cpu, GlowMatmulParams *p) {
  p->tiles = glow_div_up(p->m, cpu->tile_pixels);
  p->tile = glow_div_up(p->m, p->tiles);
  p->narrow = p->tiles * p->tile - p->m;
  int64_t strip = p->kc * glow_cpu_columns(cpu) * 4;
  int64_t fit = glow_band_bytes(cpu, strip) / (p->kc * p->tile * 4 + 1);
  p->blocks = glow_div_up(p->tiles, fit < 1 ? 1 : fit);
  p->block = glow_div_up(p->tiles, p->blocks);
  p->blocks = glow_div_up(p->tiles, p->block);
}

/* Several blocks of rows use the panels of a group, which then stay in scratch; if there is one
 * block, groups are for threads alone. */
static void group_panels(const GlowCpuNumbers *cpu, int64_t batch, GlowMatmulParams *p) {
  int64_t nb = glow_cpu_columns(cpu), panels = glow_div_up(p->n, nb);
  int64_t group = cpu->l2 / (p->kc * nb * 4 + 1);
  if (p->blocks == 1)
    group = batch >= FEW_UNITS ? panels : glow_div_up(panels, FEW_UNITS / batch);
  p->panels = glow_min64(glow_max64(group, FEW_PANELS), panels);
  p->groups = glow_div_up(panels, p->panels);
  p->slots = p->blocks > 1 ? p->panels : 1;
}

static int64_t scratch_bytes(const GlowMatmulParams *p, int64_t nb) {
  int64_t rows = p->copy_a ? p->block * p->tile * p->lda : 0;
  int64_t columns = p->packed ? 0 : p->slots * p->kc * nb;
  return (rows + columns) * 4;
}

static void name_tiles(const GlowCpuNumbers *cpu, const GlowMatmulParams *p, GlowTileSize *tiles) {
  int64_t nb = glow_cpu_columns(cpu), vectors = cpu->tile_vectors;
  bool odd = nb > cpu->vl && (p->n - 1) % nb < cpu->vl, even = !odd || p->n > nb;
  bool full = p->narrow<p->tiles, small = p->narrow> 0;
  if (full && even)
    tiles[GLOW_MATMUL_TILE_FULL] = glow_size_matmul_tile(p->tile, vectors);
  if (small && even)
    tiles[GLOW_MATMUL_TILE_SMALL] = glow_size_matmul_tile(p->tile - 1, vectors);
  if (full && odd)
    tiles[GLOW_MATMUL_TILE_FULL_ODD] = glow_size_matmul_tile(p->tile, 1);
  if (small && odd)
    tiles[GLOW_MATMUL_TILE_SMALL_ODD] = glow_size_matmul_tile(p->tile - 1, 1);
  int64_t side_by_side = ROW_VECTORS / vectors;
  if (p->m == 1 && (p->packed || p->direct) && cpu->tile_pixels >= ROW_PIXELS &&
      glow_min64(p->panels, p->n / nb) >= side_by_side)
    tiles[GLOW_MATMUL_TILE_ROW] = glow_size_matmul_row(side_by_side);
}

void glow_setup_matmul(const GlowCpuNumbers *cpu, GlowMatmulParams *p, GlowSetup *setup) {
  int64_t nb = glow_cpu_columns(cpu), batch = 1;
  for (int i = 0; i < GLOW_MATMUL_BATCH; i++)
    batch *= p->batch[i];
  p->kc = p->packed ? p->packed : glow_product_chunk(cpu, p->k);
  p->direct = !p->packed && p->bn == 1 && p->m < PACK_ROWS;
  p->copy_a = p->n >= COPY_COLUMNS && p->m > 1 && rows_collide(p);
  p->lda = glow_div_up(p->kc, 16) * 16;
  p->lda += p->lda / 16 % 2 ? 0 : 16;
  cut_rows(cpu, p);
  group_panels(cpu, batch, p);
  /* One row leaves no time to fetch ahead: it only takes turns with the loads. */
  p->ahead =
      p->direct || p->m == 1 ? 0 : glow_min64(glow_div_up(nb, 4 * p->block), GLOW_MATMUL_AHEAD);
  setup->units = batch * p->groups * p->blocks;
  setup->scratch = scratch_bytes(p, nb);
  name_tiles(cpu, p, setup->tiles);
}
