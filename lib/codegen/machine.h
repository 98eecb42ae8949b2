/* The machine to compile for, as command lines name it: LLVM's triples, CPUs and features, checked
 * against the rows of isa.def, since LLVM itself only warns. No type of LLVM appears here. */
#ifndef GLOW_CODEGEN_MACHINE_H
#define GLOW_CODEGEN_MACHINE_H

#include "support/context.h"
#include "support/text.h"
#include "target/cpu/isa.h"

/* A row, and what differs from it; NULL: as the row says. */
typedef struct GlowMachine {
  const GlowIsa *isa;
  const char *triple, *cpu;
  const char *attrs; /* beyond those of the row: "+avx512vnni,-avx512cd" */
} GlowMachine;

/* Completes a machine of which only some fields are set, and sets its row: the module's target
 * (NULL: it has none), else the best row for the CPU, else the first of the triple's family, else
 * the host's. False after a diagnostic: a name is unknown, or a field contradicts another or the
 * target. Strings live in the context. */
bool glow_machine_choose(GlowContext *ctx, const GlowIsa *target, GlowMachine *machine);

/* For -mcpu=help. */
void glow_machine_print_cpus(GlowText *out);
/* For -mattr=help: features of the family that `machine` names by its triple or CPU, else of all.
 * False after a diagnostic: it names an unknown one. */
bool glow_machine_print_attrs(GlowContext *ctx, const GlowMachine *machine, GlowText *out);

#endif
