/* The lowering of LayerNormalization and RMSNormalization with a planted fault: they divide where
 * they should multiply. It takes the place of the library's file in glow-bisect-wrong. */
#include "lower/lower.h"
#include "ops/lower.h"

#define GLOW_OP_MUL GLOW_OP_DIV
#include "lower/layer_normalization.c"
