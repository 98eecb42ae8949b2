/* The family `cpu`: a target for each row of isa.def. */
#ifndef GLOW_TARGET_CPU_CPU_H
#define GLOW_TARGET_CPU_CPU_H

#include "target/cpu/isa.h"
#include "target/target.h"

#define GLOW_CPU_BLOCKS "NCHW16c"

/* The row of a target; NULL: it is of another family. */
const GlowIsa *glow_cpu_isa(const GlowTarget *t);

/* What the family answers: see GlowTargetFamily. */
uint32_t glow_cpu_choices(const GlowTarget *t, const GlowNode *n, GlowChoice choices[GLOW_CHOICES],
                          const char **why);
uint32_t glow_cpu_tile(const GlowTarget *t, const GlowNode *n, uint32_t values[GLOW_TILE_VALUES],
                       const char **why);
/* Whether the kernel of a convolution instruction that computes on float has a form for X and Y that
 * are stored in 16 bits. */
bool glow_cpu_conv_stores(const GlowIsa *isa, const GlowNode *n);
/* Whether the machine has a kernel by which a MatMul instruction of float reads a packed B in 16
 * bits, as `kind`, faster than in floats. */
bool glow_cpu_product_stores(const GlowIsa *isa, const GlowNode *n, GlowKind kind);

#endif
