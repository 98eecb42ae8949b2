/* What nodes do besides computing results, and whether two compute the same. */
#ifndef GLOW_ANALYSIS_EFFECTS_H
#define GLOW_ANALYSIS_EFFECTS_H

#include "ir/ir.h"

/* Whether a Call may do more than compute its results: the callee saves, or calls others. */
bool glow_call_has_effects(const GlowNode *n);
/* Whether n's regions write storage, or have a Call with effects. */
bool glow_regions_write(const GlowNode *n);
/* Whether a gradient declaration names the storage. */
bool glow_gradient_names(const GlowModule *m, GlowStr storage);
/* Whether both are the same number to the bit: 0 and -0 are not. */
bool glow_scalar_same(GlowScalar a, GlowScalar b);
/* Whether both have the same operator, members, operands, predicate and regions. Two values inside
 * of regions are the same if they are defined at the same place. Types and number of the nodes' own
 * results may differ. */
bool glow_node_computes_same(const GlowNode *a, const GlowNode *b);
/* The same for blocks, parameters and terminators included. */
bool glow_blocks_compute_same(GlowBlock *a, GlowBlock *b);

#endif
