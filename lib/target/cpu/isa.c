/* The table of machines, and what the host says that it is. */
#include "target/cpu/isa.h"

#include <string.h>

#if defined(__riscv) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

const GlowIsa glow_isa[GLOW_ISA_COUNT] = {
#define ISA(id, name, triple, cpu, march, ref, base, arch, vl, pixels, vectors, features, l1, l2,  \
            attrs, abi)                                                                            \
  [GLOW_ISA_##id] = {name,    triple,   cpu, march, GLOW_ISA_##ref, arch, vl, pixels,              \
                     vectors, features, l1,  l2,    attrs,          abi},
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

GlowCpuNumbers glow_isa_numbers(const GlowIsa *isa) {
  return (GlowCpuNumbers){.vl = isa->vl,
                          .tile_pixels = isa->tile_pixels,
                          .tile_vectors = isa->tile_vectors,
                          .l1 = isa->l1,
                          .l2 = isa->l2,
                          .fours = strstr(isa->features, "vnni") != NULL,
                          .squares = strstr(isa->features, "amx-int8") != NULL,
                          .pairs = strstr(isa->features, "avx512bf16") != NULL};
}

bool glow_isa_fuses(const GlowIsa *isa) {
  return strstr(isa->features, "fma") || !strcmp(isa->arch, "aarch64") ||
         !strcmp(isa->arch, "riscv64");
}

int64_t glow_isa_chunk(const GlowIsa *isa, int64_t k) {
  GlowCpuNumbers cpu = glow_isa_numbers(isa);
  return glow_product_chunk(&cpu, k);
}

#if defined(__x86_64__)
/* Whether this process may use the tiles of AMX, for which it must ask Linux once. */
static bool may_use_tiles(void) {
#if defined(__linux__)
  enum { ASK = 0x1023, TILES = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  static atomic_int answer;          /* 0: not asked yet; 1: yes; 2: no */
  int known = atomic_load(&answer);
  if (!known) {
    known = syscall(SYS_arch_prctl, ASK, TILES) == 0 ? 1 : 2;
    atomic_store(&answer, known);
  }
  return known == 1;
#else
  return false;
#endif
}
#endif

bool glow_isa_runs_here(const GlowIsa *isa) {
  switch ((GlowIsaId)(isa - glow_isa)) {
#if defined(__x86_64__)
    /* __builtin_cpu_supports knows the levels of the x86-64 ABI by name; it wants literals. */
  case GLOW_ISA_X86_64_V2:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v2") != 0;
  case GLOW_ISA_X86_64_V3:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v3") != 0;
  case GLOW_ISA_X86_64_V3_VNNI:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v3") && __builtin_cpu_supports("avxvnni");
  case GLOW_ISA_X86_64_V4:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4") != 0;
  case GLOW_ISA_X86_64_V4_VNNI:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
  case GLOW_ISA_X86_64_V4_BF16:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bf16");
  case GLOW_ISA_X86_64_V4_AMX:
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
           __builtin_cpu_supports("amx-bf16") &&
           may_use_tiles();
#elif defined(__aarch64__)
  case GLOW_ISA_AARCH64:
    return true;
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_float_abi_double)
  case GLOW_ISA_RV64GC:
    return true;
#if defined(__linux__)
  case GLOW_ISA_RV64GCV: /* a bit for each letter */
    return getauxval(AT_HWCAP) >> ('V' - 'A') & 1;
#endif
#endif
  default:
    return false;
  }
}

/* Whether a row that runs here may be the best one: VDPBF16PS of machines other than AMD's takes
 * twice as long as a multiply-add. */
static bool is_fast_here(const GlowIsa *isa) {
#if defined(__x86_64__)
  return isa != &glow_isa[GLOW_ISA_X86_64_V4_BF16] || __builtin_cpu_is("amd");
#else
  (void)isa;
  return true;
#endif
}

const GlowIsa *glow_isa_host(void) {
  for (size_t i = GLOW_ISA_COUNT; i > 0; i--) {
    if (glow_isa_runs_here(&glow_isa[i - 1]) && is_fast_here(&glow_isa[i - 1]))
      return &glow_isa[i - 1];
  }
  return NULL;
}
