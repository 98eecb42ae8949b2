/* Parameters of the depthwise kernels; every field is int64_t, as in kernels.ops. */
#ifndef GLOW_KERNELS_CPU_DEPTHWISE_H
#define GLOW_KERNELS_CPU_DEPTHWISE_H

#include "kernels/params.h"

/* Filters are [C/16][KH][KW][16]; oc of the geometry counts all channels, ic is 1. */
typedef struct GlowDepthwiseParams {
  GlowConvGeometry g;
  int64_t blocks;      /* of 16 channels */
  int64_t cols;        /* output pixels of the full tile */
  int64_t narrow;      /* the last `narrow` tiles of a row are one pixel narrower */
  int64_t left, right; /* leftmost, rightmost pixels of a tile that may need padding */
} GlowDepthwiseParams;

#endif
