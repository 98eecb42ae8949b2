/* The row that the interpreter has for each operator; glow_kernel_table is generated from
 * the operator descriptions. A missing kernel is a link error.
 *
 * Where the compiler can, kernels are compiled twice, for any machine and for x86-64-v3; both give
 * the same bits. glow_kernels_best picks what this machine runs. */
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
   * caller. BAD_INPUT after a diagnostic; then out[i] may hold some results. */
  GlowStatus (*value)(struct GlowWalk *walk, const GlowNode *n, GlowTensor *const *in,
                      GlowTensor **out);
} GlowKernelRow;

extern const GlowKernelRow glow_kernel_table[GLOW_OP_COUNT];

/* One row of an element-wise operator with a scalar body: see gen/ops/elementwise.inc. Keyed by the
 * kind of the operator's first type variable (or of its fixed kind); NULL where there is none.
 * Quantized elements go through the float rows. */
extern const GlowRowFn glow_elementwise_rows[GLOW_OP_COUNT][GLOW_KIND_COUNT];

/* One way in which all kernels were compiled. */
typedef struct GlowKernels {
  const char *name; /* "generic", "x86-64-v3" */
  const GlowKernelRow *table;
  const GlowRowFn (*rows)[GLOW_KIND_COUNT];
  bool (*runs_here)(void);
} GlowKernels;

extern const GlowKernels glow_kernel_sets[]; /* best last */
extern const uint32_t glow_nkernel_sets;
const GlowKernels *glow_kernels_best(void);

#endif
