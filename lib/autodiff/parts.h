/* What the rules of operators on tensors build more than once. Functions return NULL if an operand
 * is, or if a node is refused. */
#ifndef GLOW_AUTODIFF_PARTS_H
#define GLOW_AUTODIFF_PARTS_H

#include "autodiff/autodiff.h"
#include "lower/lower.h"

static inline GlowValue *glow_grad_in(const GlowGrad *g, uint32_t i) {
  return glow_node_in(g->n, i);
}
/* Operand i, or NULL if it is absent, in the kind in which sums of its kind are computed. */
static inline GlowValue *glow_grad_wide(const GlowGrad *g, uint32_t i) {
  GlowValue *v = glow_node_in(g->n, i);
  return v ? glow_then_cast(g->b, v, glow_sum_kind(v->type->kind)) : NULL;
}
/* Zeros of the type of operand i. */
static inline GlowValue *glow_grad_zeros(const GlowGrad *g, uint32_t i) {
  return glow_grad_filled(g->b, glow_grad_in(g, i), 0);
}
/* dx[i] = v; false if v is NULL. */
static inline bool glow_grad_put(GlowGrad *g, uint32_t i, GlowValue *v) {
  g->dx[i] = v;
  return v != NULL;
}
/* `axis` counted from the end if it is negative. */
static inline uint32_t glow_grad_axis(int64_t axis, const GlowType *t) {
  return (uint32_t)(axis < 0 ? axis + t->rank : axis);
}

/* v in the shape of t. */
GlowValue *glow_grad_shaped(const GlowGrad *g, GlowValue *v, const GlowType *t);
/* The sum of v over these axes, which go. */
GlowValue *glow_grad_summed(const GlowGrad *g, GlowValue *v, const int64_t *axes, uint32_t count);
/* v with each element repeated along `count` axes from `first` on, up to these extents, which are
 * multiples of v's. */
GlowValue *glow_grad_repeated(const GlowGrad *g, GlowValue *v, uint32_t first,
                              const int64_t *extents, uint32_t count);
/* All elements of v as a vector. */
GlowValue *glow_grad_flat(const GlowGrad *g, GlowValue *v);
/* op(x, indices, updates), a scatter whose members say that it adds up; 16-bit floats are added as
 * floats and rounded once. */
GlowValue *glow_grad_added(const GlowGrad *g, GlowOp op, const void *members, GlowValue *x,
                           GlowValue *indices, GlowValue *updates);
/* Zeros of the type of x, to which the slices of dy are added along `axis`, where `indices` says:
 * the derivative of x by a Gather. */
GlowValue *glow_grad_scattered(const GlowGrad *g, GlowValue *x, GlowValue *dy, GlowValue *indices,
                               uint32_t axis);
/* i64: 0, 1, 2, ... in row-major order in the shape of t, whose extents are known. */
GlowValue *glow_grad_numbers(const GlowGrad *g, const GlowType *t);
/* For a node that only moves elements of operand 0: dy[0] is added to zeros of its type, each
 * element where it came from. The node is built once more, to move the numbers of the places.
 * The extents of operand 0 must be known. */
GlowValue *glow_grad_moved_back(const GlowGrad *g);
/* For a node whose results are also those of nodes that the rule has built at g->b, which may be
 * wider: its derivatives are theirs. Entries of `results` that dy has no derivative for are not
 * read. False if one is NULL, or after a diagnostic. */
bool glow_grad_through(GlowGrad *g, GlowValue *const *results);

#endif
