/* What faults share: finding places, picking one, and building what stands there instead. */
#ifndef GLOW_TEST_BISECT_FAULTS_H
#define GLOW_TEST_BISECT_FAULTS_H

#include "driver/passes.h"

/* Calls spoil(n, arg) for one of the nodes that fit, and counts a rewrite for each. */
bool glow_fault_run(GlowPassRun *run, bool (*fits)(const GlowNode *n), bool (*spoil)(GlowNode *n));

/* The same for graphs: the result of n becomes what `build` makes before it, under the same name.
 * Where nothing is spoilt a copy takes the place of n. Nodes have one result, static floats. */
bool glow_fault_replace(GlowPassRun *run, bool (*fits)(const GlowNode *n),
                        GlowValue *(*build)(GlowBuilder *b, GlowNode *n));
/* A copy of n before it. */
GlowNode *glow_fault_copy(GlowBuilder *b, const GlowNode *n);
/* x[start:end] along an axis. */
GlowValue *glow_fault_slice(GlowBuilder *b, GlowValue *x, uint32_t axis, int64_t start,
                            int64_t end);

#endif
