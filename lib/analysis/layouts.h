/* Blocked layouts: which nodes work on them, and when two layouts put all elements in the same
 * places. */
#ifndef GLOW_ANALYSIS_LAYOUTS_H
#define GLOW_ANALYSIS_LAYOUTS_H

#include "ir/ir.h"

/* Whether v, which may be NULL, is a tensor in another layout than the plain one. */
bool glow_value_has_layout(const GlowValue *v);
/* Whether n, a pure node of a graph, reads or computes values in another layout than the plain one;
 * Relayout does not count. */
bool glow_node_has_layout(const GlowNode *n);
/* Whether a Relayout between these types leaves every element in its place. */
bool glow_layouts_agree(const GlowType *a, const GlowType *b);

#endif
