/* Questions about Loops of graphs. */
#ifndef GLOW_IR_LOOP_H
#define GLOW_IR_LOOP_H

#include "ir/ir.h"

/* How often a Loop runs, or -1 if that is not known. */
int64_t glow_loop_trips(const GlowNode *n);
/* Whether n is a Gather in the body of a Loop that reads slice i of its data in iteration i or,
 * *backwards, slice `trips` - 1 - i. */
bool glow_loop_picks(const GlowNode *loop, const GlowNode *n, int64_t trips, bool *backwards);

#endif
