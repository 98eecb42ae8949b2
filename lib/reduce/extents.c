/* Extents. Dimensions of equal extent mostly belong together (channels here and there, both sides
 * of an image). So an extent is replaced wherever it occurs: in all types, and in the integers that
 * operators such as Reshape take. Weights that change their shape become random. */
#include <stdlib.h>

#include "reduce/delta.h"

typedef GLOW_VEC(int64_t) Extents;

typedef struct Change {
  GlowDelta *d;
  Extents taken;
  bool halve;
} Change;

/* ---- What there is --------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

static void add_type(GlowDelta *d, Extents *found, const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked)
    return;
  for (uint32_t i = 0; i < t->rank; i++)
    if ((t->dims[i].kind == GLOW_DIM_EXACT || t->dims[i].kind == GLOW_DIM_BOUND) &&
        t->dims[i].size > 1)
      glow_vec_push(d->arena, found, t->dims[i].size);
}

/* A small list of integers is data about shapes: its values may be extents, its length is not. */
static bool is_shape_data(const GlowStorage *s) {
  return s->cls == GLOW_CONSTANT && s->init.kind == GLOW_INIT_LIST && s->value.type->rank <= 1 &&
         glow_kind_is_integer(s->value.type->kind);
}

static void collect(GlowDelta *d, Extents *found) {
  for (GlowStorage *s = d->module->first_storage; s; s = s->next)
    if (!is_shape_data(s))
      add_type(d, found, s->value.type);
  for (GlowFunction *f = d->module->first_function; f; f = f->next) {
    for (uint32_t i = 0; i < f->body->nparams; i++)
      add_type(d, found, f->body->params[i]->type);
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      if (n->op == GLOW_OP_ALLOC)
        add_type(d, found, n->results[0].type);
  }
  if (found->count)
    qsort(found->data, found->count, sizeof *found->data, larger_first);
}

/* ---- Changing -------------------------------------------------------------------------------- */

static int64_t changed(const Change *c, int64_t size) {
  for (uint32_t i = 0; i < c->taken.count; i++)
    if (c->taken.data[i] == size)
      return c->halve ? size / 2 : 1;
  return size;
}

static const GlowType *changed_type(const Change *c, const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked)
    return t;
  GlowDim dims[GLOW_MAX_RANK];
  bool same = true;
  for (uint32_t i = 0; i < t->rank; i++) {
    dims[i] = t->dims[i];
    if (dims[i].kind == GLOW_DIM_EXACT || dims[i].kind == GLOW_DIM_BOUND)
      dims[i].size = changed(c, dims[i].size);
    same &= dims[i].size == t->dims[i].size;
  }
  if (same)
    return t;
  const GlowType *to = glow_type_with_dims(c->d->ctx, t, t->rank, dims);
  return t->layout ? glow_type_with_layout(c->d->ctx, to, t->layout) : to;
}

static void change_shape_data(const Change *c, GlowStorage *s) {
  GlowTensor *t = glow_tensor_copy(c->d->ctx, s->init.tensor);
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    int64_t v = changed(c, glow_tensor_get_int(t, i));
    glow_tensor_set(t, i, (GlowScalar){.is_int = true, .i = v, .f = (double)v});
  }
  s->init.tensor = glow_tensor_in_arena(c->d->ctx->arena, t);
  glow_tensor_free(t);
}

static void change_storage(const Change *c, GlowStorage *s) {
  if (is_shape_data(s)) {
    change_shape_data(c, s);
    return;
  }
  const GlowType *t = changed_type(c, s->value.type);
  if (t == s->value.type)
    return;
  s->value.type = t;
  if (s->cls == GLOW_PLACEHOLDER || s->init.kind == GLOW_INIT_RANDOM)
    return;
  GlowScalar splat = s->init.splat;
  if (s->init.eval)
    while (s->init.eval->last)
      glow_node_remove(s->init.eval->last);
  if (s->init.kind == GLOW_INIT_SPLAT)
    s->init = (GlowInit){.kind = GLOW_INIT_SPLAT, .splat = splat};
  else if (glow_stand_in_fits(t, GLOW_STAND_IN_RANDOM))
    s->init = glow_init_random();
  else
    s->init = glow_init_splat(1);
}

static void change_block(const Change *c, GlowBlock *b) {
  for (uint32_t i = 0; i < b->nparams; i++)
    b->params[i]->type = changed_type(c, b->params[i]->type);
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nresults; i++)
      n->results[i].type = changed_type(c, n->results[i].type);
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        change_block(c, n->regions[i]);
  }
}

static void change_module(const Change *c) {
  for (GlowStorage *s = c->d->module->first_storage; s; s = s->next) {
    change_storage(c, s);
    if (s->init.eval)
      change_block(c, s->init.eval);
  }
  for (GlowFunction *f = c->d->module->first_function; f; f = f->next) {
    change_block(c, f->body);
    for (uint32_t i = 0; i < f->nresults; i++)
      f->results[i] = changed_type(c, f->results[i]);
  }
  c->d->retype = true;
}

static void reduce(GlowDelta *d, bool halve) {
  Extents found = {0};
  Change c = {.d = d, .halve = halve};
  collect(d, &found);
  for (uint32_t i = 0; i < found.count; i++)
    if ((i == 0 || found.data[i] != found.data[i - 1]) && !(halve && found.data[i] < 4) &&
        glow_delta_offer(d))
      glow_vec_push(d->arena, &c.taken, found.data[i]);
  if (c.taken.count)
    change_module(&c);
}

void glow_delta_extents_to_one(GlowDelta *d) { reduce(d, false); }
void glow_delta_extents_halved(GlowDelta *d) { reduce(d, true); }
