/* The loops over rows of every element-wise operator, generated from the scalar bodies. */
#include "kernels/kernel.h"

#include "ops/elementwise.inc"
