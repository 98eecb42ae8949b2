/* The lowering of LayerNormalization and RMSNormalization with a planted fault: they multiply where
 * they should divide. It takes the place of the library's file in glow-bisect-wrong. */
#include "lower/lower.h"
#include "ops/lower.h"

#define GLOW_OP_DIV GLOW_OP_MUL
#include "lower/layer_normalization.c"
