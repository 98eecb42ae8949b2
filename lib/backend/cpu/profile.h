/* Profiles of compiled networks: code that is made with a hook calls it after each piece of work.
 */
#ifndef GLOW_BACKEND_CPU_PROFILE_H
#define GLOW_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu.h"

#define GLOW_PROFILE_HOOK "profile_piece"

/* A profile with room for the pieces of a plan, in an arena. */
GlowProfile *glow_profile_create(GlowArena *arena, const GlowCpuPlan *plan);
/* The hook: the fault is that of a GlowHosted. */
void glow_profile_piece(GlowFault *fault, int64_t piece);

#endif
