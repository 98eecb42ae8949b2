/* See room.h. A block is a GlowRoom, what has been taken, what has not, and the copy. */
#include "support/room.h"

#include <string.h>

enum { UNIT = 64 };

struct GlowRoom {
  GlowContext ctx; /* the first member */
  size_t bytes;    /* of the block, less the copy */
  size_t used;     /* from the block's beginning */
  size_t most;     /* that has been used so far */
  size_t marked;   /* bytes of the copy; 0: there is no mark */
};

static size_t whole_units(size_t bytes) { return (bytes + UNIT - 1) / UNIT * UNIT; }

static uint8_t *block_of(const GlowRoom *room) { return (uint8_t *)(uintptr_t)room; }

GlowRoom *glow_room_create(void *memory, size_t bytes) {
  GlowRoom *room = memory;
  size_t head = whole_units(sizeof *room);
  if (bytes < head)
    return NULL;
  memset(room, 0, sizeof *room);
  room->bytes = bytes / UNIT * UNIT;
  room->used = room->most = head;
  room->ctx.room = room;
  return glow_context_begin(&room->ctx) ? room : NULL;
}

GlowContext *glow_room_context(GlowRoom *room) { return &room->ctx; }

void *glow_room_take(GlowRoom *room, size_t bytes) {
  if (bytes > room->bytes - room->used)
    return NULL;
  void *taken = block_of(room) + room->used;
  bytes = whole_units(bytes);
  room->used += bytes < room->bytes - room->used ? bytes : room->bytes - room->used;
  room->most = room->used > room->most ? room->used : room->most;
  return memset(taken, 0, bytes);
}

bool glow_room_mark(GlowRoom *room) {
  if (room->marked || room->used > room->bytes - room->used)
    return false;
  room->marked = room->used;
  room->bytes -= room->used;
  memcpy(block_of(room) + room->bytes, room, room->marked);
  return true;
}

void glow_room_restore(GlowRoom *room) {
  size_t most = room->most;
  memcpy(room, block_of(room) + room->bytes, room->marked);
  room->most = most;
}

size_t glow_room_needs(const GlowRoom *room) { return room->most + room->marked; }

void glow_room_destroy(GlowRoom *room) { glow_context_end(&room->ctx); }
