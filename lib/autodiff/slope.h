/* Functions that build nodes for the derivatives that glow-tblgen makes of scalar bodies. Slopes
 * are computed in the compute type of the body: 16-bit floats as float. The product of slope and
 * derivative is rounded once, to the kind of the operand. */
#ifndef GLOW_AUTODIFF_SLOPE_H
#define GLOW_AUTODIFF_SLOPE_H

#include "autodiff/autodiff.h"
#include "lower/expand.h"

/* Operand i, the node's result, and the derivative of the result, in the compute type; truth values
 * as they are. NULL if an operand is absent. */
GlowValue *glow_slope_in(GlowExpand *e, uint32_t i);
GlowValue *glow_slope_out(GlowExpand *e);
GlowValue *glow_slope_seed(GlowExpand *e, const GlowGrad *g);
/* 0 in the kind of the derivative of the result. */
GlowValue *glow_slope_zero(const GlowGrad *g);

#endif
