/* See open.h. */
#include "backend/cpu/open.h"

#include "analysis/access.h"
#include "backend/cpu/bound.h"
#include "backend/cpu/compile.h"
#include "backend/cpu/selector.h"
#include "backend/cpu/shared.h"
#include "exec/extents.h"
#include "tensor/form.h"

struct GlowOpenProgram {
  const GlowEntry *entry;
  GlowTier tier;                    /* of the programs for other extents than the largest */
  const GlowExtent *const *defined; /* extents that follow from the symbols */
  uint32_t ndefined;
  GlowSharedPrograms *shared;
  GlowBound bound; /* of the entry's own program */
};

/* ---- Symbols --------------------------------------------------------------------------------- */

typedef struct Symbols {
  GlowArena *arena;
  GLOW_VEC(GlowEntrySymbol) found;
  GLOW_VEC(const GlowExtent *) defined; /* extents that follow from symbols */
  bool unset;                           /* a type names a symbol that no input says */
} Symbols;

static bool is_found(const Symbols *s, const GlowExtent *symbol) {
  for (uint32_t i = 0; i < s->found.count; i++)
    if (s->found.data[i].extent == symbol)
      return true;
  return false;
}

static void check_symbol(void *symbols, const GlowExtent *symbol) {
  Symbols *s = symbols;
  s->unset |= !is_found(s, symbol);
}

static void check_extent(Symbols *s, const GlowExtent *extent) {
  if (!extent->form) {
    check_symbol(s, extent);
    return;
  }
  for (uint32_t i = 0; i < s->defined.count; i++)
    if (s->defined.data[i] == extent)
      return;
  glow_vec_push(s->arena, &s->defined, extent);
  glow_form_symbols(extent->form, check_symbol, s);
}

static void check_value(Symbols *s, const GlowValue *v) {
  for (uint32_t a = 0; glow_type_is_tensor(v->type) && a < v->type->rank; a++)
    if (v->type->dims[a].extent)
      check_extent(s, v->type->dims[a].extent);
}

static void check_size(void *symbols, GlowSize *size) {
  if (size->extent)
    check_extent(symbols, size->extent);
}

static bool check_node(GlowNode *n, void *symbols) {
  glow_node_sizes(n, check_size, symbols);
  for (uint32_t i = 0; i < n->nresults; i++)
    check_value(symbols, &n->results[i]);
  return true;
}

/* The symbols that the inputs of f say, none if they do not say all that f names. */
static Symbols find_symbols(GlowArena *arena, GlowFunction *f) {
  Symbols s = {.arena = arena};
  GlowOuterValues outer = glow_function_outer_values(f, arena);
  GlowAccesses accesses = glow_function_accesses(f, arena);
  for (uint32_t i = 0; i < outer.count; i++) {
    const GlowValue *v = outer.data[i];
    const GlowAccess *access = &accesses.of[v->id];
    bool input = glow_outer_class(v) == GLOW_PLACEHOLDER && access->read && !access->written;
    bool grows = glow_outer_class(v) == GLOW_VARIABLE && (access->read || access->written);
    if (!input && !grows)
      continue;
    for (uint32_t a = 0; glow_type_is_tensor(v->type) && a < v->type->rank; a++) {
      GlowEntrySymbol symbol = {v->type->dims[a].extent, i, a};
      if (symbol.extent && !symbol.extent->form && !is_found(&s, symbol.extent))
        glow_vec_push(arena, &s.found, symbol);
    }
  }
  for (uint32_t i = 0; i < outer.count; i++)
    if (accesses.of[outer.data[i]->id].read || accesses.of[outer.data[i]->id].written)
      check_value(&s, outer.data[i]);
  glow_block_walk(f->body, check_node, &s);
  return s;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void swap_back(void *bound) { glow_bound_swap(bound); }

/* Compiles an entry while the types of f are those of the numbers. */
static bool compile_bound(GlowEntry *entry, GlowFunction *f, GlowArena *arena, GlowBound *bound,
                          const GlowRunOptions *options, const GlowEntry *same) {
  GlowDefer back;
  glow_bound_swap(bound);
  glow_defer_push(f->module->ctx, &back, swap_back, bound);
  bool ok = glow_cpu_compile_entry(entry, f, arena, options, same);
  glow_defer_pop(f->module->ctx, &back, true);
  return ok;
}

static const GlowBoundSymbol *numbers(GlowArena *arena, const GlowEntry *entry,
                                      const int64_t *extents) {
  GlowBoundSymbol *symbols = GLOW_NEW_ARRAY(arena, GlowBoundSymbol, entry->nsymbols);
  for (uint32_t i = 0; i < entry->nsymbols; i++)
    symbols[i] = (GlowBoundSymbol){entry->symbols[i].extent, extents[i]};
  return symbols;
}

/* The first definition whose extent does not lie in its range; *size is the extent. NULL: all do.
 */
static const GlowExtent *find_outside(const GlowOpenProgram *open, const int64_t *extents,
                                      int64_t *size) {
  for (uint32_t i = 0; i < open->ndefined; i++) {
    const GlowExtent *e = open->defined[i];
    *size = glow_entry_size(open->entry, e, extents);
    if (!glow_dim_allows(glow_dim_ranged(e), *size))
      return e;
  }
  return NULL;
}

/* Types for these extents. False after a diagnostic: they allow no extent that follows from them.
 */
static bool bind(GlowArena *arena, GlowFunction *f, const GlowOpenProgram *open,
                 const int64_t *extents, GlowBound *bound) {
  const GlowEntry *entry = open->entry;
  int64_t size;
  const GlowExtent *e = find_outside(open, extents, &size);
  if (e) {
    GlowContext *ctx = f->module->ctx;
    glow_error(ctx, f->src, "$%s = %s is %lld, out of %s", e->symbol, e->text, (long long)size,
               glow_extent_str(ctx, e));
    return false;
  }
  glow_bound_make(arena, f, numbers(arena, entry, extents), entry->nsymbols, bound);
  return true;
}

/* The largest extents; where definitions do not allow them, the least. */
static const int64_t *first_extents(GlowArena *arena, const GlowOpenProgram *open) {
  const GlowEntry *entry = open->entry;
  int64_t *extents = GLOW_NEW_ARRAY(arena, int64_t, entry->nsymbols), size;
  for (uint32_t i = 0; i < entry->nsymbols; i++)
    extents[i] = entry->symbols[i].extent->most;
  if (!find_outside(open, extents, &size))
    return extents;
  for (uint32_t i = 0; i < entry->nsymbols; i++)
    extents[i] = entry->symbols[i].extent->least;
  return extents;
}

bool glow_cpu_allows(const GlowEntry *entry, const int64_t *extents) {
  int64_t size;
  return !find_outside(((const GlowCpuBackend *)entry->backend)->open, extents, &size);
}

void glow_cpu_swap_types(const GlowEntry *entry) {
  GlowOpenProgram *open = ((const GlowCpuBackend *)entry->backend)->open;
  if (open)
    glow_bound_swap(entry == open->entry ? &open->bound
                                         : glow_shared_bound((GlowEntry *)(uintptr_t)entry));
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Callers see the types of the text, and there is memory for all extents. */
static void declare_types(GlowEntry *entry, GlowFunction *f, GlowArena *arena) {
  const GlowOuterValues outer = glow_function_outer_values(f, arena);
  GlowExecValue *values = (GlowExecValue *)(uintptr_t)entry->values;
  for (uint32_t i = 0; i < outer.count; i++) {
    values[i].type = outer.data[i]->type;
    values[i].room = glow_type_room(f->module->ctx, values[i].type);
  }
}

bool glow_cpu_compile_open(GlowEntry *entry, GlowFunction *f, const GlowRunOptions *options) {
  GlowArena *arena = entry->executable->arena;
  Symbols s = find_symbols(arena, f);
  if (!s.found.count || s.unset)
    return glow_cpu_compile_entry(entry, f, arena, options, NULL);
  GlowOpenProgram *open = GLOW_NEW(arena, GlowOpenProgram);
  open->entry = entry;
  open->tier = options->tier == GLOW_TIER_LIBRARY ? GLOW_TIER_LIBRARY : GLOW_TIER_AUTO;
  open->defined = s.defined.data;
  open->ndefined = s.defined.count;
  entry->symbols = s.found.data;
  entry->nsymbols = s.found.count;
  const GlowExtents declared = glow_module_extents(f->module, arena);
  entry->declared = declared.data;
  entry->ndeclared = declared.count;
  entry->loc = f->src;
  entry->extents = first_extents(arena, open);
  if (!bind(arena, f, open, entry->extents, &open->bound) ||
      !compile_bound(entry, f, arena, &open->bound, options, NULL))
    return false;
  open->shared = glow_shared_create(arena, open, entry);
  ((GlowCpuBackend *)entry->backend)->open = open;
  declare_types(entry, f, arena);
  if (!options->code_only && !((const GlowCpuBackend *)entry->backend)->plan.hosted)
    glow_cpu_plan_selector(entry, f);
  return true;
}

bool glow_open_compile(GlowOpenProgram *open, GlowEntry *made, GlowArena *arena,
                       const int64_t *extents, GlowBound *bound) {
  const GlowEntry *entry = open->entry;
  const GlowCpuBackend *b = entry->backend;
  const GlowRunOptions options = {.tier = open->tier};
  if (!bind(arena, b->function, open, extents, bound) ||
      !compile_bound(made, b->function, arena, bound, &options, entry))
    return false;
  GlowCpuBackend *backend = made->backend;
  backend->open = open;
  if (open->tier == GLOW_TIER_AUTO) {
    GlowCpuCode **code = GLOW_NEW_ARRAY(arena, GlowCpuCode *, 1);
    *code = &backend->code;
    made->background = glow_cpu_code_later(arena, code, 1);
  }
  return true;
}

GlowSharedPrograms *glow_open_shared(const GlowOpenProgram *open) { return open->shared; }

void glow_cpu_forget_programs(GlowEntry *entry) {
  GlowOpenProgram *open = ((const GlowCpuBackend *)entry->backend)->open;
  if (open && open->entry == entry)
    glow_shared_destroy(open->shared);
}
