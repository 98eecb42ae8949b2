/* Names of machines: see machine.h. The lists are generated from LLVM's own. */
#include "codegen/machine.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

#include "support/diag.h"

typedef struct Cpu {
  const char *arch, *name;
  GlowIsaId best; /* the best row that it can run; GLOW_ISA_COUNT: none */
} Cpu;
typedef struct Attr {
  const char *arch, *name;
} Attr;

static const Cpu cpus[] = {
#define CPU(arch, name, best) {arch, name, GLOW_ISA_##best},
#define ATTR(arch, name)
#include "codegen/cpus.inc"
#undef CPU
#undef ATTR
};
static const Attr attrs[] = {
#define CPU(arch, name, best)
#define ATTR(arch, name) {arch, name},
#include "codegen/cpus.inc"
#undef CPU
#undef ATTR
};
enum { NCPUS = sizeof cpus / sizeof *cpus, NATTRS = sizeof attrs / sizeof *attrs };

/* "unknown <what> '<word>' for <arch>; did you mean '...'?", or else where the known ones are
 * listed: by an option, or right here. Always false. */
static bool unknown(GlowContext *ctx, const char *what, const char *word, const char *arch,
                    const char *const *known, size_t count, const char *option) {
  const char *near = glow_nearest(word, known, count);
  const char *hint = near     ? glow_str_printf(ctx, "; did you mean '%s'?", near)
                     : option ? glow_str_printf(ctx, "; %s=help lists what there is", option)
                              : "";
  glow_error(ctx, GLOW_NOWHERE, "unknown %s '%s'%s%s%s", what, word, *arch ? " for " : "", arch,
             hint);
  const char *list = "";
  for (size_t i = 0; i < count && !near && !option; i++)
    list = glow_str_printf(ctx, "%s%s%s", list, i ? ", " : "", known[i]);
  if (*list)
    glow_note(ctx, GLOW_NOWHERE, "there are %s", list);
  return false;
}

/* ---- Triples --------------------------------------------------------------------------------- */

/* Part `index` of a triple; "" if there is none. */
static const char *part(GlowContext *ctx, const char *triple, int index) {
  for (; index > 0 && triple; index--) {
    triple = strchr(triple, '-');
    triple = triple ? triple + 1 : NULL;
  }
  return triple ? glow_str_n(ctx, triple, strcspn(triple, "-")) : "";
}

/* The family that the first part of a triple names; NULL after a diagnostic. */
static const char *family(GlowContext *ctx, const char *triple) {
  static const char *const names[] = {"x86_64",  "amd64", "aarch64", "arm64",
                                      "riscv64", "i586",  "i686"};
  static const char *const arches[] = {"x86_64",  "x86_64", "aarch64", "aarch64",
                                       "riscv64", "i686",   "i686"};
  enum { COUNT = sizeof names / sizeof *names };
  const char *first = part(ctx, triple, 0);
  for (int i = 0; i < COUNT; i++) {
    if (strcmp(first, names[i]) == 0)
      return arches[i];
  }
  unknown(ctx, "machine", first, "", names, COUNT, NULL);
  return NULL;
}

/* arch-vendor-os-environment, where the vendor may be left out: systems with ELF. */
static bool check_system(GlowContext *ctx, const char *triple) {
  if (!*part(ctx, triple, 1)) {
    glow_error(ctx, GLOW_NOWHERE, "-mtriple=%s names no system, such as %s-unknown-linux-gnu",
               triple, part(ctx, triple, 0));
    return false;
  }
  static const char *const systems[] = {"linux",   "none",   "unknown", "elf",
                                        "freebsd", "netbsd", "openbsd"};
  enum { COUNT = sizeof systems / sizeof *systems };
  const char *second = part(ctx, triple, 1), *third = part(ctx, triple, 2);
  for (int i = 0; i < COUNT; i++) {
    size_t n = strlen(systems[i]);
    bool first_is = strcmp(second, systems[i]) == 0, is_vendor = strcmp(second, "unknown") == 0;
    /* Systems may have a version: freebsd14. */
    if (strncmp(third, systems[i], n) == 0 && strspn(third + n, "0123456789.") == strlen(third + n))
      return true;
    if (first_is && !is_vendor)
      return true;
  }
  return unknown(ctx, "system", *third ? third : second, "", systems, COUNT, NULL);
}

/* ---- CPUs and features ----------------------------------------------------------------------- */

/* The best row that a CPU of a family can run. NULL after a diagnostic. */
static const GlowIsa *row_of_cpu(GlowContext *ctx, const char *arch, const char *name) {
  const char *known[NCPUS + 2 * GLOW_ISA_COUNT];
  size_t count = 0;
  for (int i = 0; i < GLOW_ISA_COUNT; i++) {
    if (strcmp(glow_isa[i].arch, arch) != 0)
      continue;
    if (strcmp(glow_isa[i].name, name) == 0)
      return &glow_isa[i];
    known[count++] = glow_isa[i].name;
  }
  for (int i = 0; i < NCPUS; i++) {
    if (strcmp(cpus[i].arch, arch) != 0)
      continue;
    known[count++] = cpus[i].name;
    if (strcmp(cpus[i].name, name) != 0)
      continue;
    if (cpus[i].best < GLOW_ISA_COUNT)
      return &glow_isa[cpus[i].best];
    glow_error(ctx, GLOW_NOWHERE, "CPU '%s' has less than every target of %s needs", name, arch);
    return NULL;
  }
  unknown(ctx, "CPU", name, arch, known, count, "-mcpu");
  return NULL;
}

/* The family of a CPU that is given alone: the first that has it. */
static const char *arch_of_cpu(const char *name) {
  for (int i = 0; i < GLOW_ISA_COUNT; i++) {
    if (strcmp(glow_isa[i].name, name) == 0)
      return glow_isa[i].arch;
  }
  for (int i = 0; i < NCPUS; i++) {
    if (strcmp(cpus[i].name, name) == 0)
      return cpus[i].arch;
  }
  const GlowIsa *host = glow_isa_host();
  return host ? host->arch : glow_isa[0].arch;
}

static bool has_word(const char *words, const char *word, size_t length) {
  for (const char *w = words; *w; w += strspn(w, " ")) {
    size_t n = strcspn(w, " ");
    if (n == length && memcmp(w, word, n) == 0)
      return true;
    w += n;
  }
  return false;
}

/* "+a,-b": known features of the family, none that the row needs taken away. */
static bool check_attrs(GlowContext *ctx, const GlowIsa *isa, const char *list) {
  const char *known[NATTRS];
  size_t count = 0;
  for (int i = 0; i < NATTRS; i++) {
    if (strcmp(attrs[i].arch, isa->arch) == 0)
      known[count++] = attrs[i].name;
  }
  for (const char *a = list; *a; a += strspn(a, ",")) {
    size_t length = strcspn(a, ",");
    const char *name = glow_str_n(ctx, a + 1, length ? length - 1 : 0);
    if (*a != '+' && *a != '-') {
      glow_error(ctx, GLOW_NOWHERE, "-mattr: '%s' does not begin with + or -",
                 glow_str_n(ctx, a, length));
      return false;
    }
    if (!*name) {
      glow_error(ctx, GLOW_NOWHERE, "-mattr: no feature stands behind '%c'", *a);
      return false;
    }
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
      found = strcmp(known[i], name) == 0;
    if (!found)
      return unknown(ctx, "feature", name, isa->arch, known, count, "-mattr");
    if (*a == '-' && has_word(isa->features, a + 1, length - 1)) {
      glow_error(ctx, GLOW_NOWHERE, "-mattr=-%s contradicts the target %s, which needs it", name,
                 isa->name);
      return false;
    }
    a += length;
  }
  return true;
}

/* ---- The choice ------------------------------------------------------------------------------ */

/* The row of a module without a target. */
static const GlowIsa *default_row(const char *arch, const GlowIsa *cpu_row) {
  const GlowIsa *host = glow_isa_host();
  if (cpu_row)
    return cpu_row;
  for (int i = 0; arch && i < GLOW_ISA_COUNT; i++) {
    if (strcmp(glow_isa[i].arch, arch) == 0)
      return &glow_isa[i];
  }
  return host;
}

/* -mcpu=native: the CPU of this machine as LLVM knows it, with just the features that it has here.
 * NULL after a diagnostic: it is of another family. */
static const GlowIsa *use_host(GlowContext *ctx, const char *arch, GlowMachine *m) {
  const GlowIsa *host = glow_isa_host();
  if (!host || strcmp(host->arch, arch) != 0) {
    glow_error(ctx, GLOW_NOWHERE, "-mcpu=native: this machine is no %s", arch);
    return NULL;
  }
  char *name = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  m->cpu = glow_str(ctx, name);
  m->attrs = m->attrs && *m->attrs ? glow_str_printf(ctx, "%s,%s", features, m->attrs)
                                   : glow_str(ctx, features);
  LLVMDisposeMessage(name);
  LLVMDisposeMessage(features);
  return host;
}

bool glow_machine_choose(GlowContext *ctx, const GlowIsa *target, GlowMachine *m) {
  const GlowIsa *isa = target, *cpu_row = NULL;
  const char *arch = NULL, *asked = m->attrs;
  if (m->triple && (!(arch = family(ctx, m->triple)) || !check_system(ctx, m->triple)))
    return false;
  if (isa && arch && strcmp(isa->arch, arch) != 0) {
    glow_error(ctx, GLOW_NOWHERE, "-mtriple=%s contradicts the module's target %s", m->triple,
               isa->name);
    return false;
  }
  arch = isa ? isa->arch : !arch && m->cpu ? arch_of_cpu(m->cpu) : arch;
  if (m->cpu) {
    bool native = strcmp(m->cpu, "native") == 0;
    cpu_row = native ? use_host(ctx, arch, m) : row_of_cpu(ctx, arch, m->cpu);
    if (!cpu_row)
      return false;
  }
  isa = isa ? isa : default_row(arch, cpu_row);
  if (!isa) {
    glow_error(ctx, GLOW_NOWHERE, "the CPU backend has no target for this machine; name one");
    return false;
  }
  if (cpu_row && cpu_row < isa) { /* rows of a family stand in order */
    glow_error(ctx, GLOW_NOWHERE, "-mcpu=%s contradicts the module's target %s, which needs %s",
               m->cpu, isa->name, isa->features);
    return false;
  }
  if (m->cpu && glow_isa_find(m->cpu)) { /* a row's name is no CPU of LLVM's */
    m->attrs = m->attrs && *m->attrs ? glow_str_printf(ctx, "%s,%s", cpu_row->attrs, m->attrs)
                                     : cpu_row->attrs;
    m->cpu = cpu_row->cpu;
  }
  m->isa = isa;
  return !asked || check_attrs(ctx, isa, asked);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

void glow_machine_print_cpus(GlowText *out) {
  glow_text_puts(out, "Targets, then the CPUs that each is the best target for:\n");
  for (int k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    glow_text_printf(out, "\n  %s (%s): %u floats in a register; %s\n", isa->name, isa->triple,
                     isa->vl, isa->features);
    for (int i = 0; i < NCPUS; i++) {
      if (cpus[i].best == (GlowIsaId)k && strcmp(cpus[i].name, isa->name) != 0)
        glow_text_printf(out, "    %s\n", cpus[i].name);
    }
  }
}

bool glow_machine_print_attrs(GlowContext *ctx, const GlowMachine *m, GlowText *out) {
  const char *arch = "", *only = NULL;
  if (m->triple && !(only = family(ctx, m->triple)))
    return false;
  if (!only && m->cpu)
    only = arch_of_cpu(m->cpu);
  for (int i = 0; i < NATTRS; i++) {
    if (only && strcmp(only, attrs[i].arch) != 0)
      continue;
    if (strcmp(arch, attrs[i].arch) != 0)
      glow_text_printf(out, "Features of %s:\n", arch = attrs[i].arch);
    glow_text_printf(out, "  %s\n", attrs[i].name);
  }
  return true;
}
