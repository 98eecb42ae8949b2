/* Where the time of a run goes: what is noted for each piece of work when a run is profiled. */
#ifndef GLOW_EXEC_PROFILE_H
#define GLOW_EXEC_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct GlowNode;

/* A piece of work: a call of a kernel. An instruction may need several. */
typedef struct GlowProfilePiece {
  const struct GlowNode *node;
  /* The machine kernel; "reference": the operator's reference kernel; "interpreter": a step of its
   * walker. If the interpreter runs everything: the operator. */
  const char *kernel;
  bool main;      /* the piece for which the figures of the node are shown */
  uint32_t calls; /* in the last run */
  double seconds;
} GlowProfilePiece;

/* One call: it began when the event before it ended. */
typedef struct GlowProfileEvent {
  uint32_t piece;
  double end; /* seconds since the run began */
} GlowProfileEvent;

enum { GLOW_PROFILE_EVENTS = 1 << 16 }; /* for the trace; sums have all */

typedef struct GlowProfile {
  GlowProfilePiece *pieces; /* the pieces of a node follow each other */
  GlowProfileEvent *events; /* of the last run: the first `capacity` of `nevents` */
  uint32_t npieces, capacity;
  uint64_t nevents;
  double seconds, began; /* until the last piece was done; on the clock of glow_clock */
} GlowProfile;

/* A profile of these pieces, which are copied. NULL: out of memory. */
GlowProfile *glow_profile_create(const GlowProfilePiece *pieces, uint32_t count);
void glow_profile_destroy(GlowProfile *p); /* NULL is ignored */
/* A run begins: sums and events become 0. */
void glow_profile_begin(GlowProfile *p);
/* A piece of work is done. */
void glow_profile_note(GlowProfile *p, uint32_t piece);
/* A run is over. */
void glow_profile_end(GlowProfile *p);

#endif
