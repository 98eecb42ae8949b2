/* Parameters of Winograd's convolution, F(4x4, 3x3) or F(2x2, 3x3); see kernels.ops for why every
 * field is int64_t.
 *
 * Strides count floats. Activations are [N][C/16][H][W][16]; the filter is
 * [points][points][O/ob][I/16][16][ob]. Scratch memory holds, for a block of tiles, the transformed
 * input V, [points][points][I/16][tiles][16], then the products M, likewise of O, with room for
 * blocks of full chunks; a place of V or M is an odd number of cache lines, so that those of a tile
 * do not meet in one set of the cache. */
#ifndef GLOW_KERNELS_CPU_WINOGRAD_H
#define GLOW_KERNELS_CPU_WINOGRAD_H

#include "kernels/params.h"

/* What a piece of work does, and what its units are. Either workers have a block each, or one step
 * after the other is shared, for all tiles at once in memory that all workers see. */
enum {
  GLOW_WINOGRAD_STEP_ALL,     /* chunks of tiles, all steps of each */
  GLOW_WINOGRAD_STEP_INPUT,   /* tiles */
  GLOW_WINOGRAD_STEP_PRODUCT, /* places, times blocks of the filter */
  GLOW_WINOGRAD_STEP_OUTPUT   /* tiles */
};

typedef struct GlowWinogradParams {
  GlowConvGeometry g;
  int64_t side, points;           /* results of a tile along an axis, 4 or 2; 6 or 4 inputs */
  int64_t tiles, down, across;    /* tiles of all images; of one image along its axes */
  int64_t ob;                     /* output channels in a block of the filter */
  int64_t chunk;                  /* tiles that are multiplied together: rows in registers */
  int64_t chunks, full;           /* of all tiles; those from number `full` on have one tile less */
  int64_t block;                  /* chunks whose V and M are in memory at a time */
  int64_t room;                   /* tiles of a block at most */
  int64_t v_place, m_place, m_at; /* strides of the places; where M begins */
  int64_t step;                   /* GLOW_WINOGRAD_STEP_... */
  int64_t pool; /* results are maxima of 2x2 places, one half of oh and ow along each axis */
} GlowWinogradParams;

#endif
