/* How much memory a function will have in the end: the arena that -plan-memory lays out for its
 * program. */
#ifndef GLOW_TRANSFORMS_PLANNED_H
#define GLOW_TRANSFORMS_PLANNED_H

#include "pass/pass.h"

/* The bytes of the arena behind the passes `then` (NULL: irgen and -O2; before them -O2 on graphs,
 * if an operator with a lowering rule is left), which run on a copy. -1 if they leave no program
 * with a plan; then *why (in the context) says what is wrong. */
int64_t glow_planned_bytes(const GlowPassRun *run, const GlowFunction *f, const char *then,
                           GlowStr *why);

#endif
