/* GlowMap: a hash map from addresses to addresses. It cannot be iterated, so the order of its
 * entries never shows. */
#ifndef GLOW_SUPPORT_MAP_H
#define GLOW_SUPPORT_MAP_H

#include "support/arena.h"

typedef struct GlowMap GlowMap;

/* An empty map, which lives as long as the arena. */
GlowMap *glow_map_create(GlowArena *arena);
void glow_map_set(GlowMap *m, const void *key, void *value);
void *glow_map_get(const GlowMap *m, const void *key); /* NULL if absent */

#endif
