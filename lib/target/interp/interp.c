/* The family `interp`: the interpreter, which runs everything in the plain layout. */
#include "target/target.h"

static const GlowTarget interp = {"interp", &glow_target_family_interp, NULL};

const GlowTargetFamily glow_target_family_interp = {
    .name = "interp", .about = "the interpreter", .targets = &interp, .count = 1};
