/* EACH_TILE_ROWS(M): M(1) M(2) .. for as many rows as a register tile of the target can have. */
#ifndef GLOW_KERNELS_CPU_EACH_TILE_H
#define GLOW_KERNELS_CPU_EACH_TILE_H

#if defined(GLOW_TEST_TILE) /* does not fit the registers: tests look for its spills */
#define EACH_TILE_ROWS(M) M(GLOW_TILE_PIXELS)
#elif GLOW_TILE_PIXELS >= 14
#define EACH_TILE_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
#elif GLOW_TILE_PIXELS >= 6
#define EACH_TILE_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#elif GLOW_TILE_PIXELS >= 2
#define EACH_TILE_ROWS(M) M(1) M(2)
#else
#define EACH_TILE_ROWS(M) M(1)
#endif

#endif
