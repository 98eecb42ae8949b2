/* Times between pieces of work, added up. */
#include "backend/interp/profile.h"

#include "support/process.h"

void glow_profile_begin(GlowProfile *p) {
  for (uint32_t i = 0; i < p->npieces; i++) {
    p->pieces[i].seconds = 0;
    p->pieces[i].calls = 0;
  }
  p->nevents = 0;
  p->seconds = 0;
  p->began = glow_clock();
}

void glow_profile_note(GlowProfile *p, uint32_t piece) {
  double now = glow_clock() - p->began;
  p->pieces[piece].seconds += now - p->seconds;
  p->pieces[piece].calls++;
  p->seconds = now;
  if (p->nevents < p->capacity)
    p->events[p->nevents] = (GlowProfileEvent){piece, now};
  p->nevents++;
}

/* The main piece of a node is the one that took longest. */
void glow_profile_end(GlowProfile *p) {
  for (uint32_t i = 0, next; i < p->npieces; i = next) {
    GlowProfilePiece *most = &p->pieces[i];
    for (next = i; next < p->npieces && p->pieces[next].node == p->pieces[i].node; next++) {
      p->pieces[next].main = false;
      if (p->pieces[next].seconds > most->seconds)
        most = &p->pieces[next];
    }
    most->main = true;
  }
}

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
