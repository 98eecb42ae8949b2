/* The pieces of work that code calls back after. Pieces are numbered as code generation emits them:
 * a region's follow what stands before it. */
#include "backend/cpu/profile.h"

/* What the table calls a piece of work; NULL for what only has pieces inside. */
static const char *kernel_of(const GlowWork *w) {
  switch (w->kind) {
  case GLOW_WORK_KERNEL:
    return w->kernel->name;
  case GLOW_WORK_REFERENCE:
    return "reference";
  case GLOW_WORK_HOST:
    return "interpreter";
  case GLOW_WORK_IF:
  case GLOW_WORK_LOOP:
    break;
  }
  return NULL;
}

static uint32_t count_pieces(const GlowWork *work, uint32_t count) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++) {
    n += kernel_of(&work[i]) != NULL;
    n += count_pieces(work[i].then.data, work[i].then.count);
    n += count_pieces(work[i].otherwise.data, work[i].otherwise.count);
  }
  return n;
}

static void list_pieces(GlowProfile *p, const GlowWork *work, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const GlowWork *w = &work[i];
    if (kernel_of(w))
      p->pieces[p->npieces++] = (GlowProfilePiece){.node = glow_cpu_node(w->source), .kernel = kernel_of(w)};
    list_pieces(p, w->then.data, w->then.count);
    list_pieces(p, w->otherwise.data, w->otherwise.count);
  }
}

GlowProfile *glow_profile_create(GlowArena *arena, const GlowCpuPlan *plan) {
  GlowProfile *p = GLOW_NEW(arena, GlowProfile);
  uint32_t count = count_pieces(plan->work, plan->count);
  *p = (GlowProfile){.capacity = GLOW_PROFILE_EVENTS};
  p->pieces = GLOW_NEW_ARRAY(arena, GlowProfilePiece, count);
  p->events = GLOW_NEW_ARRAY(arena, GlowProfileEvent, GLOW_PROFILE_EVENTS);
  list_pieces(p, plan->work, plan->count);
  return p;
}
