/* If, Loop, Scan and Call: nodes that run regions or functions; Fail. Regions see outer values
 * through the slots of the same walk. */
#include "backend/interp/interp_internal.h"
#include "ops/values.h"

/* ---- If -------------------------------------------------------------------------------------- */

static bool truth(const GlowTensor *t) { return glow_tensor_get_int(t, 0) != 0; }

/* Conditions and counts may have had no shape in the text. */
static bool is_single(const GlowNode *n, const char *name, const GlowTensor *t) {
  if (!t || glow_tensor_elements(t) == 1)
    return true;
  glow_run_error(n, "%s must be one value, but it is %s", name,
                 glow_type_str(n->block->module->ctx, t->type));
  return false;
}

GlowStatus glow_value_if(GlowWalk *w, const GlowNode *n, GlowTensor *const *in, GlowTensor **out) {
  if (!is_single(n, "Cond", in[GLOW_IF_IN_COND]))
    return GLOW_BAD_INPUT;
  GlowBlock *b = glow_node_region(n, truth(in[GLOW_IF_IN_COND]) ? "then" : "else");
  return glow_walk_block(w, b, out) ? GLOW_OK : GLOW_BAD_INPUT;
}

/* ---- Stacking -------------------------------------------------------------------------------- */

/* An empty list that tensors are appended to; every element becomes a slice of a result. */
static GlowTensor *new_list(GlowContext *ctx) {
  return glow_tensor_create(ctx, glow_type_seq(ctx, glow_type_unranked(ctx, GLOW_KIND_FLOAT), -1));
}

/* The result without any slice: extents that its type leaves open are 0. */
static GlowTensor *empty_stack(const GlowNode *n, uint32_t result, uint32_t axis) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *t = n->results[result].type;
  GlowDim dims[GLOW_MAX_RANK] = {GLOW_EXACT(0)};
  uint32_t rank = t->unranked ? 1 : t->rank;
  for (uint32_t a = 0; a < rank; a++) {
    bool exact = !t->unranked && t->dims[a].kind == GLOW_DIM_EXACT;
    dims[a] = GLOW_EXACT(a == axis || !exact ? 0 : t->dims[a].size);
  }
  return glow_tensor_create(ctx,
                            glow_type_with_dims(ctx, glow_type_scalar(ctx, t->kind), rank, dims));
}

/* The slices of a list along a new axis, the last one first if `reverse`. NULL after a diagnostic.
 */
static GlowTensor *stack_list(const GlowNode *n, uint32_t result, const GlowTensor *list,
                              int64_t axis, bool reverse) {
  if (list->count == 0)
    return empty_stack(n, result, axis < 0 ? 0 : (uint32_t)axis);
  if (reverse)
    for (uint32_t i = 0, k = list->count - 1; i < k; i++, k--) {
      GlowTensor *t = list->items[i];
      list->items[i] = list->items[k];
      list->items[k] = t;
    }
  return glow_tensors_join(n, list->items, list->count, axis, true);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* What iterations share: state that is carried, and lists of slices. */
typedef struct Iterations {
  const GlowNode *n;
  GlowBlock *body;
  uint32_t nstate, nlists, nyields;
  GlowTensorList state, lists, yields;
} Iterations;

static void begin_iterations(GlowWalk *w, Iterations *it) {
  glow_tensor_list_begin(w->ctx, &it->state, it->nstate);
  glow_tensor_list_begin(w->ctx, &it->lists, it->nlists);
  glow_tensor_list_begin(w->ctx, &it->yields, it->nyields);
  for (uint32_t i = 0; i < it->nlists; i++)
    it->lists.data[i] = new_list(w->ctx);
}
static void end_iterations(GlowWalk *w, Iterations *it) {
  glow_tensor_list_end(w->ctx, &it->yields);
  glow_tensor_list_end(w->ctx, &it->lists);
  glow_tensor_list_end(w->ctx, &it->state);
}

/* Hands a value to parameter i of the body, which takes it. */
static bool give(GlowWalk *w, Iterations *it, uint32_t i, GlowTensor *t) {
  const GlowValue *p = it->body->params[i];
  bool fits = glow_type_fit(p->type, t->type) != GLOW_FIT_CONTRADICTS;
  if (!fits)
    glow_run_error(it->n, "parameter '%s' of ^%s is %s, but its value is %s", p->name,
                   it->body->label, glow_type_str(w->ctx, p->type), glow_type_str(w->ctx, t->type));
  if (fits)
    glow_walk_set(w, p, t, true);
  else
    glow_tensor_free(t);
  return fits;
}

static GlowTensor *take(GlowTensorList *l, uint32_t i) {
  GlowTensor *t = l->data[i];
  l->data[i] = NULL;
  return t;
}

/* Runs the body once. Yields [first, first + nstate) become the state; those behind are appended to
 * the lists. */
static bool iterate(GlowWalk *w, Iterations *it, uint32_t first) {
  glow_run_check_time(it->n);
  if (!glow_walk_block(w, it->body, it->yields.data))
    return false;
  for (uint32_t i = 0; i < it->nstate; i++) {
    glow_tensor_free(it->state.data[i]);
    it->state.data[i] = take(&it->yields, first + i);
  }
  for (uint32_t i = 0; i < it->nlists; i++)
    glow_tensor_append(w->ctx, it->lists.data[i], take(&it->yields, first + it->nstate + i));
  return true;
}

static GlowTensor *scalar_int(GlowContext *ctx, GlowKind kind, int64_t v) {
  GlowTensor *t = glow_tensor_create(ctx, glow_type_scalar(ctx, kind));
  glow_tensor_set(t, 0, (GlowScalar){.is_int = true, .i = v, .f = (double)v});
  return t;
}

static bool run_loop(GlowWalk *w, Iterations *it, GlowTensor *const *in) {
  const GlowTensor *trip = in[GLOW_LOOP_IN_TRIP], *cond = in[GLOW_LOOP_IN_COND];
  int64_t limit = trip ? glow_tensor_get_int(trip, 0) : INT64_MAX;
  bool go = !cond || truth(cond), ok = true;
  for (uint32_t i = 0; i < it->nstate; i++)
    it->state.data[i] = glow_tensor_copy(w->ctx, in[GLOW_LOOP_IN_INIT + i]);
  for (int64_t i = 0; ok && go && i < limit; i++) {
    ok = give(w, it, 0, scalar_int(w->ctx, GLOW_KIND_I64, i)) &&
         give(w, it, 1, scalar_int(w->ctx, GLOW_KIND_BOOL, 1));
    for (uint32_t k = 0; ok && k < it->nstate; k++)
      ok = give(w, it, 2 + k, take(&it->state, k));
    ok = ok && iterate(w, it, 1) && is_single(it->n, "the condition", it->yields.data[0]);
    go = ok && truth(it->yields.data[0]);
    glow_tensor_free(take(&it->yields, 0));
  }
  return ok;
}

GlowStatus glow_value_loop(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                           GlowTensor **out) {
  Iterations it = {.n = n, .body = glow_node_region(n, "body")};
  it.nstate = it.body->nparams - 2;
  it.nlists = n->nresults - it.nstate;
  it.nyields = glow_block_terminator(it.body)->noperands;
  if (!is_single(n, "Trip", in[GLOW_LOOP_IN_TRIP]) ||
      !is_single(n, "Cond", in[GLOW_LOOP_IN_COND]) || !glow_walk_enter(w, n))
    return GLOW_BAD_INPUT;
  begin_iterations(w, &it);
  bool ok = run_loop(w, &it, in);
  for (uint32_t i = 0; ok && i < it.nstate; i++)
    out[i] = take(&it.state, i);
  for (uint32_t i = 0; ok && i < it.nlists; i++) {
    out[it.nstate + i] = stack_list(n, it.nstate + i, it.lists.data[i], 0, false);
    ok = out[it.nstate + i] != NULL;
  }
  end_iterations(w, &it);
  w->depth--;
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static int64_t listed(GlowArray a, uint32_t i) {
  return i < a.count ? glow_array_at(a, int64_t, i) : 0;
}
static bool flagged(GlowArray a, uint32_t i) { return i < a.count && glow_array_at(a, bool, i); }

/* How often a Scan runs: the extent of its inputs; -1 after a diagnostic. */
static int64_t scan_length(const GlowNode *n, GlowTensor *const *in, uint32_t nstate) {
  const GlowScanMembers *m = n->members;
  int64_t length = -1;
  for (uint32_t i = 0; i < m->num_scan; i++) {
    const GlowType *t = in[nstate + i]->type;
    int64_t axis = listed(m->in_axes, i);
    axis = axis < 0 ? axis + t->rank : axis;
    if (axis < 0 || axis >= t->rank || (length >= 0 && t->dims[axis].size != length)) {
      glow_run_error(n, "input %u cannot be scanned along axis %lld together with the others: %s",
                     nstate + i, (long long)axis, glow_type_str(n->block->module->ctx, t));
      return -1;
    }
    length = t->dims[axis].size;
  }
  return length < 0 ? 0 : length;
}

static bool run_scan(GlowWalk *w, Iterations *it, GlowTensor *const *in) {
  const GlowScanMembers *m = it->n->members;
  int64_t length = scan_length(it->n, in, it->nstate);
  bool ok = length >= 0;
  for (uint32_t i = 0; ok && i < it->nstate; i++)
    it->state.data[i] = glow_tensor_copy(w->ctx, in[i]);
  for (int64_t i = 0; ok && i < length; i++) {
    for (uint32_t k = 0; ok && k < it->nstate; k++)
      ok = give(w, it, k, take(&it->state, k));
    for (uint32_t k = 0; ok && k < m->num_scan; k++) {
      int64_t at = flagged(m->in_reverse, k) ? length - 1 - i : i;
      const GlowTensor *x = in[it->nstate + k];
      ok = give(w, it, it->nstate + k,
                glow_tensor_part(w->ctx, x, listed(m->in_axes, k), at, 1, false));
    }
    ok = ok && iterate(w, it, 0);
  }
  return ok;
}

GlowStatus glow_value_scan(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                           GlowTensor **out) {
  const GlowScanMembers *m = n->members;
  Iterations it = {.n = n, .body = glow_node_region(n, "body")};
  it.nstate = n->noperands - m->num_scan;
  it.nlists = n->nresults - it.nstate;
  it.nyields = glow_block_terminator(it.body)->noperands;
  if (!glow_walk_enter(w, n))
    return GLOW_BAD_INPUT;
  begin_iterations(w, &it);
  bool ok = run_scan(w, &it, in);
  for (uint32_t i = 0; ok && i < it.nstate; i++)
    out[i] = take(&it.state, i);
  for (uint32_t i = 0; ok && i < it.nlists; i++) {
    out[it.nstate + i] = stack_list(n, it.nstate + i, it.lists.data[i], listed(m->out_axes, i),
                                    flagged(m->out_reverse, i));
    ok = out[it.nstate + i] != NULL;
  }
  end_iterations(w, &it);
  w->depth--;
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

/* ---- Fail ------------------------------------------------------------------------------------ */

GlowStatus glow_value_fail(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                           GlowTensor **out) {
  (void)w;
  (void)in;
  (void)out;
  glow_report_run_error(n, GLOW_RUN_FAIL, &(GlowCall){0});
  return GLOW_BAD_INPUT;
}

/* ---- Call ------------------------------------------------------------------------------------ */

GlowStatus glow_value_call(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                           GlowTensor **out) {
  const GlowCallMembers *m = n->members;
  GlowFunction *f = glow_module_function(n->block->module, m->callee);
  if (!f || f->kind != GLOW_FUNC || f->body->nparams != n->noperands) {
    bool gradient = f && f->kind == GLOW_GRADIENT;
    glow_run_error(n,
                   gradient ? "@%s is a gradient declaration: it has no body to run"
                            : "'@%s' is not a function that can be called here",
                   m->callee);
    return GLOW_BAD_INPUT;
  }
  return glow_walk_function(w, f, in, out, n) ? GLOW_OK : GLOW_BAD_INPUT;
}
