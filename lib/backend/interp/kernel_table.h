/* The row that the interpreter has for each operator; glow_kernel_table is generated from
 * the operator descriptions. A missing kernel is a link error. */
#ifndef GLOW_BACKEND_INTERP_KERNEL_TABLE_H
#define GLOW_BACKEND_INTERP_KERNEL_TABLE_H

#include "ir/ir.h"
#include "kernels/kernel.h"

struct GlowWalk; /* the state of a graph walk */

typedef struct GlowKernelRow {
  /* Computes into given buffers: glow_kernel_<op>. NULL for operators that are lowered, have a
   * scalar body, make values on the heap, or run regions. */
  GlowRunError (*kernel)(GlowCall *call);
  /* Bytes that the kernel needs besides: glow_scratch_<op>. NULL: none. */
  size_t (*scratch)(const GlowCall *call);
  /* Makes its results itself: glow_value_<op>, for HEAP operators and for CONTROL operators of
   * graphs that have results. in[i] is NULL for absent operands; out[i] are new, owned by the
   * caller. */
  GlowStatus (*value)(struct GlowWalk *walk, const GlowNode *n, GlowTensor *const *in,
                      GlowTensor **out);
} GlowKernelRow;

extern const GlowKernelRow glow_kernel_table[GLOW_OP_COUNT];

/* One row of an element-wise operator with a scalar body: see gen/ops/elementwise.inc, which
 * elementwise.c includes. Keyed by the kind of the operator's first type variable (or of its fixed
 * kind); NULL where there is none. Quantized elements go through the float rows. */
typedef void (*GlowRowFn)(void *const *p, const int64_t *strides, int64_t n, const void *members,
                          uint32_t present);
extern const GlowRowFn glow_elementwise_rows[GLOW_OP_COUNT][GLOW_KIND_COUNT];

#endif
