/* FMA bursts in assembly: compilers spill or reorder loops over this many accumulators. */
#include "driver/peak.h"

#include <stdio.h>
#include <string.h>

#include "support/process.h"

void glow_cpu_name(char *name, size_t size) {
  snprintf(name, size, "unknown processor");
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(name, size, "%s", colon + 2);
      break;
    }
  }
  if (f)
    fclose(f);
}

#if defined(__x86_64__)
enum { CHAINS = 12, STEPS = 6000 };
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLOBBER                                                                                    \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",         \
      "xmm11", "xmm14", "xmm15"
#define CLEAR(i) "vxorps %%xmm" #i ",%%xmm" #i ",%%xmm" #i "\n"
#define FMA512(i) "vfmadd231ps %%zmm14,%%zmm15,%%zmm" #i "\n"
#define FMA256(i) "vfmadd231ps %%ymm14,%%ymm15,%%ymm" #i "\n"

double glow_fma_burst(const GlowIsa *isa) {
  if (isa->vl < 8)
    return 0;
  __asm__ volatile(EACH(CLEAR) CLEAR(14) CLEAR(15)::: CLOBBER);
  double t = glow_clock();
  if (isa->vl == 16) {
    for (int i = 0; i < STEPS; i++)
      __asm__ volatile(EACH(FMA512)::: CLOBBER);
  } else {
    for (int i = 0; i < STEPS; i++)
      __asm__ volatile(EACH(FMA256)::: CLOBBER);
  }
  t = glow_clock() - t;
  return 2.0 * CHAINS * STEPS * isa->vl / t;
}
#else
double glow_fma_burst(const GlowIsa *isa) {
  (void)isa;
  return 0;
}
#endif

double glow_fma_peak(const GlowIsa *isa) {
  double best = 0;
  for (int i = 0; i < 50; i++) {
    double burst = glow_fma_burst(isa);
    best = burst > best ? burst : best;
  }
  return best;
}
