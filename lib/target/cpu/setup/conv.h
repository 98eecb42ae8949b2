/* What setups of convolutions over blocks of channels share. */
#ifndef GLOW_TARGET_CPU_SETUP_CONV_H
#define GLOW_TARGET_CPU_SETUP_CONV_H

#include "target/cpu/setups.h"

/* The pixels of a tile of `cols` from which windows can leave the input, left and right; whether
 * any window leaves it at all. */
bool glow_conv_padding(const GlowConvGeometry *g, int64_t cols, int64_t *left, int64_t *right);

#endif
