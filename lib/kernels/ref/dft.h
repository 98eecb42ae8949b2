/* What a DFT transforms: see dft.c. The CPU backend makes a table for its kernel from this. */
#ifndef GLOW_KERNELS_REF_DFT_H
#define GLOW_KERNELS_REF_DFT_H

#include "kernels/ref/ref.h"
#include "num/fourier.h"

/* Reads Length and the extents. False if they contradict each other. */
bool glow_dft_plan(const GlowCall *call, GlowFourier *f, uint32_t *axis);

#endif
