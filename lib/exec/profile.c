/* Times between pieces of work, added up. */
#include "exec/profile.h"

#include <stdlib.h>
#include <string.h>

#include "support/process.h"

GlowProfile *glow_profile_create(const GlowProfilePiece *pieces, uint32_t count) {
  GlowProfile *p = calloc(1, sizeof *p);
  if (!p)
    return NULL;
  p->npieces = count;
  p->capacity = GLOW_PROFILE_EVENTS;
  p->pieces = malloc(((size_t)count + 1) * sizeof *pieces);
  p->events = malloc(GLOW_PROFILE_EVENTS * sizeof *p->events);
  if (!p->pieces || !p->events) {
    glow_profile_destroy(p);
    return NULL;
  }
  if (count)
    memcpy(p->pieces, pieces, count * sizeof *pieces);
  return p;
}

void glow_profile_destroy(GlowProfile *p) {
  if (!p)
    return;
  free(p->pieces);
  free(p->events);
  free(p);
}

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
