/* Element-wise operators on one register, for epilogues and stacks: glow_vector_<operator>,
 * generated from the scalar bodies in lib/ops. */
#include "vector.h"

#include "ops/scalar.h"

#define GLOW_LANES                                                                                 \
  _Pragma("clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL)")

#include "ops/vector.inc"
