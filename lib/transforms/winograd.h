/* What Winograd's algorithm saves, for passes that make convolutions of 3x3 windows. */
#ifndef GLOW_TRANSFORMS_WINOGRAD_H
#define GLOW_TRANSFORMS_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>

/* Multiplications of one image: directly, and in tiles, those of which kind; whether tiles pay. */
typedef struct GlowWinogradCount {
  double direct, tiled;
  int tiling;
  bool pays;
} GlowWinogradCount;

/* The counts of a convolution of 3x3 windows to so many rows and columns, by the rule that the head
 * of graph/winograd.c explains; `is_constant`: the filter is. */
GlowWinogradCount glow_winograd_count(int64_t in, int64_t out, int64_t rows, int64_t columns,
                                      bool is_constant);

#endif
