/* The epilogues that kernels of narrow integers have in their stores. With the sum of an output as
 * a float, rounded to even,
 *
 *   r = limit(fma(sum, scale, bias) + (add - offset of add) * add_scale)
 *
 * where the second sum is an FMA, too, and the sum may begin with an integer of its channel, if it
 * has no bias of its own: what `Add`, `Cast`, `MulAdd`, `MulAdd` of what a `Dequantize` in steps
 * gives, and `Relu` or `Clip` say in this order. Each but the first may be missing. The result is
 * r, or `Quantize` of it in steps of 8 bits. */
#ifndef GLOW_TARGET_CPU_REQUANTIZE_H
#define GLOW_TARGET_CPU_REQUANTIZE_H

#include "ir/ir.h"

/* A factor or summand: an extra operand of the instruction, or a number. */
typedef struct GlowRequantizeTerm {
  int extra; /* which, from 0; -1: `number` */
  float number;
} GlowRequantizeTerm;

/* How far an epilogue has come. */
typedef enum GlowRequantizeStage {
  GLOW_REQUANTIZE_SUM,
  GLOW_REQUANTIZE_WHOLE_SUM,
  GLOW_REQUANTIZE_REAL,
  GLOW_REQUANTIZE_SCALED,
  GLOW_REQUANTIZE_ADDED,
  GLOW_REQUANTIZE_LIMITED,
  GLOW_REQUANTIZE_BYTES
} GlowRequantizeStage;

typedef struct GlowRequantize {
  GlowRequantizeStage stage;
  int start;                      /* which extra operand sums begin with; -1: none */
  GlowRequantizeTerm scale, bias; /* the numbers are 1 and -0 where nothing stands */
  int add;                        /* which extra operand; -1: nothing is added */
  const GlowType *add_type;
  float add_scale, low, high; /* limits of r; infinities where there are none */
  int32_t offset;             /* of the result, if it is in bytes */
} GlowRequantize;

/* Whether the epilogue of n, if it has one, has this form; *r is what it says. */
bool glow_requantize_match(const GlowNode *n, GlowRequantize *r);

/* Whether a convolution of narrow integers has a filter for each channel and maps whose channels
 * lie together, and an epilogue of this form, if any, that adds nothing: what the kernel dot_lanes
 * computes. */
bool glow_narrow_has_lanes(const GlowNode *n);

/* Whether the epilogue of `into` still has it with the element-wise instruction n at its end, one
 * of whose operands is what `into` writes. `adds`: its kernel adds bytes. */
bool glow_requantize_takes(const GlowNode *into, const GlowNode *n, bool adds);

#endif
