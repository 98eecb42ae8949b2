/* The family `cpu`. */
#include "target/cpu/cpu.h"

static const GlowTarget targets[GLOW_ISA_COUNT] = {
#define ISA(id, name, ...)                                                                         \
  [GLOW_ISA_##id] = {name, &glow_target_family_cpu, &glow_isa[GLOW_ISA_##id]},
#include "kernels/isa.def"
#undef ISA
};

const GlowIsa *glow_cpu_isa(const GlowTarget *t) {
  return t->family == &glow_target_family_cpu ? t->machine : NULL;
}

static const GlowTarget *host(void) {
  const GlowIsa *isa = glow_isa_host();
  return isa ? &targets[isa - glow_isa] : NULL;
}

static const char *lacks(const GlowTarget *t) {
  const GlowIsa *isa = t->machine;
  return glow_isa_runs_here(isa) ? NULL : isa->features;
}

static void describe(const GlowTarget *t, GlowText *out) {
  const GlowIsa *isa = t->machine;
  glow_text_printf(out, "%-8s vectors of %2u floats", isa->arch, isa->vl);
}

const GlowTargetFamily glow_target_family_cpu = {.name = "cpu",
                                                 .about = "machine code for a CPU",
                                                 .targets = targets,
                                                 .count = GLOW_ISA_COUNT,
                                                 .host = host,
                                                 .lacks = lacks,
                                                 .describe = describe};
