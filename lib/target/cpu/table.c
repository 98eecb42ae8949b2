/* See table.h. */
#include "target/cpu/table.h"

#include <string.h>

const GlowTile *glow_tile_find(const GlowIsa *isa, unsigned kind, const int64_t *sizes) {
  for (const GlowTile *t = glow_tiles[isa - glow_isa]; t->name; t++) {
    if (t->kind == kind && !memcmp(t->sizes, sizes, glow_tile_desc[kind].sizes * sizeof *sizes))
      return t;
  }
  return NULL;
}
