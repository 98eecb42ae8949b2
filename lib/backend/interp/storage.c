/* What a run has bound or written. */
#include "backend/interp/interp_internal.h"

#include <stdlib.h>

void glow_cells_begin(GlowContext *ctx, GlowCells *c, GlowValues *values, const GlowModule *m) {
  *c = (GlowCells){.values = values}; /* what glow_cells_end ends if the next line throws */
  c->cells = glow_malloc(ctx, (m->next_id + 1) * sizeof *c->cells);
  c->count = m->next_id;
}

void glow_cells_end(void *cells) {
  GlowCells *c = cells;
  for (uint32_t i = 0; i < c->count; i++)
    if (c->cells[i].owned)
      glow_tensor_free(c->cells[i].tensor);
  free(c->cells);
  *c = (GlowCells){0};
}

const GlowTensor *glow_cells_read(GlowCells *c, GlowStorage *s) {
  GlowTensor *t = s->value.id < c->count ? c->cells[s->value.id].tensor : NULL;
  return t ? t : glow_values_get(c->values, s);
}

GlowTensor *glow_cells_write(GlowCells *c, const GlowStorage *s, GlowTensor *t) {
  GlowCell *cell = &c->cells[s->value.id];
  GlowTensor *old = cell->owned ? cell->tensor : NULL;
  *cell = (GlowCell){.tensor = t, .owned = true, .written = true};
  return old;
}
