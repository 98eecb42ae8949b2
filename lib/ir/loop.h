/* Questions about Loops of graphs. */
#ifndef GLOW_IR_LOOP_H
#define GLOW_IR_LOOP_H

#include "ir/ir.h"

/* How often a Loop runs, or -1 if that is not known. */
int64_t glow_loop_trips(const GlowNode *n);

#endif
