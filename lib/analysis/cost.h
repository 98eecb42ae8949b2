/* The cost of a graph before anything is optimized, and the cost of an instruction: static
 * estimates from types. */
#ifndef GLOW_ANALYSIS_COST_H
#define GLOW_ANALYSIS_COST_H

#include "ir/ir.h"

typedef struct GlowCost {
  int64_t macs;       /* multiply-accumulates of contractions; bodies of loops count once */
  int64_t peak_bytes; /* most bytes of computed values alive at one time, in text order */
  bool open;          /* some extents are not known: both figures leave those values out */
} GlowCost;

/* The cost of a graph or a program, regions included. Storage (inputs, outputs, weights) is not
 * counted. No two values of a graph share a buffer here, so its peak is what a memory plan without
 * any optimization needs. */
GlowCost glow_function_cost(GlowFunction *f);

/* The multiply-accumulates of a run of a block of a graph, with a Loop's body as often as the loop
 * is known to run, else once. Nodes whose extents are open are left out. */
int64_t glow_block_work(const GlowBlock *b);

/* What an instruction costs: its multiply-accumulates. If its operator has none, the bytes that it
 * reads and writes; of an instruction that only moves elements, the bytes that it writes. 0 if an
 * extent is not known. */
int64_t glow_instr_cost(const GlowNode *n);

/* The last position (GlowNode.order) at which the result v is needed. A result that is used in a
 * region of a later node is needed until that node is done. The function must be numbered, and has
 * `count` nodes. */
uint32_t glow_value_last_use(const GlowValue *v, uint32_t count);

#endif
