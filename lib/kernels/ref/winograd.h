/* Convolution with strategy = winograd: called by the kernel of Convolution. */
#ifndef GLOW_KERNELS_REF_WINOGRAD_H
#define GLOW_KERNELS_REF_WINOGRAD_H

#include "kernels/ref/ref.h"

GlowRunError glow_ref_winograd(GlowCall *call);
size_t glow_ref_winograd_scratch(const GlowCall *call);

#endif
