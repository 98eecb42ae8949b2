/* See finite.h. */
#include "train/finite.h"

#include <math.h>
#include <string.h>

/* The first element that is not finite; -1: there is none, or no floating-point elements. */
static int64_t first_bad(const GlowTensor *t) {
  if (!glow_type_is_tensor(t->type) || !glow_kind_is_float(t->type->kind))
    return -1;
  int64_t n = glow_tensor_elements(t);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(glow_tensor_get_double(t, i)))
      return i;
  return -1;
}

/* ---- Before and after a step ----------------------------------------------------------------- */

static void keep(GlowWatch *w, GlowStr name, const GlowTensor *value) {
  GlowTensor *t = glow_bindings_find(&w->before, name);
  if (t && t->type == value->type) {
    memcpy(t->data, value->data, value->bytes);
    return;
  }
  GlowBinding new = {name, glow_tensor_copy(w->session->ctx, value)};
  for (uint32_t i = 0; i < w->before.count; i++)
    if (w->before.data[i].name == name) {
      glow_tensor_free(t);
      w->before.data[i] = new;
      return;
    }
  glow_vec_push(w->session->ctx->arena, &w->before, new);
}

void glow_watch_begin(GlowWatch *w, const GlowState *state) {
  const GlowExecutable *e = state->executable;
  for (uint32_t i = 0; i < e->nstorage; i++) {
    const GlowExecValue *v = &e->entries->values[i];
    if (v->memory != GLOW_MEMORY_VARIABLE)
      continue;
    const GlowTensor *t = state->values[i];
    GlowStorage *st = t ? NULL : glow_session_variable(w->session, v->name);
    if (st)
      t = glow_values_get(w->session->values, st);
    if (t)
      keep(w, v->name, t);
  }
}

bool glow_watch_holds(const GlowRunnable *r) {
  for (uint32_t i = 0; i < r->outputs.count; i++) {
    const GlowTensor *t = r->outputs.data[i].tensor;
    if (glow_type_is_tensor(t->type) && glow_tensor_elements(t) == 1 && first_bad(t) >= 0)
      return false;
  }
  for (uint32_t i = 0; i < r->executable->nstorage; i++)
    if (r->state->values[i] && first_bad(r->state->values[i]) >= 0)
      return false;
  return true;
}

void glow_watch_close(GlowWatch *w) {
  for (uint32_t i = 0; i < w->before.count; i++)
    glow_tensor_free(w->before.data[i].tensor);
  w->before.count = 0;
}

/* ---- Once more, by the interpreter ----------------------------------------------------------- */

typedef struct Search {
  const GlowWatch *watch;
  const GlowBindings *inputs;
  GlowSession session; /* of the module as it was */
  int64_t step;
  bool found;
} Search;

static void report(Search *s, GlowLoc at, const char *sigil, GlowStr name, const GlowTensor *t) {
  int64_t i = first_bad(t);
  glow_error(s->session.ctx, at,
             "step %lld: %s%s is the first value that is not finite: element %lld is %g",
             (long long)s->step, sigil, name, (long long)i, glow_tensor_get_double(t, i));
  s->found = true;
}

/* Called after each node or instruction. Ends the run at the first one with such a value. */
static void look(void *user, const GlowNode *n, GlowTensor *const *results) {
  Search *s = user;
  for (uint32_t i = 0; i < (n->nouts ? n->nouts : n->nresults) && !s->found; i++) {
    const GlowValue *v = glow_node_out(n, i);
    if (results[i] && first_bad(results[i]) >= 0)
      report(s, glow_node_loc(n), v->kind == GLOW_VALUE_STORAGE ? "@" : "%", v->name, results[i]);
  }
  if (s->found)
    glow_throw(s->session.ctx, GLOW_CANCELLED);
}

/* Inputs and variables come before all nodes. */
static void look_at(Search *s, const GlowBindings *values) {
  for (uint32_t i = 0; i < values->count && !s->found; i++) {
    const GlowBinding *b = &values->data[i];
    const GlowStorage *st = glow_module_storage(s->session.module, b->name);
    if (first_bad(b->tensor) >= 0)
      report(s, st ? st->src : GLOW_NOWHERE, "@", b->name, b->tensor);
  }
}

static void run_again(GlowContext *ctx, void *arg) {
  Search *s = arg;
  const GlowWatch *w = s->watch;
  if (glow_session_load(&s->session, ctx, w->path, &w->load) != GLOW_OK)
    return;
  look_at(s, &w->before);
  look_at(s, s->inputs);
  if (s->found)
    return;
  for (uint32_t i = 0; i < w->before.count; i++) {
    GlowBinding b = w->before.data[i];
    b.tensor = glow_tensor_plain(ctx, b.tensor);
    glow_vec_push(ctx->arena, &s->session.variables, b);
  }
  for (uint32_t i = 0; i < s->inputs->count; i++) {
    GlowBinding b = s->inputs->data[i];
    b.tensor = glow_tensor_copy(ctx, b.tensor);
    glow_vec_push(ctx->arena, &s->session.inputs, b);
  }
  GlowRunOptions options = {.trace = look, .trace_user = s};
  glow_session_run(&s->session, NULL, &options);
}

void glow_watch_explain(const GlowWatch *w, const GlowBindings *inputs, int64_t step) {
  GlowContext *ctx = w->session->ctx;
  Search s = {.watch = w, .inputs = inputs, .step = step};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_session_close_fn, &s.session);
  GlowStatus thrown = glow_protect(ctx, run_again, &s);
  glow_defer_pop(ctx, &close, true);
  if (thrown == GLOW_NO_MEMORY || thrown == GLOW_INTERNAL)
    glow_throw(ctx, thrown);
  if (!s.found)
    glow_error(
        ctx, GLOW_NOWHERE,
        "step %lld: an output or a variable is not finite, but each value of the interpreter is",
        (long long)step);
}
