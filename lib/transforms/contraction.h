/* Contractions as folding sees them: which axes of operands and result are channels. */
#ifndef GLOW_TRANSFORMS_CONTRACTION_H
#define GLOW_TRANSFORMS_CONTRACTION_H

#include "transforms/transforms.h"

/* Ports, of all contractions that fold; MatMul has no bias, but one may be added behind it. */
enum { GLOW_CONTRACTION_X, GLOW_CONTRACTION_W, GLOW_CONTRACTION_B };

typedef struct GlowContraction {
  GlowNode *node;
  uint32_t x_axis, y_axis; /* of the channels in operand and result */
  uint32_t w_in, w_out;    /* the same in the weights: one of both is axis 0 */
  int64_t in, out;         /* how many */
  int64_t groups;          /* the axis of the weights that is not 0 has the channels of one group */
} GlowContraction;

/* Describes Convolution, ConvTranspose, FullyConnected and MatMul of floats with weights of known
 * shape: for the products, one matrix; a Convolution's strategy is direct. False if n is something
 * else. */
bool glow_contraction_describe(GlowNode *n, GlowContraction *c);
/* Whether weights and bias are constants, the bias with one value for each channel, or absent. */
bool glow_contraction_is_constant(const GlowContraction *c, GlowConstness *constness);
/* The contraction with other operands (ins[2] may be NULL); for MatMul a bias is added behind. NULL
 * after a diagnostic. */
GlowValue *glow_contraction_build(const GlowContraction *c, GlowValue *const *ins);
/* Whether a tensor of type t, broadcast with one of that rank, has one value for each of so many
 * channels along an axis, or one for all, and makes nothing larger. */
bool glow_is_per_channel(const GlowType *t, uint32_t rank, uint32_t axis, int64_t channels);
/* Add, Sub, Mul or Div. */
bool glow_is_affine(const GlowNode *n);
/* Scale / Sqrt(Var + epsilon) of a BatchNormalization, whose operands these are, or copies. NULL if
 * one of them is, or after a diagnostic. */
GlowValue *glow_norm_factor(GlowBuilder *b, const GlowNode *norm, GlowValue *scale, GlowValue *var);

#endif
