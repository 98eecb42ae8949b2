/* Profiles of compiled networks, whose code calls GLOW_PIECE_HOOK after each piece of work. */
#ifndef GLOW_BACKEND_CPU_PROFILE_H
#define GLOW_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu.h"

/* A profile with room for the pieces of a plan, in an arena. */
GlowProfile *glow_profile_create(GlowArena *arena, const GlowCpuPlan *plan);

#endif
