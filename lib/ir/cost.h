/* What a graph costs before anything is optimized: a static estimate from its types. */
#ifndef GLOW_IR_COST_H
#define GLOW_IR_COST_H

#include "ir/ir.h"

typedef struct GlowCost {
  int64_t macs;       /* multiply-accumulates of contractions; bodies of loops count once */
  int64_t peak_bytes; /* most bytes of computed values alive at one time, in text order */
  bool open;          /* some extents are not known: both figures leave those values out */
} GlowCost;

/* Of a graph function with its regions. Storage (inputs, outputs, weights) is not counted; nothing
 * shares a buffer, so the peak is what a plan without any optimization needs. */
GlowCost glow_function_cost(GlowFunction *f);

#endif
