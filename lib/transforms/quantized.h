/* What passes ask about quantized types and values. */
#ifndef GLOW_TRANSFORMS_QUANTIZED_H
#define GLOW_TRANSFORMS_QUANTIZED_H

#include "transforms/match.h"
#include "transforms/transforms.h"

/* Whether t is a quantized tensor type of 8 or 16 bits whose offset lies within its kind and whose
 * scale is between 2^-60 and 2^60. Then each stored integer stands for another number, larger ones
 * for larger ones, and Quantize gives back what Dequantize makes of it, bit for bit. */
bool glow_quantization_is_usual(const GlowType *t);
/* Whether both have the same kind, scale and offset, and are quantized. */
bool glow_quantization_is_same(const GlowType *a, const GlowType *b);
/* The smallest and the largest stored integer of a kind of at most 16 bits. */
void glow_stored_limits(GlowKind kind, int32_t *low, int32_t *high);
/* The smallest and the largest number that a usual type of 8 or 16 bits stands for. */
void glow_quantized_range(const GlowType *t, double *low, double *high);
/* What Quantize to t, a usual type, makes of x. */
int32_t glow_stored_of(const GlowType *t, float x);

/* factor times the sums of w, the constant weights of a contraction of narrow integers, over all
 * that one result adds up: i32 with an element for each filter, or of a product for each column.
 * Built at b, with constants named after n. NULL after a diagnostic. */
GlowValue *glow_weight_sums(GlowBuilder *b, const GlowNode *n, GlowValue *w, bool convolves,
                            int64_t factor);
/* w, 8-bit weights of static type, without their zero point, which is one number or one for each
 * slice of `axis`, or NULL for 0: i8 if that holds all differences, else i16. `known` is the zero
 * point if it is one known number, else -1. */
GlowValue *glow_centered_weights(GlowBuilder *b, const GlowNode *n, GlowValue *w, GlowValue *zero,
                                 uint32_t axis, double known);
/* Whether all of v, a constant with zero points, are one number; writes it to *zero. */
bool glow_zero_point(GlowValues *values, const GlowValue *v, double *zero);
/* v as rank 0 if it has one element; a longer list as a tensor of `rank` axes along `axis`. */
GlowValue *glow_build_parameter(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank,
                                uint32_t axis);
/* x, which has the kind of t, as a value of type t, by BitCast. */
GlowValue *glow_build_bit_cast(GlowBuilder *b, GlowValue *x, const GlowType *t);

#endif
