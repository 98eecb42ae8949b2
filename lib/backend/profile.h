/* Where the time of a run goes: what networks note for each piece of work when they are profiled.
 */
#ifndef GLOW_BACKEND_PROFILE_H
#define GLOW_BACKEND_PROFILE_H

#include "ir/ir.h"

/* A piece of work: a call of a kernel. An instruction may need several. */
typedef struct GlowProfilePiece {
  const GlowNode *node;
  const char *kernel; /* "reference": the operator's reference kernel; "interpreter": its walker */
  bool main;          /* the one of its node that the node's figures belong to */
  uint32_t calls;     /* in the last run */
  double seconds;
} GlowProfilePiece;

/* One call: it began when the event before it ended. */
typedef struct GlowProfileEvent {
  uint32_t piece;
  double end; /* seconds since the run began */
} GlowProfileEvent;

typedef struct GlowProfile {
  GlowProfilePiece *pieces; /* in the order of the program, regions included */
  GlowProfileEvent *events; /* of the last run: the first `capacity` of `nevents` */
  uint32_t npieces, capacity;
  uint64_t nevents;
  double seconds, began; /* of the last run; on the clock of glow_clock */
} GlowProfile;

#endif
