/* Rows for the tables of options of several tools. */
#ifndef GLOW_DRIVER_OPTIONS_H
#define GLOW_DRIVER_OPTIONS_H

#include "pass/pass.h"
#include "support/cmdline.h"

/* clang-format off */
/* The options of tools that have -O1 and -O2, for a GlowMath. */
#define GLOW_MATH_OPTIONS(math)                                                                    \
  {.name = "exact", .help = "-O1 and -O2 leave out passes that may change rounding",               \
   .kind = GLOW_OPT_ONE_OF, .target = &(math), .min = GLOW_MATH_EXACT},                            \
  {.name = "fast-math", .help = "-O1 and -O2 have unsafe passes, too: -0, NaN or digits may go",   \
   .kind = GLOW_OPT_ONE_OF, .target = &(math), .min = GLOW_MATH_FAST}
/* Where machine code comes from, for glow_tier_find. */
#define GLOW_TIER_OPTION(name_of_tier)                                                             \
  {.name = "tier", .value = "NAME",                                                                \
   .help = "machine code made with Glow (library), for the program (compiled), or both (auto)",          \
   .kind = GLOW_OPT_STRING, .target = &(name_of_tier), .two_dashes = true}
/* clang-format on */

#endif
