/* Element-wise operators on lanes of float. */
#include "lanes.h"

#define GLOW_LANES_FLOAT
#include "ops/vector.inc"
