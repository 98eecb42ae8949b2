/* The interface between a walker and a reference kernel. Freestanding: reference kernels include
 * headers of kernels/ and nothing else, call nothing but memcpy, memmove and memset, and never
 * allocate (scratch is passed in). */
#ifndef GLOW_KERNELS_KERNEL_H
#define GLOW_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/kind.h"
#include "support/limits.h"
#include "support/pointer.h"

/* One operand as a kernel sees it. Extents are logical and exact. Plain layouts have strides in
 * elements per logical axis (row-major unless it is a tensorview on a port marked strided). A
 * blocked layout has nblocks > 0: blocks from left to right, with their strides. data is aligned to
 * its element. An absent operand has data == NULL and kind == GLOW_KIND_COUNT. */
typedef struct GlowBuf {
  GLOW_POINTER(void, data);
  GlowKind kind;
  uint32_t rank;
  int64_t dims[GLOW_MAX_RANK];
  int64_t strides[GLOW_MAX_RANK]; /* of the (divided) logical axes */
  uint32_t nblocks;
  uint8_t block_axis[4];
  uint32_t block_size[4];
  int64_t block_stride[4];
  bool quantized;
  float scale;
  int32_t offset;
} GlowBuf;

typedef enum GlowRunError {
  GLOW_RUN_OK,
  GLOW_RUN_INDEX,       /* an index is out of range; detail = the index */
  GLOW_RUN_SHAPE,       /* a shape breaks its claim or does not fit */
  GLOW_RUN_TRIP,        /* a loop ran past its bound */
  GLOW_RUN_VALUE,       /* an operand's value is not allowed */
  GLOW_RUN_UNSUPPORTED, /* this combination of kinds has no kernel; never after verification */
  GLOW_RUN_FAIL         /* the operator Fail */
} GlowRunError;

typedef struct GlowCall {
  GLOW_POINTER(const void, members); /* the operator's generated struct */
  uint32_t nin, nout;
  GLOW_POINTER(GlowBuf, in);
  GLOW_POINTER(GlowBuf, out);
  GLOW_POINTER(void, scratch); /* as many bytes as glow_scratch_<op> asked for, 64-byte aligned */
  int64_t detail;              /* set with an error: the offending index or extent */
} GlowCall;

/* Kernels: GlowRunError glow_kernel_<op>(GlowCall *call). A kernel of a DYNAMIC operator may lower
 * call->out[i].dims below the bounds it was given and writes packed by the lowered extents.
 * Scratch: size_t glow_scratch_<op>(const GlowCall *call). */

/* A loop over one row of an element-wise operator: p[0] is the result, p[1..] the inputs, strides
 * in elements in the same order (0: one value for the whole row), bit i of present says whether
 * input i is there. */
typedef void (*GlowRowFn)(void *const *p, const int64_t *strides, int64_t n, const void *members,
                          uint32_t present);

static inline bool glow_buf_present(const GlowBuf *b) { return b->kind != GLOW_KIND_COUNT; }
static inline int64_t glow_buf_elements(const GlowBuf *b) {
  int64_t n = 1;
  for (uint32_t i = 0; i < b->rank; i++)
    n *= b->dims[i];
  return n;
}

#endif
