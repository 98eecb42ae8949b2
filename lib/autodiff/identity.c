/* The gradient rule of Identity. */
#include "autodiff/autodiff.h"

bool glow_grad_identity(GlowGrad *g) { return glow_grad_set(g, 0, g->dy[0]); }
