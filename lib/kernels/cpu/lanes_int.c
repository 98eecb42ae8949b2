/* Element-wise operators on lanes of integers and bool. */
#include "lanes.h"

#define GLOW_LANES_I8
#define GLOW_LANES_I16
#define GLOW_LANES_I32
#define GLOW_LANES_I64
#define GLOW_LANES_U8
#define GLOW_LANES_U16
#define GLOW_LANES_U32
#define GLOW_LANES_U64
#define GLOW_LANES_BOOL
#include "ops/vector.inc"
