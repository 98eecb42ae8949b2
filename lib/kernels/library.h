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

/* What a function on blocks reads: rows of elements. */
typedef struct GlowBlockOperand {
  const char *at; /* NULL: an optional operand that is absent */
  int64_t varies; /* -1: each element of a row has its own; 0: all are like the first one */
  int64_t next;   /* bytes from row to row; 0: all rows are the same, or it is absent */
} GlowBlockOperand;

/* A function of lanes on `rows` rows of `width` elements, at least GLOW_VL; rows of the result are
 * `next` bytes apart. The last register of a row may overlap the one before it, so `result`
 * overlaps no operand. A single operand varies, or width is GLOW_VL. */
typedef void GlowBlockFn(const void *members, int64_t rows, int64_t width, char *result,
                         int64_t next, const GlowBlockOperand *const *operands);

typedef struct GlowLibrary {
  const char *row;             /* x86-64-v3 */
  uint64_t table;              /* the glow_table_hash that it was built from */
  GlowPieceFn *const *kernels; /* by number in glow_kernels */
  GlowBlockFn *const *lanes;   /* by number in glow_lane_names; NULL: there is none */
} GlowLibrary;

/* The library of a row of isa.def; NULL if this build has none. */
const GlowLibrary *glow_library(const char *row);

#endif
