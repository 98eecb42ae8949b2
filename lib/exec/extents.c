/* See extents.h. */
#include "exec/extents.h"

#include "tensor/form.h"

/* The first axis, in the order of the inputs, whose extent is `symbol`. */
static int64_t first_extent(const GlowEntry *e, const GlowTensor *const *inputs,
                            const GlowExtent *symbol, GlowStr *name) {
  for (uint32_t i = 0;; i++)
    for (uint32_t a = 0; inputs[i] && a < e->values[i].type->rank; a++)
      if (e->values[i].type->dims[a].extent == symbol) {
        *name = e->values[i].name;
        return inputs[i]->type->dims[a].size;
      }
}

typedef struct Agreement {
  const GlowEntry *entry;
  const GlowTensor *const *inputs;
  bool ok;
} Agreement;

/* The extent that the inputs give a symbol. False: none names it. */
static bool extent_of(void *agreement, const GlowExtent *symbol, GlowForm *f) {
  const Agreement *g = agreement;
  for (uint32_t i = 0; i < g->entry->nvalues; i++)
    for (uint32_t a = 0; g->inputs[i] && a < g->entry->values[i].type->rank; a++)
      if (g->entry->values[i].type->dims[a].extent == symbol) {
        *f = glow_form_number(g->inputs[i]->type->dims[a].size);
        return true;
      }
  return false;
}

/* Compares the extent of axis a of an input with what follows from other inputs by its definition.
 */
static void check_definition(Agreement *g, const GlowExecValue *v, uint32_t a, int64_t size) {
  const GlowExtent *e = v->type->dims[a].extent;
  GlowForm f;
  if (!glow_form_replace(e->ctx, e->form, extent_of, g, &f) || f.count || f.constant == size)
    return;
  glow_error(e->ctx, v->loc, "input '%s' has extent %lld along axis %u, but $%s = %s is %lld",
             v->name, (long long)size, a, e->symbol, e->text, (long long)f.constant);
  g->ok = false;
}

/* Compares extents that one symbol names; reports those that differ. */
static void compare_extents(GlowContext *ctx, void *arg) {
  Agreement *g = arg;
  for (uint32_t i = 0; i < g->entry->nvalues; i++) {
    const GlowExecValue *v = &g->entry->values[i];
    for (uint32_t a = 0; g->inputs[i] && a < v->type->rank; a++) {
      GlowStr other;
      const GlowDim *d = &v->type->dims[a];
      int64_t size = g->inputs[i]->type->dims[a].size;
      if (d->extent && d->extent->form)
        check_definition(g, v, a, size);
      int64_t first = d->extent ? first_extent(g->entry, g->inputs, d->extent, &other) : size;
      if (first == size)
        continue;
      glow_error(ctx, v->loc, "input '%s' has extent %lld along axis %u, but $%s is %lld by '%s'",
                 v->name, (long long)size, a, d->symbol, (long long)first, other);
      g->ok = false;
    }
  }
}

bool glow_entry_has_ranges(const GlowEntry *e) {
  for (uint32_t i = 0; i < e->nvalues; i++)
    if (e->values[i].memory == GLOW_MEMORY_PORT && glow_type_has_symbols(e->values[i].type))
      return true;
  return false;
}

GlowStatus glow_entry_check_extents(const GlowEntry *e, const GlowTensor *const *inputs) {
  Agreement g = {e, inputs, true};
  GlowStatus status = glow_protect(e->executable->ctx, compare_extents, &g);
  return status != GLOW_OK ? status : g.ok ? GLOW_OK : GLOW_BAD_INPUT;
}
