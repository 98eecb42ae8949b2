/* Rooms: contexts for work that is done again and again and must not allocate. All arenas of such a
 * context lie in one block of memory, which can be put back to how it was at a mark: what was
 * parsed before is there as if nothing had happened, and what was made since is gone. Where the
 * block ends, allocation throws GLOW_NO_MEMORY, as it does where memory ends. */
#ifndef GLOW_SUPPORT_ROOM_H
#define GLOW_SUPPORT_ROOM_H

#include "support/context.h"

typedef struct GlowRoom GlowRoom;

/* A context in a block of memory of the caller, aligned to 64 bytes. NULL: the block is too small
 * for an empty one. */
GlowRoom *glow_room_create(void *memory, size_t bytes);
GlowContext *glow_room_context(GlowRoom *room);
/* Marks how the room is now, in a copy at the end of the block. False: there is no space for that.
 * At most once, outside of any glow_protect. */
bool glow_room_mark(GlowRoom *room);
/* Puts the room back to the mark; outside of any glow_protect. */
void glow_room_restore(GlowRoom *room);
/* The bytes of a block that would just do for all that has been in this one so far. */
size_t glow_room_needs(const GlowRoom *room);
/* Releases what the context has outside of the block, which stays the caller's. */
void glow_room_destroy(GlowRoom *room);

/* For arenas: zeroed memory of ctx->room, in units of 64 bytes; NULL: there is no more. */
void *glow_room_take(GlowRoom *room, size_t bytes);

#endif
