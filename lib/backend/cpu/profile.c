/* The pieces of work that the walker calls back after. */
#include "backend/cpu/profile.h"

/* What the table calls a piece of work. */
static const char *kernel_of(const GlowWork *w) {
  switch (w->kind) {
  case GLOW_WORK_REFERENCE:
    return "reference";
  case GLOW_WORK_HOST:
    return "interpreter";
  default:
    return w->kernel->name;
  }
}

GlowProfile *glow_profile_create(GlowArena *arena, const GlowProgramData *program) {
  GlowProfile *p = GLOW_NEW(arena, GlowProfile);
  *p = (GlowProfile){.npieces = (uint32_t)program->npieces, .capacity = GLOW_PROFILE_EVENTS};
  p->pieces = GLOW_NEW_ARRAY(arena, GlowProfilePiece, p->npieces);
  p->events = GLOW_NEW_ARRAY(arena, GlowProfileEvent, GLOW_PROFILE_EVENTS);
  for (uint32_t i = 0; i < p->npieces; i++) {
    const GlowWork *w = program->pieces[i];
    p->pieces[i] = (GlowProfilePiece){.node = glow_cpu_node(w->source), .kernel = kernel_of(w)};
  }
  return p;
}
