/* The kernel table (the .ops files of lib/kernels) as data: which kernels there are, and which tiles
 * each machine has. target/cpu/rows.h, which is generated, has a function for each row that finds
 * them by variant, kind and sizes. */
#ifndef GLOW_TARGET_CPU_TABLE_H
#define GLOW_TARGET_CPU_TABLE_H

#include "target/cpu/isa.h"
#include "target/cpu/setup/setup.h"

/* The layouts that a kernel takes an operand in, best first: see target/cpu/layouts.h. */
enum { GLOW_KERNEL_LAYOUTS = 3 };
typedef struct GlowKernelLayout {
  const char *operand;
  const char *texts[GLOW_KERNEL_LAYOUTS];
} GlowKernelLayout;

enum { GLOW_USUAL_SHARE = 90 };

/* A kernel. */
typedef struct GlowKernel {
  const char *name;        /* as people know it: reduce_sum_float */
  const char *function;    /* glow_reduce_sum_float */
  uint32_t words;          /* of its params, without a table at their end */
  uint32_t share;          /* percent of the speed of compiled code that library code has, about */
  GlowSetupFn *setup;      /* NULL: it has none */
  const uint16_t *derived; /* which words of its params the setup fills in */
  uint32_t nderived;
  const GlowKernelLayout *layouts; /* ends with one without an operand; NULL: all are plain */
} GlowKernel;

/* A tile of a machine. */
typedef struct GlowTile {
  const char *name, *function;    /* conv_tile_1x6x2, glow_conv_tile_1x6x2 */
  unsigned kind;                  /* a GlowTileKind */
  int64_t sizes[GLOW_TILE_SIZES]; /* or variant and GlowKind, of rows that have these */
} GlowTile;

/* What a word of params has for a tile with fixed params. */
typedef struct GlowLimit {
  uint32_t word;
  enum { GLOW_LIMIT_EQUAL, GLOW_LIMIT_WIDTH, GLOW_LIMIT_MOST, GLOW_LIMIT_MULTIPLE } form;
  int64_t value;
} GlowLimit;
typedef struct GlowFixed {
  const char *name;
  const GlowLimit *limits;
  uint32_t nlimits;
} GlowFixed;

/* What all tiles of a kind have in common. */
typedef struct GlowTileDesc {
  const char *name;
  uint32_t sizes;          /* how many of GlowTile.sizes say which tile it is */
  uint32_t pointers, ints; /* what it takes besides parameters and callback */
  bool callback;           /* whether it takes one */
  const GlowFixed *fixed;  /* forms with fixed params in library code, the best first; ends with one
                              without a name; NULL: there are none */
} GlowTileDesc;

extern const GlowTileDesc glow_tile_desc[];
extern const GlowTile *const glow_tiles[GLOW_ISA_COUNT]; /* each ends with one without a name */
extern const GlowKernel glow_kernels[];                  /* ends with one without a name */

/* A hash of all that kernels see of the table. Each blob of kernels that was built from a table has
 * the hash of that table as the constant GLOW_TABLE_SYMBOL. */
extern const uint64_t glow_table_hash;
#define GLOW_TABLE_SYMBOL "glow_kernels_table"

/* The tile of that kind and so many sizes as the kind has; NULL: the machine has none. */
const GlowTile *glow_tile_find(const GlowIsa *isa, unsigned kind, const int64_t *sizes);

/* The forms with fixed params that library code has of a kind of tiles, the best first; NULL: none,
 * as on machines without a fused multiply-add, where computing that takes most of the time. */
const GlowFixed *glow_tile_forms(const GlowIsa *isa, unsigned kind);
/* Which form of a tile library code takes for params of its kernel: 0 for any, else 1 more than the
 * first of its forms whose limits hold. */
uint32_t glow_tile_form(const GlowIsa *isa, const GlowTile *tile, const int64_t *params);
/* The number of a tile in a form among the tiles of a library (gen/kernels/library.c). */
int64_t glow_tile_number(const GlowIsa *isa, const GlowTile *tile, uint32_t form);

#endif
