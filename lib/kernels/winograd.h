/* The numbers of Winograd's convolutions F(4x4, 3x3) and F(2x2, 3x3), shared by the transform of
 * filters, the reference kernel and the machine kernels. Interpolation points of the first are 0,
 * ±A, ±B and infinity with A = 5/8 and B = 3/2, with which results round three to four times less
 * than with ±1 and ±2; of the second 0, ±1 and infinity. See docs/Numerics. Every number here is
 * exact. */
#ifndef GLOW_KERNELS_WINOGRAD_H
#define GLOW_KERNELS_WINOGRAD_H

enum {
  GLOW_WINOGRAD_LARGE = 4,       /* results along an axis of a large tile; a small one has 2 */
  GLOW_WINOGRAD_MOST_POINTS = 6, /* along an axis: of a tile of the input, and of a filter */
  GLOW_WINOGRAD_MOST_PLACES = 36 /* those squared */
};

#define GLOW_WINOGRAD_A 0.625f
#define GLOW_WINOGRAD_A2 0.390625f
#define GLOW_WINOGRAD_A3 0.244140625f
#define GLOW_WINOGRAD_B 1.5f
#define GLOW_WINOGRAD_B2 2.25f
#define GLOW_WINOGRAD_B3 3.375f
#define GLOW_WINOGRAD_PRODUCT 0.87890625f /* A2 * B2 */
#define GLOW_WINOGRAD_SUM 2.640625f       /* A2 + B2 */

#endif
