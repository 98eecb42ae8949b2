/* Decisions about machine kernels that do not show in results: register tiles of convolutions, and
 * into how many shards work is cut. The passes assign-tiles and assign-shards write them into
 * programs; the CPU backend makes them where a program has none. Neither LLVM nor a program is
 * needed. */
#ifndef GLOW_TARGET_CPU_RULES_H
#define GLOW_TARGET_CPU_RULES_H

#include "ops/op.h"
#include "target/cpu/isa.h"

/* The output of a direct convolution, as its tile sees it. */
typedef struct GlowConvGrid {
  int64_t rows, oh, ow; /* output rows of all images; extents of an image */
  int64_t edges;        /* pixels of a row from which windows can leave the input, left and right */
  int64_t taps;         /* places of the window */
  bool flat;            /* 1x1 and dense: neighbouring rows can be seen as one */
  bool single;          /* tiles must be of one row */
} GlowConvGrid;

/* How `tile` in the text describes a tile, by its number of values:
 *   [n]                   n consecutive pixels, across rows and images
 *   [rows, cols]          whole rows, or cols pixels of one
 *   [rows, cols, merged]  where `merged` neighbouring rows are seen as one */
typedef struct GlowConvTile {
  uint32_t count, values[3];
} GlowConvTile;

/* The tile for a machine: full width if possible. Rows that fill less than half of the registers
 * share a tile, as long as there are general registers for a pointer to each row and each edge. */
GlowConvTile glow_conv_tile(const GlowIsa *isa, const GlowConvGrid *g);
/* Whether the machine has kernels for tiles of consecutive pixels of windows of so many taps. */
bool glow_conv_can_scatter(const GlowIsa *isa, int64_t taps);

/* Whether Winograd's kernel can pool what it computes: its tiles, of 4x4 or 2x2 results, hold whole
 * windows. */
bool glow_winograd_can_pool(const GlowMaxPoolMembers *m);
/* Why a maximum pool does not become part of the convolution before it; NULL: it does. That pays
 * where the kernel has whole windows in registers when it stores: it stores a quarter, and nobody
 * reads the rest back. Another kernel would have to keep rows in the cache and pool them later;
 * docs/Optimizations says what that was measured to give. Results are the same either way. */
const char *glow_pool_stays(const GlowConvolutionMembers *conv, const GlowMaxPoolMembers *pool);

/* Into how many shards work of so many multiply-adds, or moved bytes, is cut; at least 1. Each
 * shard is worth waking a thread for. More shards than it takes to balance threads of unequal speed
 * are not made. */
int64_t glow_shards(int64_t cost);

#endif
