/* The values of storage: initializers, evaluated when they are first asked for, and what a run has
 * bound or written. */
#include "backend/interp/interp_internal.h"

#include <stdlib.h>

/* ---- Initializers ---------------------------------------------------------------------------- */

static GlowLoc loc_of(const GlowStorage *s) {
  GlowLoc loc = s->src;
  if (!loc.line && s->origin)
    loc = (GlowLoc){s->origin->file, s->origin->line, s->origin->col, s->origin->name};
  return loc;
}

/* Data at an alignment that kernels can use: the blob's own where it has it. */
static const GlowTensor *from_blob(GlowStorage *s) {
  GlowContext *ctx = s->module->ctx;
  GlowTensor *copy;
  if (!s->init.tensor) {
    glow_error(ctx, loc_of(s), "the data of '@%s' were not found", s->value.name);
    return NULL;
  }
  const GlowTensor *t = glow_tensor_aligned(ctx, s->init.tensor, &copy);
  s->cached = copy;
  return t;
}

static const GlowTensor *from_eval(GlowStorage *s) {
  GlowContext *ctx = s->module->ctx;
  glow_storage_pack(ctx, &s, 1);
  if (s->cached)
    return s->cached;
  GlowWalk w;
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowTensorList result;
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, s->module, &scratch);
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  glow_tensor_list_begin(ctx, &result, 1);
  glow_walk_number(s->init.eval);
  bool ok = glow_walk_block(&w, s->init.eval, result.data);
  if (ok && result.data[0]->type != s->value.type) {
    glow_error(ctx, loc_of(s), "the initializer of '@%s' is %s, not %s", s->value.name,
               glow_type_str(ctx, result.data[0]->type), glow_type_str(ctx, s->value.type));
    ok = false;
  }
  if (ok) {
    s->cached = result.data[0];
    result.data[0] = NULL;
  }
  glow_tensor_list_end(ctx, &result);
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  return ok ? s->cached : NULL;
}

/* The value of s, where every constant that its initializer uses has been evaluated. */
static const GlowTensor *evaluate(GlowStorage *s) {
  GlowContext *ctx = s->module->ctx;
  if (s->cached)
    return s->cached;
  switch (s->init.kind) {
  case GLOW_INIT_SPLAT:
    s->cached = glow_tensor_create(ctx, s->value.type);
    glow_tensor_fill(s->cached, s->init.splat);
    return s->cached;
  case GLOW_INIT_RANDOM:
    s->cached = glow_tensor_create(ctx, s->value.type);
    glow_tensor_fill_random(s->cached, &s->init.random);
    return s->cached;
  case GLOW_INIT_LIST:
  case GLOW_INIT_RESOURCE:
  case GLOW_INIT_PAYLOAD:
    return from_blob(s);
  case GLOW_INIT_EVAL:
    return from_eval(s);
  case GLOW_INIT_ELIDED:
    glow_error(ctx, loc_of(s),
               "the value of '@%s' was left out of this text (-elide-constants); it cannot run",
               s->value.name);
    return NULL;
  case GLOW_INIT_NONE:
    break;
  }
  glow_error(ctx, loc_of(s), "'@%s' has no value", s->value.name);
  return NULL;
}

/* A storage that block b reads whose eval initializer has not been run; NULL if there is none. */
static GlowStorage *missing_in(const GlowBlock *b) {
  for (const GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->noperands; i++) {
      const GlowValue *v = n->operands[i].value;
      GlowStorage *s = v && v->kind == GLOW_VALUE_STORAGE ? v->def.storage : NULL;
      if (s && s->init.kind == GLOW_INIT_EVAL && !s->cached)
        return s;
    }
    for (uint32_t i = 0; i < n->nregions; i++) {
      GlowStorage *s = n->regions[i] ? missing_in(n->regions[i]) : NULL;
      if (s)
        return s;
    }
  }
  return NULL;
}

/* Initializers may build on each other in long chains, so the ones that wait are on a list. */
static const GlowTensor *evaluate_chain(GlowStorage *s) {
  GlowContext *ctx = s->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  GLOW_VEC(GlowStorage *) waiting = {0};
  const GlowTensor *t = NULL;
  glow_vec_push(arena, &waiting, s);
  while (waiting.count) {
    GlowStorage *next = waiting.data[waiting.count - 1];
    GlowStorage *before = next->init.kind == GLOW_INIT_EVAL ? missing_in(next->init.eval) : NULL;
    if (before && waiting.count <= s->module->next_id) {
      glow_vec_push(arena, &waiting, before);
      continue;
    }
    GLOW_CHECK(ctx, !before, "initializers that need each other");
    t = evaluate(next);
    if (!t)
      break;
    waiting.count--;
  }
  glow_arena_destroy(arena);
  return t;
}

const GlowTensor *glow_storage_value(GlowStorage *s) {
  if (s->cached)
    return s->cached;
  GlowFloatMode mode;
  glow_float_mode_enter(s->module->ctx, &mode);
  const GlowTensor *t = s->init.kind == GLOW_INIT_EVAL ? evaluate_chain(s) : evaluate(s);
  glow_float_mode_leave(s->module->ctx, &mode);
  return t;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

void glow_cells_begin(GlowContext *ctx, GlowCells *c, const GlowModule *m) {
  c->count = m->next_id;
  c->cells = glow_malloc(ctx, (c->count + 1) * sizeof *c->cells);
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
  GlowTensor *t = c ? c->cells[s->value.id].tensor : NULL;
  return t ? t : glow_storage_value(s);
}

GlowTensor *glow_cells_write(GlowCells *c, const GlowStorage *s, GlowTensor *t) {
  GlowCell *cell = &c->cells[s->value.id];
  GlowTensor *old = cell->owned ? cell->tensor : NULL;
  *cell = (GlowCell){.tensor = t, .owned = true, .written = true};
  return old;
}
