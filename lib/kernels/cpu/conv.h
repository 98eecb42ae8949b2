/* Parameters of the convolution kernels: written by the backend, read by the kernels as constants.
 *
 * Every field is int64_t, so that code generation can turn the struct into a constant array of i64
 * without a table of its fields. Strides count floats. Activations are blocked by 16 channels:
 * [N][C/16][H][W][16]; filters are [O/ob][I/wi][KH][KW][wi][ob], I counting one group. */
#ifndef GLOW_KERNELS_CPU_CONV_H
#define GLOW_KERNELS_CPU_CONV_H

#include <stdint.h>

#define GLOW_CONV_BLOCK 16    /* channels in a block of an activation */
#define GLOW_CONV_MAX_ROWS 4  /* rows of a tile */
#define GLOW_CONV_MAX_TAPS 25 /* of a window whose tiles are scattered */

/* What a convolution reads and writes, and how: shared by the parameters of all kernels over blocks
 * of channels. ic counts those of one group. */
typedef struct GlowConvGeometry {
  int64_t oh, ow, oc;             /* output extents */
  int64_t ih, iw, ic;             /* input extents */
  int64_t kh, kw, sh, sw, dh, dw; /* window, strides, dilations */
  int64_t pt, pl;                 /* padding above and to the left */
  int64_t xn, xc, xh, xw;         /* strides of the input: image, channel block, row, pixel */
  int64_t yn, yc, yh, yw;         /* strides of the output */
  int64_t bias;                   /* whether there is a bias */
} GlowConvGeometry;

typedef struct GlowConvParams {
  GlowConvGeometry g;
  int64_t rows;                 /* output rows of all images: N * OH */
  int64_t ob;                   /* output channels in a block of the filter */
  int64_t block, wi;            /* input channels of a step over the taps; rows of a tap's filter */
  int64_t gb, gx;               /* blocks of the filter in a group; floats from group to group */
  int64_t band;                 /* output rows that share one pass over the filter */
  int64_t tile_rows, tile_cols; /* output pixels of the full tile */
  int64_t narrow;               /* the last `narrow` tiles of a row are one pixel narrower */
  int64_t fetch;                /* floats from a pixel to the one to fetch early, or 0 */
  int64_t left, right;          /* leftmost, rightmost pixels of a tile that may need padding */
  int64_t by_group;             /* units are blocks of the filter, not rows of tiles */
  int64_t ahead,
      turns;         /* lines of the next filter block to fetch at each tap; tiles that share it */
  int64_t scattered; /* tiles are any consecutive pixels: rows counts pixels */
  int64_t padded;    /* windows can leave the input */
} GlowConvParams;

/* A convolution of few, plain input channels packs the rows that it needs first; `conv` describes
 * what then happens: a place of the packed input holds all channels, and if the filter has no
 * padding rows either, the taps of a row are one run of channels. */
typedef struct GlowConvFewParams {
  GlowConvParams conv;
  GlowConvGeometry g; /* as the instruction says */
  int64_t places;     /* of a packed row */
} GlowConvFewParams;

#endif
