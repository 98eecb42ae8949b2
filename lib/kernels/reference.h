/* Reference kernels as pieces of programs: makes a GlowCall from the addresses of a piece, and
 * calls the kernel. Freestanding. */
#ifndef GLOW_KERNELS_REFERENCE_H
#define GLOW_KERNELS_REFERENCE_H

#include "kernels/kernel.h"
#include "glow/rt.h"

typedef GlowRunError GlowReferenceFn(GlowCall *call);

/* Params of such a piece. The piece's addresses are those of this struct, of the results, of the
 * inputs, of the fault, and of scratch memory. */
typedef struct GlowReferenceParams {
  GlowCall call;       /* without addresses; what it points to stands behind it */
  int64_t nouts, nins; /* descriptions of operands, absent ones at the end included */
  int64_t op;          /* a GlowOp */
} GlowReferenceParams;

/* Copies descriptions, which a kernel may change, and gives them their addresses. */
static inline void glow_reference_operands(GlowBuf *to, const GlowBuf *from, int64_t count,
                                           void *const *at) {
  __builtin_memcpy(to, from, (size_t)count * sizeof *to);
  for (int64_t i = 0; i < count; i++)
    if (glow_buf_present(&to[i]))
      to[i].data = at[i];
}

/* Calls the kernel; a failure leaves its error and detail in the fault. */
static inline void glow_reference_call(GlowReferenceFn *kernel, void *const *ptrs) {
  const GlowReferenceParams *p = ptrs[0];
  GlowCall call = p->call;
  GlowBuf out[p->nouts + 1], in[p->nins + 1];
  void *const *ends = ptrs + 1 + call.nout + call.nin;
  glow_reference_operands(out, call.out, p->nouts, ptrs + 1);
  glow_reference_operands(in, call.in, p->nins, ptrs + 1 + call.nout);
  call.out = out;
  call.in = in;
  call.scratch = ends[1];
  GlowRunError error = kernel(&call);
  if (error == GLOW_RUN_OK)
    return;
  GlowFault *fault = ends[0];
  fault->error = error;
  fault->detail = call.detail;
}

#endif
