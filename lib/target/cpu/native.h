/* The instructions for which the CPU backend has machine kernels of its own; the others run as
 * their reference kernels. Needs neither LLVM nor the rest of the backend, so that the report of
 * glow-import may ask. */
#ifndef GLOW_TARGET_CPU_NATIVE_H
#define GLOW_TARGET_CPU_NATIVE_H

#include "ops/op.h"

/* NATIVE(enumerator, how select.c plans it: glow_select_<name>). Besides these, every operator with
 * a scalar body is one loop, as a stack is. */
#define GLOW_CPU_NATIVE(NATIVE)                                                                    \
  NATIVE(AFFINE_GRID, affine_grid)                                                                 \
  NATIVE(ARG_MAX, arg_max)                                                                         \
  NATIVE(AVERAGE_POOL, pool)                                                                       \
  NATIVE(CAST, stack)                                                                              \
  NATIVE(COL2_IM, col2_im)                                                                         \
  NATIVE(CONCAT, concat)                                                                           \
  NATIVE(CONVOLUTION, conv)                                                                        \
  NATIVE(CONV_INTEGER, conv_integer)                                                               \
  NATIVE(CONV_TRANSPOSE, conv_transpose)                                                           \
  NATIVE(COPY, move)                                                                               \
  NATIVE(CUM_PROD, scan)                                                                           \
  NATIVE(CUM_SUM, scan)                                                                            \
  NATIVE(DEFORM_CONV, deform_conv)                                                                 \
  NATIVE(DEQUANTIZE, stack)                                                                        \
  NATIVE(DEQUANTIZE_LINEAR, stack)                                                                 \
  NATIVE(DET, det)                                                                                 \
  NATIVE(DFT, dft)                                                                                 \
  NATIVE(EXPAND, expand)                                                                           \
  NATIVE(FILTER_GRADIENT, filter_gradient)                                                         \
  NATIVE(GATHER, gather)                                                                           \
  NATIVE(GATHER_ELEMENTS, gather_elements)                                                         \
  NATIVE(GATHER_ND, gather_nd)                                                                     \
  NATIVE(GRID_SAMPLE, grid_sample)                                                                 \
  NATIVE(HALO, halo)                                                                               \
  NATIVE(IDENTITY, move)                                                                           \
  NATIVE(IF, if)                                                                                   \
  NATIVE(LOOKUP_TABLE, lookup_table)                                                               \
  NATIVE(LOOP, loop)                                                                               \
  NATIVE(LP_POOL, pool)                                                                            \
  NATIVE(MAT_MUL, matmul)                                                                          \
  NATIVE(MAT_MUL_INTEGER, mat_mul_integer)                                                         \
  NATIVE(MAT_MUL_NBITS, mat_mul_nbits)                                                             \
  NATIVE(MAX_POOL, pool)                                                                           \
  NATIVE(MAX_ROI_POOL, max_roi_pool)                                                               \
  NATIVE(MAX_UNPOOL, max_unpool)                                                                   \
  NATIVE(ONE_HOT, one_hot)                                                                         \
  NATIVE(PAD, pad)                                                                                 \
  NATIVE(QUANTIZE, stack)                                                                          \
  NATIVE(QUANTIZE_LINEAR, stack)                                                                   \
  NATIVE(REDUCE_MAX, reduce)                                                                       \
  NATIVE(REDUCE_MEAN, reduce)                                                                      \
  NATIVE(REDUCE_MIN, reduce)                                                                       \
  NATIVE(REDUCE_PROD, reduce)                                                                      \
  NATIVE(REDUCE_SUM, reduce)                                                                       \
  NATIVE(RELAYOUT, move)                                                                           \
  NATIVE(RESIZE, resize)                                                                           \
  NATIVE(REVERSE_SEQUENCE, reverse_sequence)                                                       \
  NATIVE(ROI_ALIGN, roi_align)                                                                     \
  NATIVE(SCATTER_ELEMENTS, scatter_elements)                                                       \
  NATIVE(SCATTER_ND, scatter_nd)                                                                   \
  NATIVE(SLICE, slice)                                                                             \
  NATIVE(SPLAT, stack)                                                                             \
  NATIVE(SPLIT, split)                                                                             \
  NATIVE(STACK, stack)                                                                             \
  NATIVE(TENSOR_SCATTER, tensor_scatter)                                                           \
  NATIVE(TILE, tile)                                                                               \
  NATIVE(TILED_ATTENTION, tiled_attention)                                                         \
  NATIVE(TOP_K, top_k)                                                                             \
  NATIVE(TRANSPOSE, transpose)                                                                     \
  NATIVE(TRILU, trilu)

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
