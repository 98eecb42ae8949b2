/* Removing nodes that have become useless; single uses. */
#ifndef GLOW_IR_DEAD_H
#define GLOW_IR_DEAD_H

#include "ir/ir.h"

/* Removes n if it is pure and unused, then what only it used, upwards. Nothing if n is removed
 * already. */
void glow_remove_dead(GlowNode *n);
/* Removes what is pure, unused and not older than `id` from a block and its regions. */
void glow_remove_dead_since(GlowBlock *b, uint32_t id);
/* The node that is the only use of v, as an operand; NULL if there are others. */
GlowNode *glow_only_user(const GlowValue *v);

#endif
