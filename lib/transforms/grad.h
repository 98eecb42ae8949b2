/* What -grad shares with -print=saved. */
#ifndef GLOW_TRANSFORMS_GRAD_H
#define GLOW_TRANSFORMS_GRAD_H

#include "pass/pass.h"

/* Appends what the gradients that the module declares would save (glow_saved_print). The module
 * stays as it is. False after a diagnostic. */
bool glow_grad_print_saved(GlowPassRun *run, GlowText *out);

/* Appends a line for each value that lives from the forward part of f, the gradient @name, into the
 * backward part, which begins at `backward` (NULL: nothing is in it): how large the value is, for
 * which operators' rules, and from what it could be computed again at once. Parameters and storage
 * live anyway. The field `scratch` of backward nodes is the node that a node stands for. */
void glow_saved_print(GlowPassRun *run, GlowFunction *f, GlowStr name, const GlowNode *backward,
                      GlowText *out);

#endif
