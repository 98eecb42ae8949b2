/* See values.h: a table by storage, and evaluating initializers. */
#include "backend/interp/values.h"

#include <stdlib.h>

#include "backend/interp/interp_internal.h"
#include "support/pages.h"
#include "tensor/blob.h"

struct GlowValues {
  GlowContext *ctx;
  GlowModule *module;
  GlowTensor **held; /* by the id of the storage's value */
  uint32_t count;
};

/* ---- The table ------------------------------------------------------------------------------- */

GlowValues *glow_values_create(GlowModule *m) {
  GlowValues *v = glow_malloc(m->ctx, sizeof *v);
  *v = (GlowValues){.ctx = m->ctx, .module = m};
  return v;
}

void glow_values_destroy(GlowValues *v) {
  if (!v)
    return;
  for (uint32_t i = 0; i < v->count; i++)
    glow_tensor_free(v->held[i]);
  free(v->held);
  free(v);
}

void glow_values_destroy_fn(void *v) { glow_values_destroy(v); }

const GlowTensor *glow_values_held(const GlowValues *v, const GlowStorage *s) {
  return s->value.id < v->count ? v->held[s->value.id] : NULL;
}

/* Makes room for the storage that the module has now. */
static void grow(GlowValues *v) {
  uint32_t count = v->module->last_storage->value.id + 1;
  for (const GlowStorage *s = v->module->first_storage; s; s = s->next)
    count = s->value.id < count ? count : s->value.id + 1;
  GlowTensor **held = glow_malloc(v->ctx, count * sizeof(GlowTensor *));
  if (v->count)
    memcpy(held, v->held, v->count * sizeof(GlowTensor *));
  free(v->held);
  v->held = held;
  v->count = count;
}

void glow_values_set(GlowValues *v, const GlowStorage *s, GlowTensor *t) {
  if (s->value.id >= v->count) {
    GlowDefer defer;
    glow_defer_push(v->ctx, &defer, glow_tensor_free_fn, t);
    grow(v);
    glow_defer_pop(v->ctx, &defer, false);
  }
  glow_values_forget(v, s);
  v->held[s->value.id] = t;
}

GlowTensor *glow_values_take(GlowValues *v, const GlowStorage *s) {
  if (s->value.id >= v->count)
    return NULL;
  GlowTensor *t = v->held[s->value.id];
  v->held[s->value.id] = NULL;
  return t;
}

void glow_values_forget(GlowValues *v, const GlowStorage *s) {
  glow_tensor_free(glow_values_take(v, s));
}

/* ---- Initializers ---------------------------------------------------------------------------- */

/* Data at an alignment that kernels can use: the blob's own where it has it. */
static const GlowTensor *from_blob(GlowValues *v, GlowStorage *s) {
  GlowContext *ctx = v->ctx;
  GlowTensor *copy;
  if (!s->init.tensor) {
    glow_error(ctx, glow_value_loc(&s->value), "the data of '@%s' were not found", s->value.name);
    return NULL;
  }
  const GlowTensor *t = glow_tensor_aligned(ctx, s->init.tensor, &copy);
  if (copy)
    glow_values_set(v, s, copy);
  return t;
}

bool glow_storage_is_read_only_by(const GlowStorage *s, const GlowStorage *reader) {
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (u->user->block->owner != GLOW_BLOCK_EVAL || u->user->block->of.storage != reader)
      return false;
  return true;
}

void glow_values_forget_sources(GlowValues *v, const GlowStorage *s) {
  for (const GlowNode *n = s->init.eval->first; n; n = n->next)
    for (uint32_t i = 0; i < n->noperands; i++) {
      const GlowValue *x = n->operands[i].value;
      const GlowStorage *from = x && x->kind == GLOW_VALUE_STORAGE ? x->def.storage : NULL;
      if (!from || from->cls != GLOW_CONSTANT || !glow_storage_is_read_only_by(from, s))
        continue;
      glow_values_forget(v, from);
      const GlowTensor *t = from->init.tensor;
      if (t && glow_blob_is_mapped(v->ctx, t->data, t->bytes))
        glow_let_pages_go(t->data, t->bytes);
    }
}

static const GlowTensor *from_eval(GlowValues *v, GlowStorage *s) {
  GlowContext *ctx = v->ctx;
  glow_values_pack(v, &s, 1, 0);
  if (glow_values_held(v, s))
    return glow_values_held(v, s);
  GlowWalk w;
  GlowCells cells = {.values = v};
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowTensorList result;
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, s->module, &scratch);
  w.cells = &cells;
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  glow_tensor_list_begin(ctx, &result, 1);
  glow_walk_number(s->init.eval);
  bool ok = glow_walk_block(&w, s->init.eval, result.data);
  if (ok && result.data[0]->type != s->value.type) {
    glow_error(ctx, glow_value_loc(&s->value), "the initializer of '@%s' is %s, not %s",
               s->value.name, glow_type_str(ctx, result.data[0]->type),
               glow_type_str(ctx, s->value.type));
    ok = false;
  }
  if (ok) {
    GlowTensor *t = result.data[0];
    result.data[0] = NULL;
    glow_values_set(v, s, t);
    glow_values_forget_sources(v, s);
  }
  glow_tensor_list_end(ctx, &result);
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  return ok ? glow_values_held(v, s) : NULL;
}

/* The value of s, where every constant that its initializer uses has been evaluated. */
static const GlowTensor *evaluate(GlowValues *v, GlowStorage *s) {
  GlowContext *ctx = v->ctx;
  if (glow_values_held(v, s))
    return glow_values_held(v, s);
  switch (s->init.kind) {
  case GLOW_INIT_SPLAT:
  case GLOW_INIT_RANDOM: {
    const GlowType *type = s->value.type;
    if (glow_type_grows(type)) /* it begins at its least */
      type = glow_type_with_rows(ctx, type, GLOW_EXACT(type->dims[0].extent->least));
    GlowTensor *t = glow_tensor_create(ctx, type);
    if (s->init.kind == GLOW_INIT_SPLAT)
      glow_tensor_fill(t, s->init.splat);
    else
      glow_tensor_fill_random(t, &s->init.random);
    glow_values_set(v, s, t);
    return t;
  }
  case GLOW_INIT_LIST:
  case GLOW_INIT_RESOURCE:
  case GLOW_INIT_PAYLOAD:
    return from_blob(v, s);
  case GLOW_INIT_EVAL:
    return from_eval(v, s);
  case GLOW_INIT_ELIDED:
    glow_error(ctx, glow_value_loc(&s->value),
               "the value of '@%s' was left out of this text (-elide-constants); it cannot run",
               s->value.name);
    return NULL;
  case GLOW_INIT_NONE:
    break;
  }
  glow_error(ctx, glow_value_loc(&s->value), "'@%s' has no value", s->value.name);
  return NULL;
}

GlowStorage *glow_values_missing(const GlowValues *values, const GlowBlock *b) {
  for (const GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->noperands; i++) {
      const GlowValue *v = n->operands[i].value;
      GlowStorage *s = v && v->kind == GLOW_VALUE_STORAGE ? v->def.storage : NULL;
      if (s && s->init.kind == GLOW_INIT_EVAL && !glow_values_held(values, s))
        return s;
    }
    for (uint32_t i = 0; i < n->nregions; i++) {
      GlowStorage *s = n->regions[i] ? glow_values_missing(values, n->regions[i]) : NULL;
      if (s)
        return s;
    }
  }
  return NULL;
}

/* Initializers may build on each other in long chains, so the ones that wait are on a list. */
static const GlowTensor *evaluate_chain(GlowValues *v, GlowStorage *s) {
  GlowContext *ctx = v->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  GLOW_VEC(GlowStorage *) waiting = {0};
  const GlowTensor *t = NULL;
  glow_vec_push(arena, &waiting, s);
  while (waiting.count) {
    GlowStorage *next = waiting.data[waiting.count - 1];
    GlowStorage *before =
        next->init.kind == GLOW_INIT_EVAL ? glow_values_missing(v, next->init.eval) : NULL;
    if (before && waiting.count <= s->module->next_id) {
      glow_vec_push(arena, &waiting, before);
      continue;
    }
    GLOW_CHECK(ctx, !before, "initializers that need each other");
    t = evaluate(v, next);
    if (!t)
      break;
    waiting.count--;
  }
  glow_arena_destroy(arena);
  return t;
}

const GlowTensor *glow_values_get(GlowValues *v, GlowStorage *s) {
  GLOW_CHECK(v->ctx, s->module == v->module, "storage of another module");
  const GlowTensor *t = glow_values_held(v, s);
  if (t)
    return t;
  GlowFloatMode mode;
  glow_float_mode_enter(v->ctx, &mode);
  t = s->init.kind == GLOW_INIT_EVAL ? evaluate_chain(v, s) : evaluate(v, s);
  glow_float_mode_leave(v->ctx, &mode);
  return t;
}

const GlowTensor *glow_values_aligned(GlowValues *v, GlowStorage *s, size_t align) {
  const GlowTensor *t = glow_values_get(v, s);
  if (t && (uintptr_t)t->data % align) {
    glow_values_set(v, s, glow_tensor_copy(v->ctx, t));
    t = glow_values_held(v, s);
  }
  return t;
}

/* ---- Variables ------------------------------------------------------------------------------- */

void glow_values_copy_variables(GlowValues *v, const GlowValues *from) {
  GLOW_CHECK(v->ctx, v->module == from->module, "values of another module");
  for (GlowStorage *s = v->module->first_storage; s; s = s->next) {
    const GlowTensor *t = s->cls == GLOW_VARIABLE ? glow_values_held(from, s) : NULL;
    if (t)
      glow_values_set(v, s, glow_tensor_copy(v->ctx, t));
  }
}

void glow_values_take_state(GlowValues *v, GlowState *state) {
  const GlowExecutable *e = state->executable;
  for (uint32_t i = 0; i < e->nstorage; i++) {
    GlowTensor *t = state->values[i];
    state->values[i] = NULL;
    if (t)
      glow_values_set(v, glow_module_storage(v->module, e->entries->values[i].name), t);
  }
}
