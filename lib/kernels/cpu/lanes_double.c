/* Element-wise operators on lanes of double. */
#include "lanes.h"

#define GLOW_LANES_DOUBLE
#include "ops/vector.inc"
