/* Reference kernels in compiled programs, which link the kernel beside. */
#include "kernels/reference.h"

void glow_reference(GlowReferenceFn *kernel, void *const *ptrs);

void glow_reference(GlowReferenceFn *kernel, void *const *ptrs) {
  glow_reference_call(kernel, ptrs);
}
