/* Arenas: bump allocation in chunks that double from 4 KB to 1 MB, so that a small context stays
 * small and a large one does few mallocs; in a room, which has no byte too many, to 64 KB. An
 * allocation that does not fit a fresh chunk gets a chunk of its own. Nothing is freed before the
 * whole arena is.
 *
 * Under AddressSanitizer unused bytes of a chunk are poisoned and 16 of them follow each
 * allocation, so that an overrun inside a chunk is found as well; not in a room, whose bytes are
 * copied. */
#include "support/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/room.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GLOW_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(GLOW_ASAN)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
enum { RED_ZONE = 16 };
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
enum { RED_ZONE = 0 };
#endif

enum { ALIGN = 16, FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, LARGEST_IN_ROOM = 1 << 16 };

typedef struct Chunk {
  struct Chunk *next;
  size_t size; /* of data */
  size_t used;
  _Alignas(ALIGN) unsigned char data[];
} Chunk;

struct GlowArena {
  GlowContext *ctx;
  GlowArena *previous, *next; /* in ctx->arenas */
  Chunk *chunks;              /* the first one is where allocation goes on */
  size_t next_chunk;          /* size of the next chunk, header included */
};

/* Room for `bytes` and padding in whole ALIGN units; throws on overflow. */
static size_t round_up(GlowContext *ctx, size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    glow_throw(ctx, GLOW_NO_MEMORY);
  return (bytes + ALIGN - 1) / ALIGN * ALIGN + RED_ZONE;
}

/* Zeros, of the context's room or of malloc. */
static void *zeros(GlowContext *ctx, size_t bytes) {
  void *p = ctx->room ? glow_room_take(ctx->room, bytes) : calloc(1, bytes);
  if (!p)
    glow_throw(ctx, GLOW_NO_MEMORY);
  return p;
}

static Chunk *new_chunk(GlowContext *ctx, size_t bytes) {
  Chunk *c = zeros(ctx, bytes);
  c->size = bytes - sizeof(Chunk);
  if (!ctx->room)
    POISON(c->data, c->size);
  return c;
}

GlowArena *glow_arena_create(GlowContext *ctx) {
  GlowArena *arena = zeros(ctx, sizeof *arena);
  arena->ctx = ctx;
  arena->next_chunk = FIRST_CHUNK;
  arena->next = ctx->arenas;
  if (arena->next)
    arena->next->previous = arena;
  ctx->arenas = arena;
  return arena;
}

void glow_arena_destroy(GlowArena *arena) {
  if (!arena)
    return;
  if (arena->previous)
    arena->previous->next = arena->next;
  else
    arena->ctx->arenas = arena->next;
  if (arena->next)
    arena->next->previous = arena->previous;
  if (arena->ctx->room)
    return; /* what lies in a room goes with it */
  for (Chunk *c = arena->chunks; c;) {
    Chunk *next = c->next;
    UNPOISON(c->data, c->size);
    free(c);
    c = next;
  }
  free(arena);
}

GlowContext *glow_arena_context(const GlowArena *arena) { return arena->ctx; }

/* Takes `need` bytes (a rounded size) from chunk `c`. The caller may touch the first `bytes`. */
static void *take(Chunk *c, size_t need, size_t bytes) {
  void *p = c->data + c->used;
  c->used += need;
  UNPOISON(p, bytes);
  return p;
}

void *glow_arena_alloc(GlowArena *arena, size_t bytes) {
  size_t need = round_up(arena->ctx, bytes ? bytes : 1);
  Chunk *c = arena->chunks;
  if (c && c->size - c->used >= need)
    return take(c, need, bytes);

  if (need > (arena->next_chunk - sizeof(Chunk)) / 2) {
    /* Large: a chunk of its own, behind the current chunk, which stays the current one. */
    Chunk *own = new_chunk(arena->ctx, need + sizeof(Chunk));
    own->next = c ? c->next : NULL;
    *(c ? &c->next : &arena->chunks) = own;
    return take(own, need, bytes);
  }
  Chunk *fresh = new_chunk(arena->ctx, arena->next_chunk);
  fresh->next = c;
  arena->chunks = fresh;
  if (arena->next_chunk < (arena->ctx->room ? LARGEST_IN_ROOM : LARGEST_CHUNK))
    arena->next_chunk *= 2;
  return take(fresh, need, bytes);
}

void *glow_arena_array(GlowArena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    glow_throw(arena->ctx, GLOW_NO_MEMORY);
  return glow_arena_alloc(arena, bytes);
}

void *glow_arena_copy(GlowArena *arena, const void *data, size_t bytes) {
  void *p = glow_arena_alloc(arena, bytes);
  if (bytes)
    memcpy(p, data, bytes);
  return p;
}

char *glow_arena_printf(GlowArena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) {
    va_end(again);
    glow_throw(arena->ctx, GLOW_NO_MEMORY);
  }
  char *s = glow_arena_alloc(arena, (size_t)length + 1);
  vsnprintf(s, (size_t)length + 1, format, again);
  va_end(again);
  return s;
}

void *glow_vec_grow(GlowArena *arena, void *data, uint32_t count, uint32_t *capacity, size_t size) {
  uint32_t old = *capacity;
  if (old > UINT32_MAX / 2)
    glow_throw(arena->ctx, GLOW_NO_MEMORY);
  uint32_t larger = old ? 2 * old : 4;
  size_t bytes = (size_t)larger * size;

  /* The newest allocation of the current chunk grows in place. */
  Chunk *c = arena->chunks;
  if (c && data) {
    size_t had = round_up(arena->ctx, (size_t)old * size), need = round_up(arena->ctx, bytes);
    unsigned char *top = c->data + c->used;
    if (had <= c->used && (unsigned char *)data == top - had && need - had <= c->size - c->used) {
      c->used += need - had;
      UNPOISON(data, bytes);
      *capacity = larger;
      return data;
    }
  }
  void *fresh = glow_arena_array(arena, larger, size);
  if (count)
    memcpy(fresh, data, (size_t)count * size);
  *capacity = larger;
  return fresh;
}
