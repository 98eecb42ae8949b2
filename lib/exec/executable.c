/* See executable.h. */
#include "exec/executable.h"

#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"

GlowExecutable *glow_executable_make(GlowArena *arena, uint32_t nentries) {
  GlowExecutable *e = GLOW_NEW(arena, GlowExecutable);
  e->ctx = glow_arena_context(arena);
  e->arena = arena;
  e->entries = GLOW_NEW_ARRAY(arena, GlowEntry, nentries);
  e->nentries = nentries;
  for (uint32_t i = 0; i < nentries; i++)
    e->entries[i].executable = e;
  atomic_init(&e->users, 1);
  atomic_init(&e->spent, 0);
  atomic_init(&e->code, 0);
  pthread_mutex_init(&e->lock, NULL);
  return e;
}

GlowEntry *glow_executable_find(GlowExecutable *e, const char *name) {
  for (uint32_t i = 0; name && i < e->nentries; i++)
    if (!strcmp(e->entries[i].name, name))
      return &e->entries[i];
  return !name && e->nentries == 1 ? e->entries : NULL;
}

GlowExecutable *glow_executable_retain(GlowExecutable *e) {
  if (!e)
    return NULL;
  atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
  return e;
}

void glow_executable_release(GlowExecutable *e) {
  if (!e || atomic_fetch_sub_explicit(&e->users, 1, memory_order_acq_rel) > 1)
    return;
  glow_background_destroy(e->background);
  for (uint32_t i = 0; i < e->nentries; i++)
    if (e->entries[i].engine && e->entries[i].engine->destroy)
      e->entries[i].engine->destroy(&e->entries[i]);
  if (e->release_shared)
    e->release_shared(e->shared);
  pthread_mutex_destroy(&e->lock);
  struct GlowHome *home = e->home;
  void (*leave)(struct GlowHome *) = e->leave;
  glow_arena_destroy(e->arena);
  if (leave)
    leave(home);
}

void glow_executable_release_fn(void *e) { glow_executable_release(e); }

/* ---- Code ------------------------------------------------------------------------------------ */

void glow_entry_choose(GlowEntry *e, uint32_t i, bool better) {
  const GlowEntryCode *c = &e->code;
  GlowPieceFn *f = better ? __atomic_load_n(&c->better[i], __ATOMIC_ACQUIRE) : NULL;
  __atomic_store_n(&c->now[i], f ? f : c->library[i], __ATOMIC_RELEASE);
}

void glow_entry_improve(GlowEntry *e, uint32_t i, GlowPieceFn *function) {
  __atomic_store_n(&e->code.better[i], function, __ATOMIC_RELEASE);
  __atomic_store_n(&e->code.now[i], function, __ATOMIC_RELEASE);
}

void glow_executable_count_pieces(const GlowExecutable *e, uint32_t *all, uint32_t *compiled) {
  *all = *compiled = 0;
  for (uint32_t k = 0; k < e->nentries; k++) {
    const GlowEntryCode *c = &e->entries[k].code;
    for (uint32_t i = 0; i < c->npieces; i++) {
      GlowPieceFn *better = __atomic_load_n(&c->better[i], __ATOMIC_ACQUIRE);
      *all += c->library[i] || better;
      *compiled += better && __atomic_load_n(&c->now[i], __ATOMIC_ACQUIRE) == better;
    }
  }
}

GlowStatus glow_executable_compile(GlowExecutable *e, double seconds) {
  if (!e)
    return GLOW_BAD_USAGE;
  if (!e->background)
    return GLOW_OK;
  glow_background_start(e->background);
  if (!glow_background_wait(e->background, seconds))
    return GLOW_BUSY;
  return glow_background_failed(e->background) ? GLOW_BAD_INPUT : GLOW_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef struct Write {
  const GlowExecutable *executable;
  const char *path;
  GlowStatus status;
} Write;

static void call_write(GlowContext *ctx, void *arg) {
  Write *w = arg;
  (void)ctx;
  w->status = w->executable->entries->engine->write(w->executable, w->path);
}

GlowStatus glow_executable_write(const GlowExecutable *e, const char *path) {
  if (!e || !path || !e->nentries || !e->entries->engine->write)
    return GLOW_BAD_USAGE;
  Write w = {.executable = e, .path = path};
  pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&e->lock; /* the rest does not change */
  pthread_mutex_lock(lock);
  GlowStatus thrown = glow_protect(e->ctx, call_write, &w);
  pthread_mutex_unlock(lock);
  return thrown == GLOW_OK ? w.status : thrown;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* The value of a variable whose extents are open. */
typedef struct Resizable {
  GlowTensor tensor;
  GlowType type; /* of the tensor, once it has been resized */
} Resizable;

size_t glow_state_value_bytes(const GlowExecValue *v) {
  return glow_type_is_static(v->type) ? sizeof(GlowTensor) : sizeof(Resizable);
}

/* Memory for a variable with its first value. NULL: out of memory. */
static GlowTensor *first_value(const GlowExecValue *v) {
  GlowTensor *t = calloc(1, glow_state_value_bytes(v));
  if (!t)
    return NULL;
  int64_t bytes = glow_type_bytes(v->room);
  *t = (GlowTensor){.type = v->value->type,
                    .data = glow_exec_memory(bytes),
                    .bytes = v->value->bytes,
                    .owned = true};
  if (!t->data) {
    free(t);
    return NULL;
  }
  memcpy(t->data, v->value->data, t->bytes);
  memset((char *)t->data + t->bytes, 0, (size_t)bytes - t->bytes);
  return t;
}

/* Storage i as an entry that has its value describes it; NULL: no variable that is touched. */
static const GlowExecValue *variable(const GlowExecutable *e, uint32_t i) {
  for (uint32_t k = 0; k < e->nentries; k++) {
    const GlowExecValue *v = &e->entries[k].values[i];
    if (v->memory == GLOW_MEMORY_VARIABLE && v->value)
      return v;
  }
  return NULL;
}

GlowState *glow_state_make(GlowExecutable *e) {
  GlowState *s = calloc(1, sizeof *s);
  GlowTensor **values = s ? calloc((size_t)e->nstorage + 1, sizeof(GlowTensor *)) : NULL;
  if (!values) {
    free(s);
    return NULL;
  }
  atomic_init(&s->busy, false);
  s->executable = glow_executable_retain(e);
  s->values = values;
  for (uint32_t i = 0; i < e->nstorage; i++) {
    const GlowExecValue *v = variable(e, i);
    if (v && !(values[i] = first_value(v))) {
      glow_state_destroy(s);
      return NULL;
    }
  }
  return s;
}

const GlowTensor *glow_state_value(const GlowState *s, uint32_t i) { return s->values[i]; }

void glow_state_resize(GlowState *s, uint32_t i, const GlowType *type) {
  Resizable *r = (Resizable *)s->values[i];
  r->type = *type;
  r->tensor.type = &r->type;
  r->tensor.bytes = (size_t)glow_type_bytes(type);
}

void glow_state_destroy(GlowState *s) {
  if (!s)
    return;
  pthread_mutex_lock(&s->executable->lock); /* values may count as the context's */
  for (uint32_t i = 0; i < s->executable->nstorage; i++)
    glow_tensor_free(s->values[i]);
  pthread_mutex_unlock(&s->executable->lock);
  glow_executable_release(s->executable);
  free(s->values);
  free(s->extents);
  free(s);
}
