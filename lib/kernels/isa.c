/* The table of machines, and the host's own cpuid. */
#include "kernels/isa.h"

#include <string.h>

const GlowIsa glow_isa[GLOW_ISA_COUNT] = {
#define ISA(id, name, triple, cpu, arch, vl, pixels, vectors, filter, features, l2)                \
  [GLOW_ISA_##id] = {name, triple, cpu, arch, vl, pixels, vectors, filter, features, l2},
#include "kernels/isa.def"
#undef ISA
};

const GlowIsa *glow_isa_find(const char *name) {
  for (size_t i = 0; i < GLOW_ISA_COUNT; i++) {
    if (strcmp(glow_isa[i].name, name) == 0)
      return &glow_isa[i];
  }
  return NULL;
}

bool glow_isa_runs_here(const GlowIsa *isa) {
#if defined(__x86_64__)
  /* __builtin_cpu_supports knows the levels of the x86-64 ABI by name; it wants literals. */
  __builtin_cpu_init();
  if (strcmp(isa->name, "x86-64-v3") == 0)
    return __builtin_cpu_supports("x86-64-v3") != 0;
  if (strcmp(isa->name, "x86-64-v4") == 0)
    return __builtin_cpu_supports("x86-64-v4") != 0;
#else
  (void)isa;
#endif
  return false;
}

const GlowIsa *glow_isa_host(void) {
  for (size_t i = GLOW_ISA_COUNT; i > 0; i--) {
    if (glow_isa_runs_here(&glow_isa[i - 1]))
      return &glow_isa[i - 1];
  }
  return NULL;
}
