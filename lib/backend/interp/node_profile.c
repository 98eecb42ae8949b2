/* See node_profile.h. */
#include "backend/interp/node_profile.h"

const char *glow_profile_operator(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  return (glow_node_is_instr(n) && d->instr) || !d->node ? d->instr : d->node;
}

GlowNodeProfile *glow_node_profile_create(GlowArena *arena) {
  GlowNodeProfile *p = GLOW_NEW(arena, GlowNodeProfile);
  p->arena = arena;
  p->pieces = glow_map_create(arena);
  p->profile.capacity = GLOW_PROFILE_EVENTS;
  p->profile.events = GLOW_NEW_ARRAY(arena, GlowProfileEvent, GLOW_PROFILE_EVENTS);
  return p;
}

void glow_node_profile_note(void *profile, const GlowNode *n) {
  GlowNodeProfile *p = profile;
  GlowProfile *base = &p->profile;
  uintptr_t number = (uintptr_t)glow_map_get(p->pieces, n);
  if (!number) {
    if (base->npieces == p->room)
      base->pieces =
          glow_vec_grow(p->arena, base->pieces, base->npieces, &p->room, sizeof *base->pieces);
    base->pieces[base->npieces++] =
        (GlowProfilePiece){.node = n, .kernel = glow_profile_operator(n)};
    number = base->npieces;
    glow_map_set(p->pieces, n, (void *)number);
  }
  glow_profile_note(base, (uint32_t)number - 1);
}
