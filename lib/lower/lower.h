/* Lowering: an operator with the trait `lower` is defined by a rule, which builds it from other
 * operators. Each family of operators has a file here.
 *
 *   bool glow_lower_<op>(GlowBuilder *b, const GlowNode *n, GlowValue **results)
 *
 * The rule builds at b what n means and fills results[i] for each result of n. It runs in the pass
 * -lower and in the interpreter, which has no kernels for such operators. It returns false without
 * a diagnostic if extents that it needs are not known (in the interpreter they always are), and
 * false after one if a node could not be built. Rules are algebra: constants that they need are
 * Splat nodes and integer lists. */
#ifndef GLOW_LOWER_LOWER_H
#define GLOW_LOWER_LOWER_H

#include "ir/ir.h"

/* A new constant i64<count> of the module, called NAME.what after n's first result. */
GlowValue *glow_constant_ints(GlowModule *m, const GlowNode *n, const char *what,
                              const int64_t *values, uint32_t count);
GlowValue *glow_constant_int(GlowModule *m, const GlowNode *n, const char *what,
                             int64_t value); /* i64<> */
/* The same of numbers of a kind. */
GlowValue *glow_constant_numbers(GlowModule *m, const GlowNode *n, const char *what, GlowKind kind,
                                 const int64_t *values, uint32_t count);
/* Splat() {value = v} : kind<>. */
GlowValue *glow_build_scalar(GlowBuilder *b, GlowKind kind, double v);
/* Sets `shape` to what Reshape must be told to turn an x into `dims`: axes of symbols that x has in
 * the same place are copied, and one open extent besides may follow from the others. False if more
 * are open. */
bool glow_reshape_list(const GlowType *x, uint32_t rank, const GlowDim *dims, int64_t *shape,
                       bool *allow_zero);
/* Reshape of x to `dims`. NULL if there is no such list, or a node is refused. */
GlowValue *glow_build_reshape(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                              const GlowDim *dims);
/* The extent of an axis of x as i64<>: a constant if it is known. NULL if a node is refused. */
GlowValue *glow_build_extent(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis);
/* Result 0 of op(x), op(x, y), ... NULL if the node is refused, or if an operand is NULL because a
 * node before was. */
GlowValue *glow_then1(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members);
GlowValue *glow_then2(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y);
GlowValue *glow_then3(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *z);
GlowValue *glow_then(GlowBuilder *b, GlowOp op, GlowValue *const *ins, uint32_t count,
                     const void *members);
/* x as elements of `kind`: x itself, or a Cast. NULL if x is. */
GlowValue *glow_then_cast(GlowBuilder *b, GlowValue *x, GlowKind kind);
/* The kind in which rules add up elements of `kind`: float for 16-bit floats, else `kind`
 * itself. */
static inline GlowKind glow_sum_kind(GlowKind kind) {
  return kind == GLOW_KIND_FLOAT16 || kind == GLOW_KIND_BFLOAT16 ? GLOW_KIND_FLOAT : kind;
}
/* Which keys is_causal, the windows and Lengths of the Attention n, without past, let a query see:
 * bool<queries x keys>, with Lengths [batch, 1, queries, keys] or [batch, 1, 1, keys]. NULL if a
 * node is refused, or if they hide none. */
GlowValue *glow_build_attention_seen(GlowBuilder *b, const GlowNode *n, GlowDim queries,
                                     GlowDim keys);
/* The Attention n, which has a past, as one without: the past stands before new keys and values,
 * and a mask hides what is_causal and windows hide. Fills in all results of n. False without a
 * diagnostic if the rule does not hold here, for extents that are not known or Lengths; after one
 * if a node is refused. */
bool glow_build_attention_without_past(GlowBuilder *b, const GlowNode *n, GlowValue **results);
/* The next five return NULL if an operand is NULL. */
/* A Transpose of x by `perm`. */
GlowValue *glow_build_permuted(GlowBuilder *b, GlowValue *x, const uint32_t *perm, uint32_t rank);
/* A Slice of x along `axis`: from start up to end by `step`, counted as Slice counts. */
GlowValue *glow_build_part(GlowBuilder *b, const GlowNode *n, GlowValue *x, int64_t axis,
                           int64_t start, int64_t end, int64_t step);
/* x with so many zeros before and behind the places of `axis`; x itself if there are none. */
GlowValue *glow_build_padded(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis,
                             int64_t before, int64_t behind);
/* A Gather of the slices `which` of x along `axis`. */
GlowValue *glow_build_picked(GlowBuilder *b, GlowValue *x, GlowValue *which, int64_t axis);
GlowValue *glow_build_concat(GlowBuilder *b, GlowValue *const *parts, uint32_t count, int64_t axis);
/* A Reshape of x to the exact extents `dims`. */
GlowValue *glow_build_shaped(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                             const int64_t *dims);
/* A Splat of this type. */
GlowValue *glow_build_filled(GlowBuilder *b, const GlowType *type, GlowScalar value);
/* A constant i64<count>: 0, step, 2 * step, ... */
GlowValue *glow_build_count(GlowBuilder *b, const GlowNode *n, int64_t count, int64_t step);
/* The vector v as a tensor of `rank` axes: its elements lie along `axis`, the other axes have
 * extent 1, so that it broadcasts. */
GlowValue *glow_build_along(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank,
                            uint32_t axis);
/* v [C] as [C, 1, ...], which broadcasts along axis 1 of a tensor of that rank. NULL if v is. */
GlowValue *glow_along_channels(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank);
/* Sqrt(ReduceMean(x * x) + epsilon) over axes, which stay with extent 1. NULL if x is. */
GlowValue *glow_build_deviation(GlowBuilder *b, GlowValue *x, GlowValue *axes, double epsilon);
/* Its Reciprocal. */
GlowValue *glow_build_inverse_deviation(GlowBuilder *b, GlowValue *x, GlowValue *axes,
                                        double epsilon);
/* ReduceMax, ReduceSum, ... of x over one axis, which stays with extent 1. */
GlowValue *glow_build_reduce(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *axes);

/* An empty region for a node at b, with the names of b's function. *inside builds in the region,
 * with the place in the source that b has. */
GlowBlock *glow_build_region(const GlowBuilder *b, const char *label, GlowBuilder *inside);

#endif
