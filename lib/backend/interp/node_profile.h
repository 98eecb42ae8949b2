/* Profiles of engines that call back after each node. */
#ifndef GLOW_BACKEND_INTERP_NODE_PROFILE_H
#define GLOW_BACKEND_INTERP_NODE_PROFILE_H

#include "exec/profile.h"
#include "ir/ir.h"

/* What a node's operator is called in its text. */
const char *glow_profile_operator(const GlowNode *n);

/* A profile with a piece for each node that has run. */
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
