/* The least work of a function of few nodes within so many bytes alive: a search over all orders of
 * its nodes, in which any that only computes may run again at any time. */
#ifndef GLOW_TRANSFORMS_RERUN_H
#define GLOW_TRANSFORMS_RERUN_H

#include "ir/ir.h"

/* The fewest bytes that can be alive at one time. -1 if f has too many nodes for the search. */
int64_t glow_rerun_least(GlowArena *arena, GlowFunction *f);
/* Puts f's nodes in the order, and adds the copies, that have the least work of all with at most
 * `bytes` alive. False, with nothing done, if there is no such order, or f has too many nodes. */
bool glow_rerun(GlowArena *arena, GlowFunction *f, int64_t bytes);

#endif
