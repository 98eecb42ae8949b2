/* Setups: functions that decide for a machine how a kernel works; no result depends on them. A
 * setup fills in the derived fields of the kernel's params (the .ops files of lib/kernels) from
 * the others, and says how the work is split, what scratch memory it takes and which tiles it calls.
 * Prototypes are in target/cpu/setups.h.
 *
 * Setups are freestanding and know no program, so whoever knows the extents last can call them:
 * today selection does. */
#ifndef GLOW_TARGET_CPU_SETUP_SETUP_H
#define GLOW_TARGET_CPU_SETUP_SETUP_H

#include <stdbool.h>
#include <stdint.h>

enum { GLOW_TILE_SIZES = 4, GLOW_SETUP_TILES = 5 };

/* What a setup knows of a machine: columns of isa.def, and whether its features multiply four bytes
 * in a lane (VNNI), have square tiles of bytes and of bfloat16 (AMX), and multiply pairs of
 * bfloat16 in a lane (AVX512-BF16). */
typedef struct GlowCpuNumbers {
  int64_t vl, tile_pixels, tile_vectors, l1, l2;
  bool fours, squares, pairs;
} GlowCpuNumbers;

/* A tile of the table: a GlowTileKind, and as many sizes as that has. GLOW_TILE_NONE: no tile. */
typedef struct GlowTileSize {
  int64_t kind, sizes[GLOW_TILE_SIZES];
} GlowTileSize;

/* What a setup says besides params; zero at first. */
typedef struct GlowSetup {
  int64_t units;                        /* how far the work can be split */
  int64_t grain;                        /* units that a shard should have at least, since each shard
                                           reads much besides; 0: one */
  int64_t scratch;                      /* bytes that each worker needs, or all in common */
  int64_t zeros;                        /* bytes of zeros that the kernel reads; 0: none */
  GlowTileSize tiles[GLOW_SETUP_TILES]; /* by number: GLOW_CONV_TILE_FULL and its like */
} GlowSetup;

/* The setup of a kernel; params are of its type. */
typedef void GlowSetupFn(const GlowCpuNumbers *cpu, void *params, GlowSetup *setup);

/* ---- Shared by setups ------------------------------------------------------------------------ */

static inline int64_t glow_div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t glow_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t glow_max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Columns of a tile: output channels in a block of a filter, columns in a panel. */
static inline int64_t glow_cpu_columns(const GlowCpuNumbers *cpu) {
  return cpu->vl * cpu->tile_vectors;
}

/* A row of a convolution: output and input columns, window, stride, dilation, padding before. */
typedef struct GlowConvLine {
  int64_t ow, iw, kw, sw, dw, pl;
} GlowConvLine;
/* How many output pixels at the left and right have windows that leave the input there. */
void glow_conv_edges(const GlowConvLine *l, int64_t *left, int64_t *right);

/* Steps of k of a product that one panel of its right operand has: panels are strips
 * (target/cpu/setup/cache.h). */
int64_t glow_product_chunk(const GlowCpuNumbers *cpu, int64_t k);

#endif
