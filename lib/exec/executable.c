/* See executable.h. */
#include "exec/executable.h"

#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"

GlowExecutable *glow_executable_create(GlowArena *arena, const GlowEngine *engine) {
  GlowExecutable *e = GLOW_NEW(arena, GlowExecutable);
  e->ctx = glow_arena_context(arena);
  e->arena = arena;
  e->engine = engine;
  atomic_init(&e->users, 1);
  pthread_mutex_init(&e->lock, NULL);
  return e;
}

GlowExecutable *glow_executable_retain(GlowExecutable *e) {
  atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
  return e;
}

void glow_executable_release(GlowExecutable *e) {
  if (!e || atomic_fetch_sub_explicit(&e->users, 1, memory_order_acq_rel) > 1)
    return;
  if (e->engine->destroy)
    e->engine->destroy(e);
  pthread_mutex_destroy(&e->lock);
  glow_arena_destroy(e->arena);
}

void glow_executable_release_fn(void *e) { glow_executable_release(e); }

/* ---- States ---------------------------------------------------------------------------------- */

/* Memory for a variable with its first value. NULL: out of memory. */
static GlowTensor *first_value(const GlowExecValue *v) {
  GlowTensor *t = calloc(1, sizeof *t);
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

GlowState *glow_state_create(GlowExecutable *e) {
  GlowState *s = calloc(1, sizeof *s);
  GlowTensor **values = s ? calloc((size_t)e->nvalues + 1, sizeof(GlowTensor *)) : NULL;
  if (!values) {
    free(s);
    return NULL;
  }
  atomic_init(&s->busy, false);
  s->executable = glow_executable_retain(e);
  s->values = values;
  for (uint32_t i = 0; e->program && i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    if (v->memory != GLOW_MEMORY_VARIABLE || !(v->read || v->written))
      continue;
    values[i] = first_value(v);
    if (!values[i]) {
      glow_state_destroy(s);
      return NULL;
    }
  }
  return s;
}

const GlowTensor *glow_state_value(const GlowState *s, uint32_t i) {
  return s->values[i] ? s->values[i] : s->executable->values[i].value;
}

void glow_state_destroy(GlowState *s) {
  if (!s)
    return;
  for (uint32_t i = 0; i < s->executable->nvalues; i++)
    glow_tensor_free(s->values[i]);
  glow_executable_release(s->executable);
  free(s->values);
  free(s);
}
