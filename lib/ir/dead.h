/* Removing nodes that nothing uses any more; finding the only user of a value. */
#ifndef GLOW_IR_DEAD_H
#define GLOW_IR_DEAD_H

#include "ir/ir.h"

/* Removes the node n of a graph if it is pure and unused, then the nodes that only it used, and so
 * on. Does nothing if n has been removed already. */
void glow_remove_dead(GlowNode *n);
/* Removes pure, unused nodes with ids from `id` on from a block of a graph and its regions. */
void glow_remove_dead_since(GlowBlock *b, uint32_t id);
/* Removes the nodes of a block of a graph, and of its regions, that only compute and whose results
 * have no uses. Unlike -dce it takes nodes whole: a result of a Loop stays if another is used. */
void glow_remove_unneeded(GlowBlock *b);
/* The node that has the only use of v, as an operand; NULL if v has several uses, none, or one as a
 * predicate. */
GlowNode *glow_only_user(const GlowValue *v);

#endif
