/* Where the time of a run goes: what an engine notes for each piece of work when it is profiled. */
#ifndef GLOW_BACKEND_INTERP_PROFILE_H
#define GLOW_BACKEND_INTERP_PROFILE_H

#include "ir/ir.h"

/* A piece of work: a call of a kernel. An instruction may need several. */
typedef struct GlowProfilePiece {
  const GlowNode *node;
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

/* A run begins: sums and events become 0. */
void glow_profile_begin(GlowProfile *p);
/* A piece of work is done. */
void glow_profile_note(GlowProfile *p, uint32_t piece);
/* A run is over. */
void glow_profile_end(GlowProfile *p);

/* What a node's operator is called in its text. */
const char *glow_profile_operator(const GlowNode *n);

/* A profile with a piece for each node, for engines that call back after each node. */
typedef struct GlowNodeProfile {
  GlowProfile profile;
  GlowArena *arena;
  uint32_t room;   /* of profile.pieces */
  GlowMap *pieces; /* node to its number from 1 on, as a pointer */
} GlowNodeProfile;

/* Lives in `arena`. */
GlowNodeProfile *glow_node_profile_create(GlowArena *arena);
/* GlowRunOptions.finished; `profile` is a GlowNodeProfile. */
void glow_node_profile_note(void *profile, const GlowNode *n);

#endif
