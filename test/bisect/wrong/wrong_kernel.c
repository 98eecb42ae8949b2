/* Reference kernels with a planted fault: that of MaxPool negates its first element. This takes the
 * place of the library's choice among kernels in glow-bisect-wrong. */
#include "backend/interp/kernel_table.h"

static GlowKernelRow rows[GLOW_OP_COUNT];

static GlowRunError negate_first(GlowCall *call) {
  GlowRunError error = glow_kernel_table[GLOW_OP_MAX_POOL].kernel(call);
  float *y = call->out[0].data;
  *y = -*y;
  return error;
}

static bool anywhere(void) { return true; }

const GlowKernels glow_kernel_sets[] = {{"wrong", rows, glow_elementwise_rows, anywhere}};
const uint32_t glow_nkernel_sets = 1;

const GlowKernels *glow_kernels_best(void) {
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++)
    rows[op] = glow_kernel_table[op];
  rows[GLOW_OP_MAX_POOL].kernel = negate_first;
  return glow_kernel_sets;
}
