/* Arenas: memory that is released all at once. One per context, module and pass. */
#ifndef GLOW_SUPPORT_ARENA_H
#define GLOW_SUPPORT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct GlowContext GlowContext;
typedef struct GlowArena GlowArena;

/* An arena that nobody has destroyed is released with its context. */
GlowArena *glow_arena_create(GlowContext *ctx);
void glow_arena_destroy(GlowArena *arena);
GlowContext *glow_arena_context(const GlowArena *arena);

/* Zeroed, aligned to 16 bytes, never NULL (see note [running out of memory]). bytes may be 0. */
void *glow_arena_alloc(GlowArena *arena, size_t bytes);
/* The same for count * size with an overflow check. */
void *glow_arena_array(GlowArena *arena, size_t count, size_t size);
void *glow_arena_copy(GlowArena *arena, const void *data, size_t bytes);
char *glow_arena_printf(GlowArena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define GLOW_NEW(arena, T) ((T *)glow_arena_alloc((arena), sizeof(T)))
#define GLOW_NEW_ARRAY(arena, T, n) ((T *)glow_arena_array((arena), (n), sizeof(T)))

/* Growable arrays in an arena: GLOW_VEC(int) v = {0}; glow_vec_push(arena, &v, 3). */
#define GLOW_VEC(T)                                                                                \
  struct {                                                                                         \
    T *data;                                                                                       \
    uint32_t count, capacity;                                                                      \
  }
/* Makes room for more items of `size` bytes and sets *capacity. Returns the array, which may have
 * moved; its first `count` items are kept. */
void *glow_vec_grow(GlowArena *arena, void *data, uint32_t count, uint32_t *capacity, size_t size);
#define glow_vec_push(arena, v, item)                                                              \
  ((v)->count == (v)->capacity                                                                     \
       ? (void)((v)->data = glow_vec_grow((arena), (v)->data, (v)->count, &(v)->capacity,          \
                                          sizeof *(v)->data))                                      \
       : (void)0,                                                                                  \
   (v)->data[(v)->count++] = (item))

#endif
