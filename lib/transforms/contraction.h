/* Contractions as folding sees them: which axes of operands and result are channels. */
#ifndef GLOW_TRANSFORMS_CONTRACTION_H
#define GLOW_TRANSFORMS_CONTRACTION_H

#include "transforms/transforms.h"

/* The input ports of all contractions that fold. MatMul has no bias, but an Add may follow it. */
enum { GLOW_CONTRACTION_X, GLOW_CONTRACTION_W, GLOW_CONTRACTION_B };

typedef struct GlowContraction {
  GlowNode *node;
  uint32_t x_axis, y_axis; /* the axis of the channels in the operand, in the result */
  uint32_t w_in, w_out;    /* the axes of both in the weights: one of them is axis 0 */
  int64_t in, out;         /* how many channels the operand and the result have */
  int64_t groups;          /* axis 0 of the weights spans all groups, the other axis one group */
} GlowContraction;

/* Describes Convolution, ConvTranspose, FullyConnected and MatMul of floats with weights of known
 * shape. The weights of FullyConnected and MatMul must be one matrix, and the strategy of a
 * Convolution or MatMul direct. False if n is something else. */
bool glow_contraction_describe(GlowNode *n, GlowContraction *c);
/* Whether n has strategy = bf16, so that its operands keep their kinds. */
bool glow_is_bf16(const GlowNode *n);
/* A contraction that reads v and whose channels in v are of known number; sets *axis to theirs. NULL
 * if there is none. */
GlowNode *glow_channels_reader(const GlowValue *v, uint32_t *axis);
/* Whether weights and bias are constants, the bias with one value for each channel, or absent. */
bool glow_contraction_is_constant(const GlowContraction *c, GlowConstness *constness);
/* Builds the contraction with other operands; ins[2], the bias, may be NULL. For MatMul, an Add of
 * the bias follows. NULL after a diagnostic. */
GlowValue *glow_contraction_build(const GlowContraction *c, GlowValue *const *ins);
/* Whether a tensor of type t, combined with another tensor of that rank by broadcasting, has one
 * value for each of the `channels` along `axis`, or one value for all, and does not make the result
 * larger. */
bool glow_is_per_channel(const GlowType *t, uint32_t rank, uint32_t axis, int64_t channels);
/* Add, Sub, Mul or Div. */
bool glow_is_affine(const GlowNode *n);
/* Builds scale / Sqrt(var + epsilon), with the epsilon of the BatchNormalization `norm`; scale and
 * var are its operands, or copies of them. NULL if one of them is NULL, or after a diagnostic. */
GlowValue *glow_norm_factor(GlowBuilder *b, const GlowNode *norm, GlowValue *scale, GlowValue *var);

#endif
