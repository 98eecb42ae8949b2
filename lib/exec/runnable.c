/* See runnable.h. */
#include "exec/runnable.h"

#include <stdlib.h>

/* The tensors of ports. The interpreter checks its inputs itself. False after a diagnostic. */
static bool take_inputs(GlowRunnable *r, const GlowBindings *inputs) {
  const GlowEntry *e = r->entry;
  bool ok = true;
  for (uint32_t i = 0; i < e->nvalues; i++) {
    const GlowExecValue *v = &e->values[i];
    if (v->memory != GLOW_MEMORY_PORT)
      continue;
    r->inputs[i] = glow_bindings_find(inputs, v->name);
    bool wanted = v->read && (!v->written || r->inputs[i]);
    if (e->program && wanted)
      ok = glow_bindings_take(r->executable->ctx, inputs, v->name, v->type, v->loc) && ok;
  }
  return ok;
}

static void list_outputs(GlowRunnable *r) {
  const GlowEntry *e = r->entry;
  for (uint32_t i = 0; e->program && i < e->nvalues; i++) {
    const GlowTensor *t = glow_execution_tensor(r->execution, i);
    if (t)
      r->outputs.data[r->outputs.count++] =
          (GlowBinding){e->values[i].name, (GlowTensor *)(uintptr_t)t};
  }
}

/* Takes e. `state`: to be shared, or NULL. */
static GlowRunnable *make(GlowExecutable *e, GlowEntry *entry, GlowState *state,
                          const GlowBindings *inputs, const GlowExecutionSetup *options) {
  GlowContext *ctx = e->ctx;
  GlowDefer release, destroy;
  glow_defer_push(ctx, &release, glow_executable_release_fn, e);
  GlowRunnable *r = glow_malloc(ctx, sizeof *r);
  glow_defer_pop(ctx, &release, false);
  *r = (GlowRunnable){.executable = e, .entry = entry, .state = state, .shared = state != NULL};
  glow_defer_push(ctx, &destroy, glow_runnable_destroy_fn, r);
  size_t n = (size_t)entry->nvalues + 1;
  r->inputs = glow_malloc(ctx, n * sizeof *r->inputs);
  r->listed = glow_malloc(ctx, n * sizeof *r->listed);
  r->outputs.data = r->listed;
  bool ok = take_inputs(r, inputs);
  if (ok) {
    r->state = state ? state : glow_state_make(e);
    r->execution = glow_execution_make(entry, options);
    if (!r->state || !r->execution)
      glow_throw(ctx, GLOW_NO_MEMORY);
    list_outputs(r);
  }
  glow_defer_pop(ctx, &destroy, !ok);
  return ok ? r : NULL;
}

GlowRunnable *glow_runnable_create(GlowExecutable *e, const GlowBindings *inputs,
                                   const GlowExecutionSetup *options) {
  return e ? make(e, e->entries, NULL, inputs, options) : NULL;
}

GlowRunnable *glow_runnable_share(const GlowRunnable *other, GlowEntry *entry,
                                  const GlowBindings *inputs, const GlowExecutionSetup *options) {
  return make(glow_executable_retain(other->executable), entry, other->state, inputs, options);
}

GlowStatus glow_runnable_run(GlowRunnable *r) {
  GlowStatus status = glow_execution_call(r->execution, r->state, r->inputs);
  if (!r->entry->program)
    r->outputs = r->execution->result;
  if (status == GLOW_NO_MEMORY) /* as all tools learn of it */
    glow_throw(r->executable->ctx, status);
  return status;
}

void glow_runnable_take(const GlowRunnable *r, GlowBindings *outputs) {
  GlowContext *ctx = r->executable->ctx;
  for (uint32_t i = 0; i < r->outputs.count; i++) {
    GlowBinding b = r->outputs.data[i];
    b.tensor = glow_tensor_copy(ctx, b.tensor);
    glow_vec_push(ctx->arena, outputs, b);
  }
}

void glow_runnable_destroy(GlowRunnable *r) {
  if (!r)
    return;
  if (!r->shared)
    glow_state_destroy(r->state);
  glow_execution_destroy(r->execution);
  glow_executable_release(r->executable);
  free(r->inputs);
  free(r->listed);
  free(r);
}

void glow_runnable_destroy_fn(void *r) { glow_runnable_destroy(r); }
