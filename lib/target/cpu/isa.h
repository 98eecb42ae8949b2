/* The machines of isa.def, and which of them this host can run. No LLVM needed. */
#ifndef GLOW_TARGET_CPU_ISA_H
#define GLOW_TARGET_CPU_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cpu/setup/setup.h"

typedef enum GlowIsaId {
#define ISA(id, ...) GLOW_ISA_##id,
#include "kernels/isa.def"
#undef ISA
  GLOW_ISA_COUNT
} GlowIsaId;

/* One row; see isa.def for the columns. */
typedef struct GlowIsa {
  const char *name, *triple, *cpu, *march;
  GlowIsaId ref;
  const char *arch;
  uint32_t vl, tile_pixels, tile_vectors;
  const char *features;
  int64_t l1, l2;
  const char *attrs, *abi;
} GlowIsa;

extern const GlowIsa glow_isa[GLOW_ISA_COUNT];

/* What setups know of a row. */
GlowCpuNumbers glow_isa_numbers(const GlowIsa *isa);
/* glow_product_chunk of a row: what packed right operands of products are cut into. */
int64_t glow_isa_chunk(const GlowIsa *isa, int64_t k);

/* Whether the row's machines multiply and add in one instruction. */
bool glow_isa_fuses(const GlowIsa *isa);
/* The row called `name`, or NULL. */
const GlowIsa *glow_isa_find(const char *name);
/* Whether this host has everything that the row needs. */
bool glow_isa_runs_here(const GlowIsa *isa);
/* The last row that this host can run, or NULL. */
const GlowIsa *glow_isa_host(void);

#endif
