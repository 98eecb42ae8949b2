/* See selector.h. The memory of a selector is a struct Selector with what runs keep pointers to,
 * which stays where it is, and the room. */
#include "backend/cpu/selector.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/bound.h"
#include "backend/cpu/compile.h"
#include "backend/cpu/isolate.h"
#include "backend/cpu/library.h"
#include "exec/memory.h"
#include "support/room.h"

enum {
  TRIALS = 5,           /* sets of extents for which compiling selects */
  LEAST_ROOM = 1 << 22, /* bytes of the first room that is tried */
  MOST_ROOM = 1 << 30,
  SLACK = 1 << 16, /* what a room has behind what trials needed, besides an eighth */
  MORE = 2         /* executions have 1 + 1 / MORE of the scratch memory that trials needed */
};

struct GlowSelectorText {
  GlowBytes text; /* the program alone, constants without their values */
  uint32_t nopen; /* values whose types are not static */
  size_t room;    /* bytes */
};

/* Types that values of the program have now, for an open value each. */
typedef struct OpenTypes {
  GlowType before, after;
} OpenTypes;

typedef struct Selector {
  GlowEntry entry; /* the first member: GlowExecution.now */
  GlowCpuBackend backend;
  const GlowEntry *whole; /* the entry of the executable */
  GlowExecValue *values;
  OpenTypes *types;
  GlowRoom *room;
  GlowBoundSymbol *symbols; /* of the text, in the order of whole->symbols */
} Selector;

/* ---- Selecting ------------------------------------------------------------------------------- */

/* *to = t in the words of the executable's context, where `declared` is from. */
static const GlowType *keep_type(GlowType *to, const GlowType *t, const GlowType *declared) {
  *to = *t;
  to->layout = declared->layout;
  return to;
}

/* What the values are at these extents. False: one has extents that only its run would know. */
static bool describe_values(Selector *x) {
  const GlowCpuBackend *b = &x->backend;
  OpenTypes *types = x->types;
  for (uint32_t i = 0; i < x->whole->nvalues; i++) {
    const GlowExecValue *declared = &x->whole->values[i];
    const GlowValue *v = b->plan.outer[i];
    GlowDim rows;
    if (glow_type_is_static(declared->type) || (!declared->read && !declared->written))
      continue;
    if (!glow_type_is_static(v->type))
      return false;
    x->values[i].before = keep_type(&types->before, v->type, declared->type);
    x->values[i].after = NULL;
    if (declared->memory == GLOW_MEMORY_VARIABLE && glow_function_rows(b->function, v, &rows)) {
      x->values[i].after = keep_type(&types->after, v->type, declared->type);
      types->after.dims[0] = rows;
    }
    types++;
  }
  return true;
}

typedef struct Selection {
  Selector *selector;
  const int64_t *extents;
  bool ok;
} Selection;

static void select_program(GlowContext *ctx, void *selection) {
  Selection *s = selection;
  Selector *x = s->selector;
  GlowCpuBackend *b = &x->backend;
  GlowEntry *e = &x->entry;
  const GlowIsa *isa = b->code.options.isa;
  GlowArena *arena = glow_arena_create(ctx);
  GlowSilence silence;
  GlowBound bound;
  glow_silence_begin(ctx, &silence);
  for (uint32_t i = 0; i < x->whole->nsymbols; i++)
    x->symbols[i].size = s->extents[i];
  glow_bound_make(arena, b->function, x->symbols, x->whole->nsymbols, &bound);
  glow_bound_swap(&bound); /* until the room is put back */
  size_t bytes = x->whole->nsymbols * sizeof *s->extents;
  bool others = memcmp(s->extents, x->whole->extents, bytes) != 0;
  bool planned = others ? glow_cpu_plan_closer(arena, b->function, isa, &b->plan)
                        : glow_cpu_plan(arena, b->function, isa, &b->plan);
  s->ok = planned && !b->plan.hosted && b->plan.nouter == x->whole->nvalues && describe_values(x);
  if (s->ok) {
    b->data = glow_cpu_program(arena, &b->plan, isa);
    e->program = glow_library_bind(ctx, arena, isa, b->data, true, &e->code);
    s->ok = e->program != NULL;
  }
  e->memory = b->plan.arena;
  e->scratch = b->plan.scratch;
  glow_silence_end(&silence);
}

GlowEntry *glow_cpu_selector_at(void *selector, const int64_t *extents) {
  Selector *x = selector;
  Selection s = {.selector = x, .extents = extents};
  glow_room_restore(x->room);
  if (!glow_cpu_allows(x->whole, extents) ||
      glow_protect(glow_room_context(x->room), select_program, &s) != GLOW_OK || !s.ok)
    return NULL;
  return &x->entry;
}

/* ---- The room -------------------------------------------------------------------------------- */

static bool find_symbols(Selector *x, const GlowModule *m, GlowArena *arena) {
  const GlowExtents all = glow_module_extents(m, arena);
  for (uint32_t i = 0; i < x->whole->nsymbols; i++)
    for (uint32_t k = 0; k < all.count; k++)
      if (!strcmp(all.data[k]->symbol, x->whole->symbols[i].extent->symbol))
        x->symbols[i].extent = all.data[k];
  for (uint32_t i = 0; i < x->whole->nsymbols; i++)
    if (!x->symbols[i].extent)
      return false;
  return true;
}

static void parse(GlowContext *ctx, void *selection) {
  Selection *s = selection;
  Selector *x = s->selector;
  const GlowBytes text = x->whole->selector->text;
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  const GlowModule *m = glow_module_parse(ctx, "program", text.data, text.size);
  x->backend.function = m ? m->first_function : NULL;
  s->ok = x->backend.function && find_symbols(x, m, ctx->arena);
  glow_silence_end(&silence);
}

static size_t rounded(size_t bytes) { return (size_t)glow_exec_round((int64_t)bytes); }

/* `bytes` of the memory at *at, which moves on. */
static void *take(uint8_t **at, size_t bytes) {
  uint8_t *taken = *at;
  *at += rounded(bytes);
  return taken;
}

/* Bytes of all but the room. */
static size_t fixed_bytes(const GlowEntry *e) {
  return rounded(sizeof(Selector)) + rounded(e->nvalues * sizeof(GlowExecValue)) +
         rounded(e->selector->nopen * sizeof(OpenTypes)) +
         rounded(e->nsymbols * sizeof(GlowBoundSymbol));
}

void *glow_cpu_selector_begin(const GlowEntry *entry, void *memory) {
  uint8_t *at = memory;
  Selector *x = take(&at, sizeof *x);
  const GlowCpuBackend *b = entry->backend;
  *x = (Selector){.whole = entry};
  x->values = take(&at, entry->nvalues * sizeof *x->values);
  x->types = take(&at, entry->selector->nopen * sizeof *x->types);
  x->symbols = take(&at, entry->nsymbols * sizeof *x->symbols);
  memcpy(x->values, entry->values, entry->nvalues * sizeof *x->values);
  memset(x->symbols, 0, entry->nsymbols * sizeof *x->symbols);
  x->entry.executable = entry->executable;
  x->entry.name = entry->name;
  x->entry.engine = glow_cpu_selector_engine();
  x->entry.backend = &x->backend;
  x->entry.values = x->values;
  x->entry.nvalues = entry->nvalues;
  x->entry.align = entry->align;
  x->backend.code.options.isa = b->code.options.isa;
  x->room = glow_room_create(at, entry->selector->room);
  Selection s = {.selector = x};
  if (!x->room)
    return NULL;
  if (glow_protect(glow_room_context(x->room), parse, &s) == GLOW_OK && s.ok &&
      glow_room_mark(x->room))
    return x;
  glow_room_destroy(x->room);
  return NULL;
}

void glow_cpu_selector_end(void *selector) {
  Selector *x = selector;
  if (!x)
    return;
  glow_room_restore(x->room);
  glow_room_destroy(x->room);
}

/* ---- Compiling ------------------------------------------------------------------------------- */

/* Whether the selector makes the program of the entry for the entry's extents. */
static bool is_same(const GlowEntry *e, const Selector *x) {
  const GlowCpuBackend *b = e->backend;
  const GlowProgramData *want = b->data, *have = x->backend.data;
  return have->naddresses == want->naddresses && b->plan.arena == x->backend.plan.arena &&
         b->plan.align == x->backend.plan.align &&
         !memcmp(have->addresses, want->addresses,
                 (size_t)want->naddresses * sizeof *want->addresses) &&
         glow_cpu_program_sum(have) == glow_cpu_program_sum(want);
}

static void note_most(GlowEntry *e, const Selector *x) {
  GlowEntryNeeds *most = &e->most;
  const GlowProgram *p = x->entry.program;
  most->memory = x->entry.memory > most->memory ? x->entry.memory : most->memory;
  most->scratch = x->entry.scratch > most->scratch ? x->entry.scratch : most->scratch;
  most->addresses = p->naddresses > most->addresses ? p->naddresses : most->addresses;
  most->loops = p->loops > most->loops ? p->loops : most->loops;
}

/* Extents from the least to the largest, in steps. */
static void trial_extents(const GlowEntry *e, int trial, int64_t *extents) {
  for (uint32_t i = 0; i < e->nsymbols; i++) {
    const GlowExtent *x = e->symbols[i].extent;
    int64_t steps = (x->most - x->least) / x->step;
    extents[i] = x->least + steps * trial / (TRIALS - 1) * x->step;
  }
}

/* Whether a room of these bytes does. */
static bool try_room(GlowEntry *e, size_t bytes, GlowSelectorText *text) {
  void *memory = aligned_alloc(GLOW_EXEC_ALIGN, fixed_bytes(e) + bytes);
  int64_t *extents = calloc(e->nsymbols, sizeof *extents);
  text->room = bytes;
  Selector *selector = memory && extents ? glow_cpu_selector_begin(e, memory) : NULL;
  bool ok = selector && glow_cpu_selector_at(selector, e->extents) && is_same(e, selector);
  for (int t = 0; ok && t < TRIALS; t++) {
    trial_extents(e, t, extents);
    if (!glow_cpu_allows(e, extents))
      continue;
    ok = glow_cpu_selector_at(selector, extents) != NULL;
    if (ok)
      note_most(e, selector);
  }
  if (ok) {
    size_t needs = glow_room_needs(selector->room);
    text->room = rounded(needs + needs / 8 + SLACK);
  }
  glow_cpu_selector_end(selector);
  free(extents);
  free(memory);
  return ok;
}

/* Scratch memory is not largest at the largest extents: blocks follow what divides the work best.
 * What workers share lies in the arena, which so becomes larger, too. Nobody touches what no run
 * needs. */
static void leave_slack(GlowEntryNeeds *most) {
  int64_t more = glow_exec_round(most->scratch / MORE);
  most->memory += more;
  most->scratch += more;
}

void glow_cpu_plan_selector(GlowEntry *e, const GlowFunction *f) {
  GlowSelectorText *text = GLOW_NEW(e->executable->arena, GlowSelectorText);
  text->text = glow_isolate_text(f, e->executable->arena);
  for (uint32_t i = 0; i < e->nvalues; i++)
    text->nopen += !glow_type_is_static(e->values[i].type);
  e->selector = text;
  e->most = (GlowEntryNeeds){e->memory, e->scratch, e->program->naddresses, e->program->loops};
  size_t bytes = LEAST_ROOM;
  bool ok = try_room(e, bytes, text);
  while (!ok && bytes < MOST_ROOM && bytes < 256 * text->text.size)
    ok = try_room(e, bytes *= 4, text);
  if (!ok) {
    e->selector = NULL;
    return;
  }
  leave_slack(&e->most);
  e->selector_bytes = (int64_t)(fixed_bytes(e) + text->room);
}
