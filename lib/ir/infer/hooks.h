/* Shared by the inference hooks: reading operands; setting results. */
#ifndef GLOW_IR_INFER_HOOKS_H
#define GLOW_IR_INFER_HOOKS_H

#include "ir/dims.h"
#include "ir/infer.h"
#include "ops/infer.h"

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
/* The number of elements of operand i, a list or scalar; -1 if its type does not tell. */
int64_t glow_infer_list_length(const GlowInfer *in, uint32_t i);

/* A list of integers that follow from types. */
typedef struct GlowSizes {
  uint32_t count, known; /* bit i of `known`: element i is */
  GlowSize items[GLOW_MAX_SIZES];
} GlowSizes;
/* The elements of operand i, a list or scalar of a node that is not run now: numbers, and symbols
 * where it is computed from extents. False if one of them is not known, or there are more than
 * GLOW_MAX_SIZES. */
bool glow_infer_sizes(const GlowInfer *in, uint32_t i, GlowSizes *s);
/* Reports and returns false if operand i, of any rank, cannot have exactly one element. */
bool glow_infer_one_element(const GlowInfer *in, uint32_t i);
/* Sets result i, if it is wanted. */
static inline void glow_infer_put(GlowInfer *in, uint32_t i, const GlowType *t) {
  if (i < in->nout)
    in->out[i] = t;
}
/* Sets result i to a type with the kind and quantization of `base` and these dims. Too many
 * elements are an error; but if bounds are the reason, these dims become unknown. */
bool glow_infer_set(GlowInfer *in, uint32_t i, const GlowType *base, uint32_t rank,
                    const GlowDim *dims);
/* The same with `rank` unknown dims; rank -1: unknown, too. */
bool glow_infer_set_unknown(GlowInfer *in, uint32_t i, const GlowType *base, int64_t rank);
/* A type with the kind in which a contraction of x computes: i32 of narrow operands, that of
 * operand 1 if x is stored in 16 bits beside a float, else x's. */
const GlowType *glow_infer_computed(const GlowInfer *in, const GlowType *x);

/* For a contraction whose operands 0 and 1 are multiplied: whether kinds that `stored` clauses
 * allow fit each other and its strategy. Instructions on float may read operand `direct` in 16
 * bits. */
bool glow_verify_stored(const GlowNode *n, bool is_bf16, GlowEnumBf16Order order, uint32_t direct);

/* The dims of the matrix product of a and b, as NumPy defines it: the broadcast batch axes, then
 * the rows of a (unless a is a vector) and the columns of b (unless b is a vector). a and b are
 * ranked. */
bool glow_infer_product(const GlowInfer *in, const GlowType *a, const GlowType *b, GlowDim *dims,
                        uint32_t *rank);

/* Sets *set to the axes as a bit set; negative ones count from the end. Reports axes out of range
 * and repeated ones. */
bool glow_infer_axes(const GlowInfer *in, const int64_t *axes, uint32_t count, uint32_t rank,
                     uint32_t *set);

#endif
