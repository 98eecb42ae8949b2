/* States of the public API. Their variables always have values: those of the interpreter are made
 * with the state. */
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"
#include "glow/home.h"

/* What a function does under the executable's lock, where throws end. */
typedef struct Request {
  GlowState *state;
  const GlowState *from;
  bool ok;
} Request;

static GlowStatus locked(GlowExecutable *e, void (*function)(GlowContext *, void *), Request *r) {
  pthread_mutex_lock(&e->lock);
  GlowStatus status = glow_protect(e->ctx, function, r);
  pthread_mutex_unlock(&e->lock);
  return status == GLOW_OK && !r->ok ? GLOW_BAD_INPUT : status;
}

/* The entry whose engine knows first values; NULL: they are known already. */
static const GlowEntry *valuer(const GlowExecutable *e) {
  return e->nentries && e->entries->engine->first ? e->entries : NULL;
}

static void fill(GlowContext *ctx, void *arg) {
  Request *r = arg;
  GlowState *s = r->state;
  const GlowEntry *e = valuer(s->executable);
  const struct GlowHome *home = s->executable->home;
  (void)ctx;
  r->ok = true;
  for (uint32_t k = 0; k < home->nvariables && r->ok; k++) {
    uint32_t i = home->variables[k].value;
    if (!s->values[i])
      r->ok = (s->values[i] = e->engine->first(e, i)) != NULL;
  }
}

GlowStatus glow_state_create(GlowExecutable *e, GlowState **state) {
  if (state)
    *state = NULL;
  if (!e || !state)
    return GLOW_BAD_USAGE;
  GlowState *s = glow_state_make(e);
  size_t n = (size_t)e->home->nvariables * GLOW_MAX_RANK;
  if (!s || (n && !(s->extents = calloc(n, sizeof *s->extents)))) {
    glow_state_destroy(s);
    return GLOW_NO_MEMORY;
  }
  GlowStatus status = valuer(e) ? locked(e, fill, &(Request){.state = s}) : GLOW_OK;
  if (status == GLOW_OK)
    *state = s;
  else
    glow_state_destroy(s);
  return status;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void copy_tensors(GlowContext *ctx, void *arg) {
  Request *r = arg;
  const struct GlowHome *home = r->state->executable->home;
  r->ok = true;
  for (uint32_t k = 0; k < home->nvariables; k++) {
    uint32_t i = home->variables[k].value;
    GlowTensor *t = glow_tensor_copy(ctx, r->from->values[i]);
    glow_tensor_free(r->state->values[i]);
    r->state->values[i] = t;
  }
}

/* Of a program that is walked: values stay where they are. */
static void copy_bytes(GlowState *to, const GlowState *from) {
  const struct GlowHome *home = to->executable->home;
  for (uint32_t k = 0; k < home->nvariables; k++) {
    uint32_t i = home->variables[k].value;
    const GlowTensor *v = from->values[i];
    memcpy(to->values[i]->data, v->data, v->bytes);
    if (v->type != to->values[i]->type)
      glow_state_resize(to, i, v->type);
  }
}

static GlowStatus copy_values(GlowState *to, const GlowState *from) {
  if (valuer(to->executable))
    return locked(to->executable, copy_tensors, &(Request){.state = to, .from = from});
  copy_bytes(to, from);
  return GLOW_OK;
}

/* Nobody else uses the state until `unuse`; or BUSY. */
static bool use(const GlowState *s) {
  atomic_bool *busy = &((GlowState *)(uintptr_t)s)->busy;
  return !atomic_exchange_explicit(busy, true, memory_order_acquire);
}

static void unuse(const GlowState *s) {
  atomic_bool *busy = &((GlowState *)(uintptr_t)s)->busy;
  atomic_store_explicit(busy, false, memory_order_release);
}

GlowStatus glow_state_copy(const GlowState *state, GlowState **copy) {
  if (copy)
    *copy = NULL;
  if (!state || !copy)
    return GLOW_BAD_USAGE;
  if (!use(state))
    return GLOW_BUSY;
  GlowState *s;
  GlowStatus status = glow_state_create(state->executable, &s);
  if (status == GLOW_OK)
    status = copy_values(s, state);
  unuse(state);
  if (status == GLOW_OK)
    *copy = s;
  else
    glow_state_destroy(s);
  return status;
}

GlowStatus glow_state_reset(GlowState *state) {
  if (!state)
    return GLOW_BAD_USAGE;
  if (!use(state))
    return GLOW_BUSY;
  GlowState *first;
  GlowStatus status = glow_state_create(state->executable, &first);
  if (status == GLOW_OK) {
    GlowTensor **values = state->values;
    state->values = first->values;
    first->values = values;
    glow_state_destroy(first);
  }
  unuse(state);
  return status;
}

/* ---- Single variables ------------------------------------------------------------------------ */

/* The variable, if its values are bytes. */
static const GlowHomePort *variable_of(const GlowState *s, size_t i, const GlowExecValue **v) {
  const struct GlowHome *home = s->executable->home;
  if (i >= home->nvariables)
    return NULL;
  *v = glow_home_value(s->executable, home->variables[i].value);
  return glow_type_is_bytes((*v)->type) ? &home->variables[i] : NULL;
}

GlowStatus glow_state_get(const GlowState *state, size_t variable, GlowBuffer *buffer) {
  const GlowExecValue *v;
  const GlowHomePort *p = state && buffer ? variable_of(state, variable, &v) : NULL;
  if (!p)
    return GLOW_BAD_USAGE;
  if (!use(state))
    return GLOW_BUSY;
  const GlowTensor *t = state->values[p->value];
  int64_t *extents = &state->extents[variable * GLOW_MAX_RANK];
  for (uint32_t a = 0; a < t->type->rank; a++)
    extents[a] = t->type->dims[a].size;
  *buffer = (GlowBuffer){t->data, t->bytes, extents};
  unuse(state);
  return GLOW_OK;
}

typedef struct Replace {
  GlowState *state;
  uint32_t i;
  const GlowType *type;
  const GlowBuffer *buffer;
} Replace;

static void replace(GlowContext *ctx, void *arg) {
  Replace *r = arg;
  GlowTensor *t = glow_tensor_create(ctx, r->type);
  memcpy(t->data, r->buffer->data, t->bytes);
  glow_tensor_free(r->state->values[r->i]);
  r->state->values[r->i] = t;
}

static GlowStatus set(GlowState *s, uint32_t i, const GlowType *declared, const GlowBuffer *b) {
  GlowExecutable *e = s->executable;
  if (valuer(e)) {
    Replace r = {s, i, glow_port_type(e, declared, b->extents), b};
    if (!r.type)
      return GLOW_NO_MEMORY;
    pthread_mutex_lock(&e->lock);
    GlowStatus status = glow_protect(e->ctx, replace, &r);
    pthread_mutex_unlock(&e->lock);
    return status;
  }
  GlowType type;
  if (!glow_type_is_static(declared)) {
    glow_type_fill(&type, declared, b->extents);
    glow_state_resize(s, i, &type);
  }
  memmove(s->values[i]->data, b->data, s->values[i]->bytes);
  return GLOW_OK;
}

GlowStatus glow_state_set(GlowState *state, size_t variable, const GlowBuffer *buffer) {
  const GlowExecValue *v;
  const GlowHomePort *p = state && buffer ? variable_of(state, variable, &v) : NULL;
  int64_t bytes = p ? glow_port_bytes(v->type, buffer->extents) : -1;
  if (bytes < 0 || !buffer->data || buffer->bytes < (size_t)bytes)
    return GLOW_BAD_USAGE;
  if (!use(state))
    return GLOW_BUSY;
  GlowStatus status = set(state, p->value, v->type, buffer);
  unuse(state);
  return status;
}
