/* What a graph costs before anything is optimized, and what an instruction does: static estimates
 * from types. */
#ifndef GLOW_ANALYSIS_COST_H
#define GLOW_ANALYSIS_COST_H

#include "ir/ir.h"

typedef struct GlowCost {
  int64_t macs;       /* multiply-accumulates of contractions; bodies of loops count once */
  int64_t peak_bytes; /* most bytes of computed values alive at one time, in text order */
  bool open;          /* some extents are not known: both figures leave those values out */
} GlowCost;

/* Of a function or program with its regions. Storage (inputs, outputs, weights) is not counted; of
 * a graph nothing shares a buffer, so the peak is what a plan without any optimization needs. */
GlowCost glow_function_cost(GlowFunction *f);

/* What an instruction costs: its multiply-accumulates; where its operator has none, the bytes that
 * it reads and writes, of which those count that it writes if it only moves them. 0 if an extent is
 * not known. */
int64_t glow_instr_cost(const GlowNode *n);

/* The position (GlowNode.order, of a function that is numbered and has `count` nodes) up to which
 * the result v is needed; one that is used in a region of a later node is until that node is done.
 */
uint32_t glow_value_last_use(const GlowValue *v, uint32_t count);

#endif
