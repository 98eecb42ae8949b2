/* Lowering: an operator with the trait `lower` is defined by its rule, a file for each
 * family here.
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
/* Splat() {value = v} : kind<>. */
GlowValue *glow_build_scalar(GlowBuilder *b, GlowKind kind, double v);
/* Reshape of x to `dims`; one extent may be open. NULL if more are, or a node is refused. */
GlowValue *glow_build_reshape(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                              const GlowDim *dims);
/* The extent of an axis of x as i64<>: a constant if it is known. NULL if a node is refused. */
GlowValue *glow_build_extent(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t axis);
/* op(x), op(x, y), ..., result 0; NULL if an operand is NULL because a node before was refused. */
GlowValue *glow_then1(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members);
GlowValue *glow_then2(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y);
GlowValue *glow_then3(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *z);
GlowValue *glow_then(GlowBuilder *b, GlowOp op, GlowValue *const *ins, uint32_t count,
                     const void *members);
/* x as elements of `kind`: x itself, or a Cast. NULL if x is. */
GlowValue *glow_then_cast(GlowBuilder *b, GlowValue *x, GlowKind kind);
/* The kind in which rules sum what may not fit into 16 bits: float for these, else `kind`. */
static inline GlowKind glow_sum_kind(GlowKind kind) {
  return kind == GLOW_KIND_FLOAT16 || kind == GLOW_KIND_BFLOAT16 ? GLOW_KIND_FLOAT : kind;
}
/* x with its axes permuted; the elements of axis `axis` from start up to end by `step`, as Slice
 * counts; slices `which` of an axis. NULL if an operand is. */
GlowValue *glow_build_permuted(GlowBuilder *b, GlowValue *x, const uint32_t *perm, uint32_t rank);
GlowValue *glow_build_part(GlowBuilder *b, const GlowNode *n, GlowValue *x, int64_t axis,
                           int64_t start, int64_t end, int64_t step);
GlowValue *glow_build_picked(GlowBuilder *b, GlowValue *x, GlowValue *which, int64_t axis);
GlowValue *glow_build_concat(GlowBuilder *b, GlowValue *const *parts, uint32_t count, int64_t axis);
/* x with the shape `dims`, and one number as a tensor of it. */
GlowValue *glow_build_shaped(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t rank,
                             const int64_t *dims);
GlowValue *glow_build_filled(GlowBuilder *b, const GlowType *type, GlowScalar value);
/* A constant i64<count>: 0, 1, ..., or each times `step`. */
GlowValue *glow_build_count(GlowBuilder *b, const GlowNode *n, int64_t count, int64_t step);
/* v [k] as a tensor of `rank` whose axis `axis` it is, the others being 1: it broadcasts. */
GlowValue *glow_build_along(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank,
                            uint32_t axis);
/* v [C] as [C, 1, ...], which broadcasts along axis 1 of a tensor of that rank. NULL if v is. */
GlowValue *glow_along_channels(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank);
/* Sqrt(ReduceMean(x * x) + epsilon) over axes, which stay with extent 1. NULL if x is. */
GlowValue *glow_build_deviation(GlowBuilder *b, GlowValue *x, GlowValue *axes, double epsilon);
/* ReduceMax, ReduceSum, ... of x over one axis, which stays with extent 1. */
GlowValue *glow_build_reduce(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *axes);

#endif
