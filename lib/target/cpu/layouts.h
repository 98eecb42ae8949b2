/* Layouts: what passes share that choose them, or change them for another machine.
 *
 * Activations of two-dimensional convolutions and pools are NCHW16c on every target. Filters are
 * packed as the kernels of a target read them (isa.def), so they are what a change of the target
 * changes; so are constant right operands of products. Nothing here affects a result. */
#ifndef GLOW_TARGET_CPU_LAYOUTS_H
#define GLOW_TARGET_CPU_LAYOUTS_H

#include "ir/ir.h"
#include "target/cpu/isa.h"

#define GLOW_CHANNEL_BLOCK 16

/* A layout that is known to be well formed. */
const GlowLayout *glow_layout_named(GlowContext *ctx, const char *text, uint32_t rank);

/* How a convolution, node or instruction, works on blocks of channels. */
typedef struct GlowConvLayouts {
  const GlowLayout *filter;
  bool reads_plain; /* has less than a block of input channels: X may be plain, Y is blocked */
} GlowConvLayouts;
/* False, with *why, if it only works on plain operands. */
bool glow_conv_layouts(const GlowIsa *isa, const GlowNode *n, GlowConvLayouts *l, const char **why);

/* The operand that kernels read packed, of a convolution, node or instruction, its filter, of a
 * product of float by one matrix this matrix, with its layout for a machine, NULL if that is plain.
 * False if n has no such operand. */
bool glow_packed_operand(const GlowIsa *isa, const GlowNode *n, uint32_t *port,
                         const GlowLayout **layout);

#endif
