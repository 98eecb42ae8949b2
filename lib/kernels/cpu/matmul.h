/* Parameters of the matrix product; see conv.h for why every field is int64_t. Strides count
 * floats.
 *
 * C[batch][m][n] = epilogue(A[batch][m][k] * B[batch][k][n]). B is plain with any strides, or
 * packed ahead as [k/kc][n/nb][kc][nb], where nb = GLOW_TILE_VECTORS registers. */
#ifndef GLOW_KERNELS_CPU_MATMUL_H
#define GLOW_KERNELS_CPU_MATMUL_H

#include <stdint.h>

#define GLOW_MATMUL_BATCH 4 /* batch axes, after neighbours are merged */
#define GLOW_MATMUL_AHEAD 8 /* most cache lines of the next panel to fetch in four steps */

typedef struct GlowMatmulParams {
  int64_t m, n, k;
  int64_t batch[GLOW_MATMUL_BATCH]; /* extents, unused ones 1 */
  int64_t a_batch[GLOW_MATMUL_BATCH], b_batch[GLOW_MATMUL_BATCH], c_batch[GLOW_MATMUL_BATCH];
  int64_t am, ak, bk, bn, cm; /* strides of the matrices; columns of C are contiguous */
  int64_t packed;             /* B is packed ahead; bk and bn do not count */
  int64_t direct;             /* whole panels of a plain B are read where they are (bn is 1) */
  int64_t copy_a;             /* rows of A are copied to scratch, with `lda` floats each */
  int64_t lda;
  int64_t kc;             /* steps of a chunk; C holds partial sums between chunks */
  int64_t tiles, narrow;  /* rows are cut into tiles; the last `narrow` ones are a row smaller */
  int64_t tile;           /* rows of the others */
  int64_t block, blocks;  /* tiles whose A stays in cache, and how many such blocks there are */
  int64_t panels, groups; /* panels of B in a group of columns, and how many groups there are */
  int64_t slots;          /* panels of a group that are in scratch together: all, or one */
  int64_t ahead;          /* cache lines of the next panel to fetch in four steps */
  int64_t plain;          /* there is no epilogue */
} GlowMatmulParams;

#endif
