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

static bool holds(const GlowIsa *isa, const GlowLimit *l, const int64_t *params) {
  const int64_t v = params[l->word];
  switch (l->form) {
  case GLOW_LIMIT_EQUAL:
    return v == l->value;
  case GLOW_LIMIT_WIDTH:
    return v == (int64_t)isa->vl * isa->tile_vectors;
  case GLOW_LIMIT_MOST:
    return v <= l->value;
  case GLOW_LIMIT_MULTIPLE:
    return v % l->value == 0;
  }
  return false;
}

const GlowFixed *glow_tile_forms(const GlowIsa *isa, unsigned kind) {
  return glow_isa_fuses(isa) ? glow_tile_desc[kind].fixed : NULL;
}

uint32_t glow_tile_form(const GlowIsa *isa, const GlowTile *tile, const int64_t *params) {
  const GlowFixed *all = glow_tile_forms(isa, tile->kind);
  for (uint32_t i = 0; all && all[i].name; i++) {
    uint32_t k = 0;
    while (k < all[i].nlimits && holds(isa, &all[i].limits[k], params))
      k++;
    if (k == all[i].nlimits)
      return i + 1;
  }
  return 0;
}

int64_t glow_tile_number(const GlowIsa *isa, const GlowTile *tile, uint32_t form) {
  const GlowTile *first = glow_tiles[isa - glow_isa];
  int64_t count = 0;
  while (first[count].name)
    count++;
  return form * count + (tile - first);
}
