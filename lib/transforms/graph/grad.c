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

/* The sweep for the values that `from` and `wrt` name; fills results by wrt. */
static bool sweep(Derived *d, GlowValue *const *seeds, GlowValue **ys, GlowValue **xs,
                  GlowValue **results) {
  const GlowFunction *g = d->g;
  for (uint32_t i = 0; i < g->nfrom; i++)
    ys[i] = meant(d, &g->from[i]);
  for (uint32_t i = 0; i < g->nwrt; i++)
    xs[i] = named(d, &g->wrt[i]);
  d->b.src = g->src;
  return glow_differentiate(
      &d->b,
      &(GlowDerivatives){
          .ys = ys, .seeds = seeds, .nys = g->nfrom, .xs = xs, .nxs = g->nwrt, .results = results});
}

/* The parameters behind those of the primal: seeds or tangents. */
static GlowValue *const *further_params(const Derived *d) {
  return d->function->body->params + d->primal->body->nparams;
}

static bool fill_zeros(Derived *d, GlowValue *like, const GlowGradientRef *ref, const char *suffix,
                       GlowValue **result) {
  *result = glow_grad_filled(&d->b, like, 0);
  if (*result && ref->name)
    glow_value_set_name(*result, glow_str_printf(d->run->ctx, "%s.%s", ref->name, suffix));
  return *result != NULL;
}

static bool derivatives(Derived *d, GlowValue **results) {
  const GlowFunction *g = d->g;
  GlowValue **ys = GLOW_NEW_ARRAY(d->run->arena, GlowValue *, g->nfrom);
  GlowValue **xs = GLOW_NEW_ARRAY(d->run->arena, GlowValue *, g->nwrt);
  if (!sweep(d, g->seedable ? further_params(d) : NULL, ys, xs, results))
    return false;
  for (uint32_t i = 0; i < g->nwrt; i++) {
    if (results[i])
      continue;
    glow_pass_remark(d->run, g->src,
                     "gradient @%s: nothing depends on %c%s, so its derivative is zero", g->name,
                     g->wrt[i].is_storage ? '@' : '%', g->wrt[i].name);
    if (!fill_zeros(d, xs[i], &g->wrt[i], "grad", &results[i]))
      return false;
  }
  return true;
}

/* The derivative of the derivative of %v, %v.grad.grad, is the tangent of %v. */
static void name_tangents(const Derived *d) {
  static const char twice[] = ".grad.grad";
  for (GlowNode *n = d->function->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++) {
      GlowStr name = n->results[i].name;
      size_t length = name ? glow_str_length(name) : 0, suffix = sizeof twice - 1;
      if (length > suffix && strcmp(name + length - suffix, twice) == 0)
        glow_value_set_name(&n->results[i], glow_str_printf(d->run->ctx, "%.*s.tangent",
                                                            (int)(length - suffix), name));
    }
}

static bool tangents(Derived *d, GlowValue **results) {
  const GlowFunction *g = d->g;
  GlowArena *arena = d->run->arena;
  GlowValue **ys = GLOW_NEW_ARRAY(arena, GlowValue *, g->nfrom);
  GlowValue **us = GLOW_NEW_ARRAY(arena, GlowValue *, g->nfrom);
  GlowValue **xs = GLOW_NEW_ARRAY(arena, GlowValue *, g->nwrt);
  GlowValue **dx = GLOW_NEW_ARRAY(arena, GlowValue *, g->nwrt);
  GlowValue **tangents_of = GLOW_NEW_ARRAY(arena, GlowValue *, g->nwrt);
  uint32_t count = 0;
  d->b.src = g->src;
  for (uint32_t i = 0; i < g->nfrom; i++) {
    us[i] = glow_grad_filled(&d->b, meant(d, &g->from[i]), 1);
    if (!us[i])
      return false;
  }
  if (!sweep(d, us, ys, xs, dx))
    return false;
  for (uint32_t i = 0; i < g->nwrt; i++)
    if (dx[i]) {
      dx[count] = dx[i];
      tangents_of[count++] = further_params(d)[i];
    }
  if (!glow_differentiate(&d->b, &(GlowDerivatives){.ys = dx,
                                                    .seeds = tangents_of,
                                                    .nys = count,
                                                    .xs = us,
                                                    .nxs = g->nfrom,
                                                    .results = results}))
    return false;
  for (uint32_t i = 0; i < g->nfrom; i++) {
    if (results[i])
      continue;
    glow_pass_remark(d->run, g->src,
                     "gradient @%s: nothing of what 'wrt' names reaches value %u of 'from', so its "
                     "tangent is zero",
                     g->name, i);
    if (!fill_zeros(d, us[i], &g->from[i], "tangent", &results[i]))
      return false;
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

/* Puts the `derived` derivatives before what is kept, and Saves at the end of the text. */
static void end_function(Derived *d, GlowValue **results, uint32_t derived) {
  GlowNode *end = glow_block_terminator(d->function->body);
  GlowNode *last = end->prev, *next;
  for (GlowNode *n = d->function->body->first; n && n != last; n = next) {
    next = n->next;
    if (n->op == GLOW_OP_SAVE)
      glow_node_move_before(n, end);
  }
  for (uint32_t i = 0; i < end->noperands; i++)
    results[derived + i] = end->operands[i].value;
  glow_node_remove(end);
  glow_build_terminator(d->function->body, GLOW_OP_RETURN, results, derived + d->g->nkeeping);
}

static bool derive(GlowPassRun *run, GlowFunction *g, const GlowFunction *primal) {
  Derived d = {.run = run, .g = g, .primal = primal, .map = glow_map_create(run->arena)};
  uint32_t derived = g->forward ? g->nfrom : g->nwrt;
  GlowValue **results = GLOW_NEW_ARRAY(run->arena, GlowValue *, derived + g->nkeeping);
  glow_pass_changed(run, NULL, NULL);
  open_function(&d);
  if (!glow_clone_inlined(run, &d.b, primal, d.map, &d.saved))
    return false;
  hold_kept(&d);
  if (!(g->forward ? tangents(&d, results) : derivatives(&d, results)))
    return false;
  end_function(&d, results, derived);
  glow_remove_unneeded(d.function->body);
  if (g->forward)
    name_tangents(&d);
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
