/* See extents.h. */
#include "exec/extents.h"

#include "tensor/form.h"

typedef struct Agreement {
  const GlowEntry *entry;
  const GlowState *state;
  const GlowTensor *const *inputs;
  bool tell; /* with diagnostics; without, nothing of the context is touched */
  bool ok;
} Agreement;

/* Whether v is a variable that grows and takes part in runs. */
static bool is_growing(const GlowExecValue *v) {
  return v->memory == GLOW_MEMORY_VARIABLE && (v->read || v->written) && glow_type_grows(v->type);
}

int64_t glow_entry_extent(const GlowEntry *e, const GlowState *s, const GlowTensor *const *inputs,
                          uint32_t i, uint32_t axis) {
  const GlowExecValue *v = &e->values[i];
  const GlowTensor *t = inputs ? inputs[i] : NULL;
  if (is_growing(v))
    t = s ? s->values[i] : NULL;
  return t ? t->type->dims[axis].size : -1;
}

static int64_t extent_at(const Agreement *g, uint32_t i, uint32_t axis) {
  return glow_entry_extent(g->entry, g->state, g->inputs, i, axis);
}

/* The first axis, in the order of the values, whose extent is `symbol`. -1: none says it. */
static int64_t first_extent(const Agreement *g, const GlowExtent *symbol, GlowStr *name) {
  const GlowEntry *e = g->entry;
  for (uint32_t i = 0; i < e->nvalues; i++)
    for (uint32_t a = 0; a < e->values[i].type->rank; a++) {
      int64_t size = e->values[i].type->dims[a].extent == symbol ? extent_at(g, i, a) : -1;
      if (size < 0)
        continue;
      *name = e->values[i].name;
      return size;
    }
  return -1;
}

/* The extent that inputs and variables give a symbol. False: none names it. */
static bool extent_of(void *agreement, const GlowExtent *symbol, GlowForm *f) {
  GlowStr name;
  int64_t size = first_extent(agreement, symbol, &name);
  *f = glow_form_number(size);
  return size >= 0;
}

typedef struct Numbers {
  const GlowEntry *entry;
  const int64_t *extents; /* of its symbols */
} Numbers;

static bool number_of(void *numbers, const GlowExtent *symbol, GlowForm *f) {
  const Numbers *n = numbers;
  for (uint32_t i = 0; i < n->entry->nsymbols; i++)
    if (n->entry->symbols[i].extent == symbol) {
      *f = glow_form_number(n->extents[i]);
      return true;
    }
  return false;
}

int64_t glow_entry_size(const GlowEntry *e, const GlowExtent *extent, const int64_t *extents) {
  Numbers n = {e, extents};
  int64_t size;
  return glow_extent_number(extent, number_of, &n, &size) ? size : -1;
}

/* Compares the extent of axis a of an input with what follows from other inputs by its definition.
 */
static void check_definition(Agreement *g, const GlowExecValue *v, uint32_t a, int64_t size) {
  const GlowExtent *e = v->type->dims[a].extent;
  int64_t follows;
  if (!glow_extent_number(e, extent_of, g, &follows) || follows == size)
    return;
  g->ok = false;
  if (g->tell)
    glow_error(e->ctx, v->loc, "input '%s' has extent %lld along axis %u, but $%s = %s is %lld",
               v->name, (long long)size, a, e->symbol, e->text, (long long)follows);
}

/* Compares the extent of axis a of value i with the others that have its symbol. */
static void check_extent(Agreement *g, uint32_t i, uint32_t a) {
  const GlowExecValue *v = &g->entry->values[i];
  const GlowDim *d = &v->type->dims[a];
  int64_t size = d->extent ? extent_at(g, i, a) : -1;
  GlowStr other;
  if (size < 0)
    return;
  if (d->extent->form)
    check_definition(g, v, a, size);
  int64_t first = first_extent(g, d->extent, &other);
  if (first == size)
    return;
  g->ok = false;
  if (g->tell)
    glow_error(d->extent->ctx, v->loc,
               "%s '%s' has extent %lld along axis %u, but $%s is %lld by '%s'",
               v->memory == GLOW_MEMORY_VARIABLE ? "variable" : "input", v->name, (long long)size,
               a, d->symbol, (long long)first, other);
}

/* Compares what follows from extents with its range. */
static void check_range(Agreement *g, const GlowExtent *e) {
  int64_t size;
  if (!e->form || !glow_extent_number(e, extent_of, g, &size) ||
      glow_dim_allows(glow_dim_ranged(e), size))
    return;
  g->ok = false;
  if (g->tell)
    glow_error(e->ctx, g->entry->loc, "$%s = %s is %lld, out of %s", e->symbol, e->text,
               (long long)size, glow_extent_str(e->ctx, e));
}

static void check_all(Agreement *g) {
  for (uint32_t i = 0; i < g->entry->nvalues; i++)
    for (uint32_t a = 0; a < g->entry->values[i].type->rank; a++)
      check_extent(g, i, a);
  for (uint32_t i = 0; i < g->entry->ndeclared && g->ok; i++)
    check_range(g, g->entry->declared[i]);
}

bool glow_entry_has_ranges(const GlowEntry *e) {
  for (uint32_t i = 0; i < e->nvalues; i++)
    if (is_growing(&e->values[i]) ||
        (e->values[i].memory == GLOW_MEMORY_PORT && glow_type_has_symbols(e->values[i].type)))
      return true;
  return false;
}

bool glow_entry_extents_agree(const GlowEntry *e, const GlowState *s,
                              const GlowTensor *const *inputs) {
  Agreement g = {e, s, inputs, false, true};
  check_all(&g);
  return g.ok;
}

static void tell_all(GlowContext *ctx, void *agreement) {
  (void)ctx;
  check_all(agreement);
}

GlowStatus glow_entry_report_extents(const GlowEntry *e, const GlowState *s,
                                     const GlowTensor *const *inputs) {
  Agreement g = {e, s, inputs, true, true};
  GlowStatus status = glow_protect(e->executable->ctx, tell_all, &g);
  return status != GLOW_OK ? status : GLOW_BAD_INPUT;
}
