/* Gradient declarations become functions.
 *
 *   gradient @g of @f from F wrt W keeping K seedable
 *
 * A copy of @f's body, in which Calls are replaced by what they call, is differentiated by the
 * sweep of lib/autodiff, which appends what computes the derivatives. What neither the derivatives
 * nor K need is deleted. A gradient has no effects: Saves of @f go, but those into storage that K
 * names. There `from` and `keeping` mean the value that @f saves; in storage that @f does not save
 * into, they mean the value at entry.
 *
 * Without `seedable` the derivatives are those of the sum of the elements that F names.
 * Declarations come after the gradients that their functions need: @f may be a gradient, or call
 * one. */
#include "autodiff/autodiff.h"
#include "transforms/inlined.h"
#include "transforms/transforms.h"

typedef enum State { UNSEEN, OPEN, DONE } State;

typedef struct Grad {
  GlowPassRun *run;
  GlowMap *states; /* functions to State, as a pointer */
} Grad;

/* A function under construction, in place of the declaration g. */
typedef struct Derived {
  GlowPassRun *run;
  const GlowFunction *g, *primal;
  GlowFunction *function;
  GlowBuilder b;
  GlowMap *map;          /* values of the primal to those of the function */
  GlowSavedValues saved; /* what the primal saves, as values of the function */
} Derived;

/* ---- Values that clauses name ---------------------------------------------------------------- */

static GlowValue *saved_in(const Derived *d, const GlowValue *storage) {
  for (uint32_t i = 0; i < d->saved.count; i++)
    if (d->saved.data[i].storage == storage)
      return d->saved.data[i].value;
  return NULL;
}

static GlowValue *find_param(const GlowFunction *f, GlowStr name) {
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->name == name)
      return f->body->params[i];
  return NULL;
}

/* The storage or parameter that a reference names, as a value at entry; NULL for a result. */
static GlowValue *named(const Derived *d, const GlowGradientRef *ref) {
  if (!ref->name)
    return NULL;
  if (ref->is_storage)
    return &glow_module_storage(d->run->module, ref->name)->value;
  return glow_map_get(d->map, find_param(d->primal, ref->name));
}

/* The value that a reference of `from` or `keeping` means. */
static GlowValue *meant(const Derived *d, const GlowGradientRef *ref) {
  GlowValue *v = named(d, ref);
  if (!v)
    return glow_inlined_value(d->map,
                              glow_block_terminator(d->primal->body)->operands[ref->index].value);
  GlowValue *saved = ref->is_storage ? saved_in(d, v) : NULL;
  return saved ? saved : v;
}

/* ---- The function ---------------------------------------------------------------------------- */

/* The function's parameters are those of the declaration. */
static void open_function(Derived *d) {
  const GlowFunction *g = d->g;
  GlowFunction *f = glow_function_create(d->run->module, GLOW_FUNC, g->name);
  d->function = f;
  f->src = g->src;
  f->has_results = true;
  f->nresults = g->nresults;
  f->results = g->results;
  f->result_names = g->result_names;
  for (uint32_t i = 0; i < g->body->nparams; i++) {
    GlowValue *p =
        glow_block_add_param(f->body, g->body->params[i]->name, g->body->params[i]->type);
    if (i < d->primal->body->nparams)
      glow_map_set(d->map, d->primal->body->params[i], p);
  }
  d->b = glow_builder_at_end(f->body);
}

/* Fills the first nwrt of `results`. */
static bool differentiate(Derived *d, GlowValue **results) {
  GlowPassRun *run = d->run;
  const GlowFunction *g = d->g;
  GlowValue **ys = GLOW_NEW_ARRAY(run->arena, GlowValue *, g->nfrom);
  GlowValue **xs = GLOW_NEW_ARRAY(run->arena, GlowValue *, g->nwrt);
  for (uint32_t i = 0; i < g->nfrom; i++)
    ys[i] = meant(d, &g->from[i]);
  for (uint32_t i = 0; i < g->nwrt; i++)
    xs[i] = named(d, &g->wrt[i]);
  GlowDerivatives what = {.ys = ys, .nys = g->nfrom, .xs = xs, .nxs = g->nwrt, .results = results};
  if (g->seedable)
    what.seeds = d->function->body->params + d->primal->body->nparams;
  d->b.src = g->src;
  if (!glow_differentiate(&d->b, &what))
    return false;
  for (uint32_t i = 0; i < g->nwrt; i++) {
    if (results[i])
      continue;
    glow_pass_remark(run, g->src,
                     "gradient @%s: nothing depends on %c%s, so its derivative is zero", g->name,
                     g->wrt[i].is_storage ? '@' : '%', g->wrt[i].name);
    results[i] = glow_grad_filled(&d->b, xs[i], 0);
    if (!results[i])
      return false;
    glow_value_set_name(results[i], glow_str_printf(run->ctx, "%s.grad", g->wrt[i].name));
  }
  return true;
}

/* Ends the function with what is kept and saves what is kept of the primal's Saves. Differentiating
 * moves uses to other values, so kept values must be uses by then. */
static void hold_kept(Derived *d) {
  const GlowFunction *g = d->g;
  GlowValue **kept = GLOW_NEW_ARRAY(d->run->arena, GlowValue *, g->nkeeping + 1);
  GlowMap *names = glow_map_create(d->run->arena);
  for (uint32_t i = 0; i < g->nkeeping; i++) {
    kept[i] = meant(d, &g->keeping[i]);
    if (g->keeping[i].is_storage)
      glow_map_set(names, named(d, &g->keeping[i]), d);
  }
  for (uint32_t i = 0; i < d->saved.count; i++) {
    GlowValue *ins[] = {d->saved.data[i].value, d->saved.data[i].storage};
    if (glow_map_get(names, ins[1]))
      glow_build(&d->b, GLOW_OP_SAVE, ins, 2, NULL, NULL);
  }
  glow_build_terminator(d->function->body, GLOW_OP_RETURN, kept, g->nkeeping);
}

/* Puts the derivatives before what is kept, and Saves at the end of the text. */
static void end_function(Derived *d, GlowValue **results) {
  GlowNode *end = glow_block_terminator(d->function->body);
  GlowNode *last = end->prev, *next;
  for (GlowNode *n = d->function->body->first; n && n != last; n = next) {
    next = n->next;
    if (n->op == GLOW_OP_SAVE)
      glow_node_move_before(n, end);
  }
  for (uint32_t i = 0; i < end->noperands; i++)
    results[d->g->nwrt + i] = end->operands[i].value;
  glow_node_remove(end);
  glow_build_terminator(d->function->body, GLOW_OP_RETURN, results, d->g->nwrt + d->g->nkeeping);
}

/* Whether n only computes: nothing in its regions writes or ends the run. */
static bool only_computes(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) && !n->nregions)
    return GLOW_HAS(d, TERMINATOR) && n->block->owner == GLOW_BLOCK_REGION;
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (!only_computes(k))
        return false;
  return true;
}

static bool is_used(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      return true;
  return false;
}

static void delete_dead(GlowBlock *b) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    if (!is_used(n) && only_computes(n))
      glow_node_remove(n);
  }
}

static bool derive(GlowPassRun *run, GlowFunction *g, const GlowFunction *primal) {
  Derived d = {.run = run, .g = g, .primal = primal, .map = glow_map_create(run->arena)};
  GlowValue **results = GLOW_NEW_ARRAY(run->arena, GlowValue *, g->nwrt + g->nkeeping);
  glow_pass_changed(run, NULL, NULL);
  open_function(&d);
  if (!glow_clone_inlined(run, &d.b, primal, d.map, &d.saved))
    return false;
  hold_kept(&d);
  if (!differentiate(&d, results))
    return false;
  end_function(&d, results);
  delete_dead(d.function->body);
  glow_function_replace(g, d.function);
  glow_function_keep_result_names(d.function);
  return true;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static bool visit(Grad *grad, GlowFunction *f);

/* Visits what f's nodes call. */
static bool visit_callees(Grad *grad, const GlowFunction *f) {
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n)) {
    GlowFunction *callee = glow_callee(n);
    if (callee && !visit(grad, callee))
      return false;
  }
  return true;
}

/* Makes functions of f, if it is a declaration, and of the declarations that f needs. */
static bool visit(Grad *grad, GlowFunction *f) {
  GlowPassRun *run = grad->run;
  State state = (State)(uintptr_t)glow_map_get(grad->states, f);
  if (state == OPEN)
    glow_error(run->ctx, f->src, "@%s needs a gradient that needs @%s itself", f->name, f->name);
  if (state != UNSEEN)
    return state == DONE;
  glow_map_set(grad->states, f, (void *)(uintptr_t)OPEN);
  GlowFunction *primal =
      f->kind == GLOW_GRADIENT ? glow_module_function(run->module, f->primal) : NULL;
  bool ok = primal ? visit(grad, primal) : visit_callees(grad, f);
  glow_map_set(grad->states, f, (void *)(uintptr_t)DONE);
  /* The primal, if it was a declaration, is a function of the same name now. */
  return ok && (!primal || derive(run, f, glow_module_function(run->module, f->primal)));
}

bool glow_pass_grad(GlowPassRun *run) {
  Grad grad = {.run = run, .states = glow_map_create(run->arena)};
  bool ok = true;
  for (GlowFunction *f = run->module->first_function, *next; ok && f; f = next) {
    next = f->next;
    if (f->kind == GLOW_GRADIENT)
      ok = visit(&grad, f);
  }
  return ok;
}
