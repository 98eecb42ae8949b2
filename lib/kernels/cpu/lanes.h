/* Element-wise operators on one register of lanes, for epilogues and stacks:
 * glow_lanes_<operator>_<kind>, generated from the scalar bodies in lib/ops. A file defines the
 * kinds that it wants, GLOW_LANES_<KIND>, and includes ops/vector.inc. GLOW_VL lanes of every kind.
 */
#ifndef GLOW_KERNELS_CPU_LANES_H
#define GLOW_KERNELS_CPU_LANES_H

#include "vector.h"

#include "ops/scalar.h"

/* They are called by their numbers (glow_lane_names); unit.isa looks for all of them. */
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#define GLOW_LANES                                                                                 \
  _Pragma("clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL)")

#endif
