/* Kernels as machine code that was compiled together with Glow: a program can call them at once,
 * without LLVM. There is one library for each row of isa.def of the host's family. */
#ifndef GLOW_KERNELS_LIBRARY_H
#define GLOW_KERNELS_LIBRARY_H

#include "glow/rt.h"

enum { GLOW_PIECE_TILES = 5 };

/* The head of a piece's params in library code; the params of the kernel follow. The first address
 * of a piece is that of this head. */
typedef struct GlowPieceHead {
  int64_t tiles[GLOW_PIECE_TILES]; /* numbers of the row's tiles; -1: none */
  int64_t scratch_at;              /* which address is that of scratch memory; -1: there is none */
  int64_t scratch;                 /* bytes of each worker's part of it; 0: all share it */
} GlowPieceHead;

/* What a function on blocks reads. */
typedef struct GlowBlockOperand {
  const char *at; /* NULL: an optional operand that is absent */
  int64_t
      varies; /* -1: each element has its own; 0: the first GLOW_VL are those of every register */
} GlowBlockOperand;

/* A function of lanes on n elements, a multiple of GLOW_VL; `result` overlaps no operand. A single
 * operand varies, or n is GLOW_VL. */
typedef void GlowBlockFn(const void *members, int64_t n, void *result,
                         const GlowBlockOperand *const *operands);

typedef struct GlowLibrary {
  const char *row;             /* x86-64-v3 */
  uint64_t table;              /* the glow_table_hash that it was built from */
  GlowPieceFn *const *kernels; /* by number in glow_kernels */
  GlowBlockFn *const *lanes;   /* by number in glow_lane_names; NULL: there is none */
} GlowLibrary;

/* The library of a row of isa.def; NULL if this build has none. */
const GlowLibrary *glow_library(const char *row);

#endif
