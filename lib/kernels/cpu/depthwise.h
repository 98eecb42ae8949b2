/* Parameters of the depthwise kernels; see conv.h for why every field is int64_t. */
#ifndef GLOW_KERNELS_CPU_DEPTHWISE_H
#define GLOW_KERNELS_CPU_DEPTHWISE_H

#include <stdint.h>

/* Strides count floats. Activations are [N][C/16][H][W][16], filters [C/16][KH][KW][16]. */
typedef struct GlowDepthwiseParams {
  int64_t blocks, channels;
  int64_t oh, ow, ih, iw;
  int64_t kh, kw, sh, sw, dh, dw; /* window, strides, dilations */
  int64_t pt, pl;                 /* padding above and to the left */
  int64_t xn, xc, xh, xw;         /* strides of the input: image, channel block, row, pixel */
  int64_t yn, yc, yh, yw;
  int64_t bias;        /* whether there is a bias */
  int64_t cols;        /* output pixels of the full tile */
  int64_t narrow;      /* the last `narrow` tiles of a row are one pixel narrower */
  int64_t left, right; /* leftmost, rightmost pixels of a tile that may need padding */
} GlowDepthwiseParams;

#endif
