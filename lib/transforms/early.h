/* Saves as early as their values can be computed: the gradient of a weight and its update stand
 * behind the derivative that they read, so that neither it nor what the forward part has kept for
 * it stays until the end of the text. */
#ifndef GLOW_TRANSFORMS_EARLY_H
#define GLOW_TRANSFORMS_EARLY_H

#include "ir/ir.h"

/* Moves nodes whose results go into a few Saves, and nowhere else, behind the last of the others
 * that they read. Nothing changes in what f computes. */
void glow_save_early(GlowArena *arena, GlowFunction *f);

#endif
