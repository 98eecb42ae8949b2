/* The instructions for which the CPU backend has machine kernels of its own; the others run as
 * their reference kernels. Needs neither LLVM nor the rest of the backend, so that the report of
 * glow-import may ask. */
#ifndef GLOW_BACKEND_CPU_NATIVE_H
#define GLOW_BACKEND_CPU_NATIVE_H

#include "ops/op.h"

/* NATIVE(enumerator, how select.c plans it: glow_select_<name>). Besides these, every operator with
 * a scalar body is one loop, as a stack is. */
#define GLOW_CPU_NATIVE(NATIVE)                                                                    \
  NATIVE(CAST, stack)                                                                              \
  NATIVE(CONVOLUTION, conv)                                                                        \
  NATIVE(COPY, move)                                                                               \
  NATIVE(DEQUANTIZE, stack)                                                                        \
  NATIVE(IF, if)                                                                                   \
  NATIVE(LOOP, loop)                                                                               \
  NATIVE(MAT_MUL, matmul)                                                                          \
  NATIVE(QUANTIZE, stack)                                                                          \
  NATIVE(RELAYOUT, move)                                                                           \
  NATIVE(SPLAT, stack)                                                                             \
  NATIVE(STACK, stack)

/* Whether nodes of this operator end up in machine kernels: it is one of the above, a scalar body,
 * or IRGen turns it into views and copies. */
static inline bool glow_cpu_is_native(GlowOp op) {
#define NATIVE(e, select)                                                                          \
  if (op == GLOW_OP_##e)                                                                           \
    return true;
  GLOW_CPU_NATIVE(NATIVE)
#undef NATIVE
  return glow_op_desc[op].has_scalar || glow_op_desc[op].has_irgen;
}

#endif
