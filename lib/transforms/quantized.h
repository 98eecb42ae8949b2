/* What passes ask about quantized types and values. */
#ifndef GLOW_TRANSFORMS_QUANTIZED_H
#define GLOW_TRANSFORMS_QUANTIZED_H

#include "transforms/transforms.h"

/* Whether t is a quantized tensor type of 8 or 16 bits whose offset lies within its kind and whose
 * scale is between 2^-60 and 2^60. Then each stored integer stands for another number, larger ones
 * for larger ones, and Quantize gives back what Dequantize makes of it, bit for bit. */
bool glow_quantization_is_usual(const GlowType *t);
/* Whether both have the same kind, scale and offset, and are quantized. */
bool glow_quantization_is_same(const GlowType *a, const GlowType *b);
/* The smallest and the largest stored integer of a kind of at most 16 bits. */
void glow_stored_limits(GlowKind kind, int32_t *low, int32_t *high);
/* What Quantize to t, a usual type, makes of x. */
int32_t glow_stored_of(const GlowType *t, float x);

#endif
