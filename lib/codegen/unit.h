/* Code generation ahead of time: the programs of a module as one object, text or bitcode. No type
 * of LLVM appears here. */
#ifndef GLOW_CODEGEN_UNIT_H
#define GLOW_CODEGEN_UNIT_H

#include "codegen/codegen.h"
#include "kernels/cpu/bundle.h"

typedef enum GlowCodeForm {
  GLOW_CODE_OBJECT,
  GLOW_CODE_ASM,
  GLOW_CODE_IR,
  GLOW_CODE_BITCODE
} GlowCodeForm;

/* A program, and the checked entry that callers see:
 * int64_t symbol(const GlowBundleArguments *, const GlowParallel *, GlowFault *). */
typedef struct GlowUnitEntry {
  const char *symbol;
  const GlowProgramData *data;
  GlowLoc program; /* where its text begins */
  const GlowBundleParams *params;
  const GlowBundleSlot *slots; /* one for each storage */
} GlowUnitEntry;

typedef struct GlowUnit {
  const GlowUnitEntry *entries;
  uint32_t nentries;
  const void *weights; /* to be linked in, a whole file of weights; or NULL */
  size_t weights_size;
  /* A function that gives variables their first values, or NULL:
   * int64_t symbol(void *variables, const void *weights, int64_t weights_size). */
  const char *reset;
} GlowUnit;

/* Compiles for any row of isa.def; appends to out. False after a diagnostic. */
bool glow_codegen_unit(GlowContext *ctx, const GlowUnit *unit, const GlowCodegenOptions *options,
                       GlowCodeForm form, GlowText *out);

#endif
