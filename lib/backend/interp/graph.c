/* The walker over graphs: runs nodes in order, keeps values on the heap, and frees each after the
 * last node that needs it. */
#include "backend/interp/interp_internal.h"

#include <stdlib.h>

#include "analysis/access.h"

/* ---- Lists of tensors ------------------------------------------------------------------------ */

static void release_list(void *list) {
  GlowTensorList *l = list;
  for (uint32_t i = 0; i < l->count; i++)
    glow_tensor_free(l->data[i]);
  free(l->data);
}
void glow_tensor_list_begin(GlowContext *ctx, GlowTensorList *l, uint32_t count) {
  l->count = count;
  l->data = glow_malloc(ctx, (count + 1) * sizeof *l->data);
  glow_defer_push(ctx, &l->defer, release_list, l);
}
void glow_tensor_list_end(GlowContext *ctx, GlowTensorList *l) {
  glow_defer_pop(ctx, &l->defer, true);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

void glow_walk_begin(GlowWalk *w, GlowModule *m, GlowScratch *scratch) {
  *w = (GlowWalk){.ctx = m->ctx, .kernels = glow_kernels_best(), .scratch = scratch};
  w->arena = glow_arena_create(m->ctx);
}

static void clear_slot(GlowSlot *s) {
  if (s->owned)
    glow_tensor_free(s->tensor);
  s->tensor = NULL;
  s->owned = false;
}

static GlowSlot *slot_of(GlowWalk *w, const GlowValue *v) {
  if (!w->values) {
    w->values = glow_map_create(w->arena);
    w->deaths = glow_map_create(w->arena);
  }
  GlowSlot *s = glow_map_get(w->values, v);
  if (!s) {
    s = GLOW_NEW(w->arena, GlowSlot);
    s->next = w->slots;
    w->slots = s;
    glow_map_set(w->values, v, s);
  }
  return s;
}

static void release_saved(GlowSaved *s) {
  for (; s; s = s->next)
    if (s->owned)
      glow_tensor_free(s->tensor);
}

void glow_walk_end(void *walk) {
  GlowWalk *w = walk;
  for (GlowSlot *s = w->slots; s; s = s->next)
    clear_slot(s);
  for (GlowFrame *f = w->frame; f; f = f->caller) {
    release_saved(f->pending);
    release_saved(f->entry);
  }
  glow_lowered_release(w);
  glow_arena_destroy(w->arena);
}

static uint32_t number_block(GlowBlock *b, uint32_t order) {
  for (GlowNode *n = b->first; n; n = n->next) {
    n->order = order++;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i])
        order = number_block(n->regions[i], order);
  }
  return order;
}
void glow_walk_number(GlowBlock *b) { number_block(b, 0); }

bool glow_walk_enter(GlowWalk *w, const GlowNode *n) {
  if (w->depth < GLOW_MAX_CALL_DEPTH) {
    w->depth++;
    return true;
  }
  glow_run_error(n, "functions and loops nest more than %d deep", GLOW_MAX_CALL_DEPTH);
  return false;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The node of block b that contains n, n itself if it stands there; NULL if none does. */
static const GlowNode *ancestor_in(const GlowBlock *b, const GlowNode *n) {
  while (n && n->block != b) {
    const GlowBlock *inner = n->block;
    n = inner && inner->owner == GLOW_BLOCK_REGION ? inner->of.node : NULL;
  }
  return n;
}

void glow_walk_set(GlowWalk *w, const GlowValue *v, GlowTensor *t, bool owned) {
  const GlowBlock *home = glow_value_block(v);
  const GlowNode *last = NULL;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = ancestor_in(home, u->user);
    if (n && (!last || n->order > last->order))
      last = n;
  }
  if (!last) {
    if (owned)
      glow_tensor_free(t);
    return;
  }
  GlowDefer hold; /* t has no other owner until the slot is ready */
  glow_defer_push(w->ctx, &hold, glow_tensor_free_fn, owned ? t : NULL);
  GlowSlot *s = slot_of(w, v);
  clear_slot(s);
  GlowSlot *others = glow_map_get(w->deaths, last);
  glow_map_set(w->deaths, last, s);
  s->tensor = t;
  s->owned = owned;
  s->last = last;
  s->next_dying = others;
  glow_defer_pop(w->ctx, &hold, false);
}

static void bury(GlowWalk *w, const GlowNode *n) {
  GlowSlot *s = w->deaths ? glow_map_get(w->deaths, n) : NULL;
  if (!s)
    return;
  glow_map_set(w->deaths, n, NULL);
  for (; s; s = s->next_dying)
    clear_slot(s);
}

/* What the function that is running sees in a storage. */
static const GlowTensor *read_storage(GlowWalk *w, GlowStorage *s) {
  for (GlowSaved *e = w->frame ? w->frame->entry : NULL; e; e = e->next)
    if (e->storage == s)
      return e->tensor ? e->tensor : glow_values_get(w->cells->values, s);
  return glow_cells_read(w->cells, s);
}

const GlowTensor *glow_walk_get(GlowWalk *w, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_STORAGE)
    return read_storage(w, v->def.storage);
  const GlowSlot *s = w->values ? glow_map_get(w->values, v) : NULL;
  GLOW_CHECK(w->ctx, s && s->tensor, "a value is read before it is computed");
  return s->tensor;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Save takes effect at the end of its function. */
static bool save(GlowWalk *w, const GlowNode *n, const GlowTensor *value) {
  GlowStorage *s = glow_node_in(n, GLOW_SAVE_IN_STORAGE)->def.storage;
  if (glow_type_fit(s->value.type, value->type) == GLOW_FIT_CONTRADICTS) {
    glow_run_error(n, "a value of type %s does not fit '@%s' of type %s",
                   glow_type_str(w->ctx, value->type), s->value.name,
                   glow_type_str(w->ctx, s->value.type));
    return false;
  }
  GlowSaved *e = GLOW_NEW(w->arena, GlowSaved);
  *e = (GlowSaved){.storage = s, .owned = true, .next = w->frame->pending};
  w->frame->pending = e;
  e->tensor = glow_tensor_copy(w->ctx, value);
  return true;
}

/* What the text claims about the results, where inference did not compare it. */
static bool check_claims(GlowWalk *w, const GlowNode *n, GlowTensor *const *out) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *claim = n->results[i].type, *t = out[i]->type;
    if (glow_type_fit(claim, t) == GLOW_FIT_CONTRADICTS) {
      glow_run_error(n, "result %u is %s, but its type says %s", i, glow_type_str(w->ctx, t),
                     glow_type_str(w->ctx, claim));
      return false;
    }
  }
  return true;
}

/* Where the tensor of an operand stands that element-wise n is the last to need, if it has the type
 * of the result as far as that is known; NULL: there is none. */
static GlowTensor **dying_operand(GlowWalk *w, const GlowNode *n) {
  if (!glow_node_desc(n)->has_scalar || n->nresults != 1)
    return NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || v->kind == GLOW_VALUE_STORAGE || v->type != n->results[0].type)
      continue;
    GlowSlot *s = glow_map_get(w->values, v);
    if (s && s->owned && s->last == n)
      return &s->tensor;
  }
  return NULL;
}

bool glow_walk_op(GlowWalk *w, const GlowNode *n, const GlowTensor *const *in, GlowTensor **over,
                  GlowTensor **out) {
  const GlowOpDesc *d = glow_node_desc(n);
  const GlowKernelRow *row = &w->kernels->table[n->op];
  if (n->op == GLOW_OP_SAVE)
    return save(w, n, in[0]);
  if (n->op == GLOW_OP_SPLAT && glow_type_has_symbols(n->results[0].type))
    return glow_walk_open_splat(w, n, out);
  if (row->value)
    return row->value(w, n, (GlowTensor *const *)in, out) == GLOW_OK && check_claims(w, n, out);
  if (GLOW_HAS(d, LOWERED) || (w->primitives && d->has_lower))
    return glow_walk_lowered(w, n, in, out) && check_claims(w, n, out);
  return glow_exec_node(n, w->kernels, in, over, out, w->scratch);
}

/* Weights are guesses; contractions, the operators that can have an epilogue, count more. */
uint64_t glow_node_weight(const GlowNode *n) {
  uint64_t weight = 1;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    int64_t e = v && glow_type_is_tensor(v->type) ? glow_type_elements(v->type) : 0;
    weight += e > 0 ? (uint64_t)e : 0;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    int64_t e = glow_type_is_tensor(t) ? glow_type_elements(t) : 0;
    weight += e > 0 ? (uint64_t)e : 0;
  }
  return glow_node_desc(n)->epilogue >= 0 ? weight * 64 : weight;
}

static void report_progress(GlowWalk *w, const GlowNode *n) {
  if (!w->options || !w->options->progress || w->depth > 1)
    return;
  w->done += glow_node_weight(n);
  w->options->progress(w->options->progress_user, w->done, w->total);
}

/* Whether n only runs other nodes. */
static bool is_control(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i] && !n->regions[i]->scalar)
      return true;
  return glow_node_callee(n) != NULL;
}

static void report_finished(const GlowWalk *w, const GlowNode *n) {
  if (w->options && w->options->finished && !is_control(n))
    w->options->finished(w->options->finished_user, n);
}

static bool run_node(GlowWalk *w, const GlowNode *n) {
  glow_run_check_time(n);
  GlowTensorList out;
  const GlowTensor *few[8], **in = few;
  GlowDefer release;
  uint32_t ports = glow_node_desc(n)->nin, count = n->noperands > ports ? n->noperands : ports;
  bool many = count > 8, ok = true;
  if (many) {
    in = glow_malloc(w->ctx, count * sizeof *in);
    glow_defer_push(w->ctx, &release, free, in);
  }
  for (uint32_t i = 0; i < count; i++) /* absent ones at the end are not in the text */
    in[i] = NULL;
  bool saves = GLOW_HAS(glow_node_desc(n), WRITES);
  for (uint32_t i = 0; ok && i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || (saves && i > 0))
      continue;
    in[i] = glow_walk_get(w, v);
    ok = in[i] != NULL;
  }
  glow_tensor_list_begin(w->ctx, &out, n->nresults);
  ok = ok && glow_walk_op(w, n, in, dying_operand(w, n), out.data);
  if (ok && w->options && w->options->trace)
    w->options->trace(w->options->trace_user, n, out.data);
  for (uint32_t i = 0; ok && i < n->nresults; i++) {
    GlowTensor *t = out.data[i];
    out.data[i] = NULL;
    glow_walk_set(w, &n->results[i], t, true);
  }
  glow_tensor_list_end(w->ctx, &out);
  if (many)
    glow_defer_pop(w->ctx, &release, true);
  bury(w, n);
  if (ok) {
    report_finished(w, n);
    report_progress(w, n);
  }
  return ok;
}

/* The values of a terminator. One that is not needed any more is handed over. */
static bool take_results(GlowWalk *w, const GlowNode *end, GlowTensor **results) {
  for (uint32_t i = 0; i < end->noperands; i++) {
    const GlowValue *v = end->operands[i].value;
    const GlowTensor *t = glow_walk_get(w, v);
    bool again = false;
    for (uint32_t k = i + 1; k < end->noperands; k++)
      again |= end->operands[k].value == v;
    if (!t)
      return false;
    GlowSlot *s = v->kind == GLOW_VALUE_STORAGE ? NULL : glow_map_get(w->values, v);
    if (s && s->owned && s->last == end && !again) {
      results[i] = s->tensor;
      s->owned = false;
    } else {
      results[i] = glow_tensor_copy(w->ctx, t);
    }
  }
  bury(w, end);
  return true;
}

bool glow_walk_before(GlowWalk *w, GlowBlock *b, const GlowNode *end) {
  for (GlowNode *n = b->first; n && n != end; n = n->next)
    if (!run_node(w, n))
      return false;
  return true;
}

bool glow_walk_block(GlowWalk *w, GlowBlock *b, GlowTensor **results) {
  const GlowNode *end = glow_block_terminator(b);
  return glow_walk_before(w, b, end) && (!end || take_results(w, end, results));
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Callers go on seeing what they saw: the value that a Save replaces moves to them. */
static void keep_for_callers(GlowWalk *w, GlowFrame *f, GlowStorage *s, GlowTensor *old) {
  bool owned = old != NULL;
  for (; f; f = f->caller) {
    bool has = false;
    for (GlowSaved *e = f->entry; e; e = e->next)
      has |= e->storage == s;
    if (has)
      continue;
    GlowSaved *e = GLOW_NEW(w->arena, GlowSaved);
    *e = (GlowSaved){.storage = s, .tensor = old, .next = f->entry};
    f->entry = e;
    if (!f->caller) { /* the outermost lives longest */
      e->owned = owned;
      owned = false;
    }
  }
  if (owned)
    glow_tensor_free(old);
}

static void commit(GlowWalk *w, GlowFrame *f) {
  /* Pending saves of one function name different storage. */
  for (GlowSaved *e = f->pending; e; e = e->next) {
    const GlowCell *cell = &w->cells->cells[e->storage->value.id];
    GlowTensor *bound = cell->owned ? NULL : cell->tensor;
    GlowTensor *old = glow_cells_write(w->cells, e->storage, e->tensor);
    e->owned = false;
    if (bound && f->caller)
      old = glow_tensor_copy(w->ctx, bound);
    keep_for_callers(w, f->caller, e->storage, old);
  }
  release_saved(f->entry);
  f->pending = f->entry = NULL;
}

static bool bind_arguments(GlowWalk *w, GlowFunction *f, GlowTensor *const *args,
                           const GlowNode *call) {
  for (uint32_t i = 0; i < f->body->nparams; i++) {
    const GlowValue *p = f->body->params[i];
    if (call && glow_type_fit(p->type, args[i]->type) == GLOW_FIT_CONTRADICTS) {
      glow_run_error(call, "argument %u is %s, but parameter '%s' is %s", i,
                     glow_type_str(w->ctx, args[i]->type), p->name, glow_type_str(w->ctx, p->type));
      return false;
    }
    glow_walk_set(w, p, args[i], false);
  }
  return true;
}

bool glow_walk_function(GlowWalk *w, GlowFunction *f, GlowTensor *const *args, GlowTensor **results,
                        const GlowNode *call) {
  GlowFrame *frame = GLOW_NEW(w->arena, GlowFrame); /* stays valid if a throw leaves us */
  frame->caller = w->frame;
  if (call && !glow_walk_enter(w, call))
    return false;
  w->frame = frame;
  glow_walk_number(f->body);
  bool ok = bind_arguments(w, f, args, call) && glow_walk_block(w, f->body, results);
  if (ok)
    commit(w, frame);
  release_saved(frame->pending);
  release_saved(frame->entry);
  w->frame = frame->caller;
  w->depth -= call != NULL;
  return ok;
}
