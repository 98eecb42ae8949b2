/* Profiles of compiled networks, whose walker calls a hook after each piece. */
#ifndef GLOW_BACKEND_CPU_PROFILE_H
#define GLOW_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu.h"

/* A profile with room for the pieces of a plan, in an arena. */
GlowProfile *glow_profile_create(GlowArena *arena, const GlowProgramData *program);

#endif
