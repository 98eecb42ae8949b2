/* Functions that build nodes for the rules that glow-tblgen makes of scalar bodies. A rule computes
 * in the compute type of its first type variable: 16-bit floats are cast to float and quantized
 * values dequantized; the result is converted back. So a rule gives the same bits as the body.
 * Every function returns NULL if an operand is NULL; whatever made that NULL has reported it. */
#ifndef GLOW_LOWER_EXPAND_H
#define GLOW_LOWER_EXPAND_H

#include "lower/lower.h"

typedef struct GlowExpand {
  GlowBuilder *b;
  const GlowNode *n;
  GlowKind kind; /* the compute type */
} GlowExpand;

/* `key`: the operand whose kind decides on the compute type. */
GlowExpand glow_expand_begin(GlowBuilder *b, const GlowNode *n, uint32_t key);
/* An operand in its compute type; NULL if it is absent. */
GlowValue *glow_expand_in(GlowExpand *e, uint32_t i);
/* The result in its stored type becomes results[0]. */
bool glow_expand_end(GlowExpand *e, GlowValue *v, GlowValue **results);

/* Splats of rank 0: a number of the compute type; a real and a whole number of `kind`; a
 * boolean. */
GlowValue *glow_expand_number(GlowExpand *e, double v);
GlowValue *glow_expand_real(GlowExpand *e, GlowKind kind, double v);
GlowValue *glow_expand_whole(GlowExpand *e, GlowKind kind, uint64_t v); /* wraps */
GlowValue *glow_expand_bool(GlowExpand *e, bool v);
/* A primitive of one, two or three operands. */
GlowValue *glow_expand_1(GlowExpand *e, GlowOp op, GlowValue *x);
GlowValue *glow_expand_2(GlowExpand *e, GlowOp op, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_3(GlowExpand *e, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *z);
/* Operations that are no primitives, built of primitives that give exactly the same bits. */
GlowValue *glow_expand_greater(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_less_or_equal(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_greater_or_equal(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_not_equal(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_and(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_or(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_not(GlowExpand *e, GlowValue *x);
GlowValue *glow_expand_bit_or(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_bit_xor(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_bit_not(GlowExpand *e, GlowValue *x);
GlowValue *glow_expand_negate(GlowExpand *e, GlowValue *x);
GlowValue *glow_expand_abs(GlowExpand *e, GlowValue *x);
GlowValue *glow_expand_ceil(GlowExpand *e, GlowValue *x);
/* The magnitude of x with the sign of `sign`, also of zeros and NaNs. */
GlowValue *glow_expand_copysign(GlowExpand *e, GlowValue *x, GlowValue *sign);
/* The bits of x, read as a number of `kind`. */
GlowValue *glow_expand_bits(GlowExpand *e, GlowValue *x, GlowKind kind);
GlowValue *glow_expand_cast(GlowExpand *e, GlowValue *x, GlowKind kind);
GlowValue *glow_expand_shift_left(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_shift_right(GlowExpand *e, GlowValue *x, GlowValue *y);
GlowValue *glow_expand_min(GlowExpand *e, GlowValue *x, GlowValue *y);

#endif
