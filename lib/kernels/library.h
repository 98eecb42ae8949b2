/* Kernels as machine code that was made when Glow was built: programs run by them at once, without
 * LLVM. One library for each row of isa.def of the host's family. */
#ifndef GLOW_KERNELS_LIBRARY_H
#define GLOW_KERNELS_LIBRARY_H

#include "rt/rt.h"

enum { GLOW_PIECE_TILES = 4 };

/* How the params of a piece begin for library code; the kernel's own follow. A piece's first
 * address is that of its params. */
typedef struct GlowPieceHead {
  int64_t tiles[GLOW_PIECE_TILES]; /* numbers of the row's tiles; -1: none */
  int64_t scratch_at;              /* which address is that of scratch memory; -1: there is none */
  int64_t scratch;                 /* bytes of each worker's part of it; 0: all share it */
} GlowPieceHead;

/* A function of lanes on n elements, a multiple of GLOW_VL; `result` overlaps no operand.
 * operands[i] is NULL where an optional one is absent. */
typedef void GlowBlockFn(const void *members, int64_t n, void *result, const void *const *operands);

typedef struct GlowLibrary {
  const char *row;             /* x86-64-v3 */
  uint64_t table;              /* the glow_table_hash that it was built from */
  GlowPieceFn *const *kernels; /* by number in glow_kernels */
  GlowBlockFn *const *lanes;   /* by number in glow_lane_names; NULL: there is none */
} GlowLibrary;

/* That of a row of isa.def. NULL: this build has none. */
const GlowLibrary *glow_library(const char *row);

#endif
