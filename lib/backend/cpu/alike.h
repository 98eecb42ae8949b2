/* Loops and epilogues that differ in numbers alone. */
#ifndef GLOW_BACKEND_CPU_ALIKE_H
#define GLOW_BACKEND_CPU_ALIKE_H

#include "codegen/codegen.h"

/* Where pieces of a list of work, and of the lists inside of it, would have the same code but for
 * constants, scales and zero points of their bodies, these become numbers in memory, which the
 * bodies read as operands: then compiled code of one serves all. Pieces that are equal, and those
 * that no other is like, stay as they are. */
void glow_share_numbers(GlowArena *arena, GlowWork *work, uint32_t count);

#endif
