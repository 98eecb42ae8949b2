/* Parameters of tiled attention; see kernels.ops for why every field is int64_t. Strides count
 * floats: batch, head, place in the sequence, element. */
#ifndef GLOW_KERNELS_CPU_ATTENTION_H
#define GLOW_KERNELS_CPU_ATTENTION_H

#include <stdint.h>

#define GLOW_ATTENTION_LANES 16 /* sums of weights of one query */

typedef struct GlowAttentionParams {
  int64_t batch, heads, shared;        /* heads of Q; how many of them share one of K */
  int64_t queries, keys, size, v_size; /* size: of a row of Q and K */
  int64_t q[4], k[4], v[4], y[4];      /* elements of Y are contiguous */
  int64_t mask, m[4];                  /* whether there is one; 0 along axes that it repeats on */
  int64_t scale;                       /* the bits of a float */
  int64_t kv_tile;                     /* keys of a tile, a multiple of 16 */
  int64_t tile, tiles, narrow;         /* as in GlowMatmulParams, of queries */
  int64_t k_panels, v_panels;          /* of a tile of keys, and of its values */
} GlowAttentionParams;

#endif
