/* See map.h. */
#include "support/map.h"

#define uthash_malloc(bytes) glow_arena_alloc(m->arena, (bytes))
#define uthash_free(pointer, bytes) ((void)(pointer))
#define uthash_fatal(message) __builtin_unreachable()
#include <uthash.h>

typedef struct MapEntry {
  const void *key;
  void *value;
  UT_hash_handle hh;
} MapEntry;

struct GlowMap {
  GlowArena *arena;
  MapEntry *table;
};

GlowMap *glow_map_create(GlowArena *arena) {
  GlowMap *m = GLOW_NEW(arena, GlowMap);
  m->arena = arena;
  return m;
}

void glow_map_set(GlowMap *m, const void *key, void *value) {
  MapEntry *e = NULL;
  HASH_FIND_PTR(m->table, &key, e);
  if (!e) {
    e = GLOW_NEW(m->arena, MapEntry);
    e->key = key;
    MapEntry *table = m->table;
    HASH_ADD_PTR(table, key, e);
    m->table = table;
  }
  e->value = value;
}

void *glow_map_get(const GlowMap *m, const void *key) {
  MapEntry *e = NULL;
  HASH_FIND_PTR(m->table, &key, e);
  return e ? e->value : NULL;
}
