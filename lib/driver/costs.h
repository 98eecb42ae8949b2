/* What it took to make an executable. */
#ifndef GLOW_DRIVER_COSTS_H
#define GLOW_DRIVER_COSTS_H

#include "exec/executable.h"
#include "support/text.h"

/* Appends a line with the seconds of each step; none if a backend runs functions as they are. */
void glow_costs_print(GlowText *out, const GlowExecutable *e);

#endif
