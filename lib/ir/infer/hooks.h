/* What the inference hooks share: arithmetic on dims that knows exact, bounded, symbolic and
 * unknown extents, and ways to set results. */
#ifndef GLOW_IR_INFER_HOOKS_H
#define GLOW_IR_INFER_HOOKS_H

#include "ir/infer.h"
#include "ops/infer.h"

/* ---- Dims: results are as exact as can be proved --------------------------------------------- */

static inline bool glow_dim_is_exact(GlowDim d, int64_t size) {
  return d.kind == GLOW_DIM_EXACT && d.size == size;
}
/* Exact or bounded: size says something. */
static inline bool glow_dim_has_size(GlowDim d) {
  return d.kind == GLOW_DIM_EXACT || d.kind == GLOW_DIM_BOUND;
}
/* An extent of at most `d`: what is left when an unknown part of an axis stays. */
GlowDim glow_dim_part(GlowDim d);
/* Sums and products that overflow become unknown. */
GlowDim glow_dim_add(GlowDim a, GlowDim b);
GlowDim glow_dim_mul(GlowDim a, GlowDim b);
/* One extent that both describe. False if they contradict. */
bool glow_dim_meet(GlowDim a, GlowDim b, GlowDim *result);
bool glow_dim_broadcast(GlowDim a, GlowDim b, GlowDim *result);
const char *glow_dim_str(GlowContext *ctx, GlowDim d);

/* ---- Types ----------------------------------------------------------------------------------- */

static inline bool glow_type_is_ranked(const GlowType *t) {
  return t->cls == GLOW_TYPE_TENSOR && !t->unranked;
}

/* ---- Operands and results -------------------------------------------------------------------- */

static inline const GlowType *glow_infer_in(const GlowInfer *in, uint32_t i) {
  return i < in->nin ? in->in[i] : NULL;
}
static inline const GlowTensor *glow_infer_known(const GlowInfer *in, uint32_t i) {
  return i < in->nin && in->known ? in->known[i] : NULL;
}
/* The number of elements of a list operand of rank 0 or 1, if its type tells; else -1. */
int64_t glow_infer_list_length(const GlowInfer *in, uint32_t i);
/* Reports an operand, of any rank, that cannot have exactly one element. */
bool glow_infer_one_element(const GlowInfer *in, uint32_t i);
/* Sets result i, if it is wanted. */
static inline void glow_infer_put(GlowInfer *in, uint32_t i, const GlowType *t) {
  if (i < in->nout)
    in->out[i] = t;
}
/* Sets result i to base's kind and quantization over dims. Too many elements: an error, unless
 * bounds are the reason; then they become unknown. */
bool glow_infer_set(GlowInfer *in, uint32_t i, const GlowType *base, uint32_t rank,
                    const GlowDim *dims);
/* The same with every extent unknown. */
bool glow_infer_set_unknown(GlowInfer *in, uint32_t i, const GlowType *base, int64_t rank);

/* The dims of a matrix product as NumPy defines it: batch axes broadcast, then rows of a (unless a
 * vector), columns of b (unless a vector). Both are ranked. */
bool glow_infer_product(const GlowInfer *in, const GlowType *a, const GlowType *b, GlowDim *dims,
                        uint32_t *rank);

/* Axes of an operand list, made non-negative and checked for range and repetition, as a bit set. */
bool glow_infer_axes(const GlowInfer *in, const int64_t *axes, uint32_t count, uint32_t rank,
                     uint32_t *set);

#endif
