/* The layouts that kernels take their operands in, as the kernel table says them.
 *
 * A text of the table is a layout (tensor/type.h) with `<width>` for the columns of a tile and
 * other words in `<>` for any number. A block of 1 is not written: OIHW<wi>i<width>o is OIHW16i32o,
 * OIHW3i32o or OIHW32o to a machine whose tiles have 32 columns. What a row does not mention is
 * plain. Layouts are made for packed operands, and recognized again, by the same row. */
#ifndef GLOW_TARGET_CPU_LAYOUTS_H
#define GLOW_TARGET_CPU_LAYOUTS_H

#include "target/cpu/isa.h"
#include "target/cpu/table.h"
#include "tensor/type.h"

enum { GLOW_LAYOUT_BLOCKS = 3 };

/* Whether the kernel takes an operand in a layout (NULL: plain) on a machine. blocks[i]: the size
 * of block i of the table's text; or `blocks` is NULL. */
bool glow_kernel_takes(const GlowKernel *k, const char *operand, const GlowIsa *isa,
                       const GlowLayout *layout, int64_t blocks[GLOW_LAYOUT_BLOCKS]);

/* The layout of an operand of `rank` axes by text number `which` of the row, with `number` for its
 * word other than width. */
const GlowLayout *glow_kernel_layout(GlowContext *ctx, const GlowKernel *k, const char *operand,
                                     uint32_t which, const GlowIsa *isa, int64_t number);

/* What the row says of an operand, for messages: OIHW<wi>i<width>o; "plain". */
const char *glow_kernel_layout_text(const GlowKernel *k, const char *operand);

#endif
