/* The ways in which kernels were compiled, and which of them this machine runs. */
#include "backend/interp/kernel_table.h"

static bool anywhere(void) { return true; }

#if GLOW_REF_V3
extern const GlowKernelRow glow_kernel_table_v3[GLOW_OP_COUNT];
extern const GlowRowFn glow_elementwise_rows_v3[GLOW_OP_COUNT][GLOW_KIND_COUNT];

/* What -march=x86-64-v3 may use. */
static bool has_v3(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
#endif

const GlowKernels glow_kernel_sets[] = {
    {"generic", glow_kernel_table, glow_elementwise_rows, anywhere},
#if GLOW_REF_V3
    {"x86-64-v3", glow_kernel_table_v3, glow_elementwise_rows_v3, has_v3},
#endif
};
const uint32_t glow_nkernel_sets = sizeof glow_kernel_sets / sizeof *glow_kernel_sets;

const GlowKernels *glow_kernels_best(void) {
  uint32_t i = glow_nkernel_sets;
  while (--i > 0 && !glow_kernel_sets[i].runs_here())
    ;
  return &glow_kernel_sets[i];
}
