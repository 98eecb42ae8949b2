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
 * one.
 *
 * Calls of the functions that `keep` names stay. Their derivatives are Calls of gradients, one for
 * each choice of results and operands, which are declared here and become functions in turn; Calls
 * of these stay, too. */
#include "transforms/grad.h"
#include "autodiff/autodiff.h"
#include "transforms/inlined.h"
#include "transforms/transforms.h"

typedef enum State { UNSEEN, OPEN, DONE } State;

/* A gradient of a kept function, by name: a declaration, or the function that it has become. */
typedef struct Asked {
  GlowCallGradient call;
  GlowStr gradient;
} Asked;

typedef struct Grad {
  GlowPassRun *run;
  GlowMap *states; /* functions to State, as a pointer */
  GlowMap *keep;   /* the names of functions whose Calls stay, as keys */
  GlowText *saved; /* what derived functions save; NULL: nobody asks */
  GLOW_VEC(Asked) asked;
} Grad;

/* A function under construction, in place of the declaration g. */
typedef struct Derived {
  Grad *grad;
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

static bool same_refs(const GlowGradientRef *a, uint32_t na, const GlowGradientRef *b,
                      uint32_t nb) {
  bool same = na == nb;
  for (uint32_t i = 0; same && i < na; i++)
    same = a[i].name == b[i].name && a[i].is_storage == b[i].is_storage && a[i].index == b[i].index;
  return same;
}

/* Slopes of 0 are easily overlooked where nothing of x is left. */
static void path_ends(void *user, const GlowNode *n, uint32_t operand) {
  const GlowOpPort *port = glow_op_in_port(glow_node_desc(n), operand);
  const GlowStr name = n->results[0].name;
  glow_pass_remark(((Grad *)user)->run, glow_node_loc(n), "%s '%s' has a derivative of 0 by %s",
                   glow_node_desc(n)->node, name ? name : "_", port ? port->name : "an operand");
}

/* The gradient of a kept function: that which an earlier Call asked for, or a new declaration. */
static GlowFunction *gradient_of(void *user, const GlowCallGradient *call) {
  Grad *grad = user;
  GlowModule *m = grad->run->module;
  for (uint32_t i = 0; i < grad->asked.count; i++) {
    const Asked *a = &grad->asked.data[i];
    if (a->call.callee == call->callee &&
        same_refs(a->call.from, a->call.nfrom, call->from, call->nfrom) &&
        same_refs(a->call.wrt, a->call.nwrt, call->wrt, call->nwrt))
      return glow_module_function(m, a->gradient);
  }
  GlowFunction *g = glow_function_create(m, GLOW_GRADIENT,
                                         glow_str_printf(m->ctx, "%s.grad", call->callee->name));
  g->src = call->callee->src;
  g->primal = call->callee->name;
  g->from = glow_arena_copy(m->arena, call->from, call->nfrom * sizeof *call->from);
  g->nfrom = call->nfrom;
  g->wrt = glow_arena_copy(m->arena, call->wrt, call->nwrt * sizeof *call->wrt);
  g->nwrt = call->nwrt;
  g->seedable = true;
  Asked asked = {*call, g->name};
  asked.call.from = g->from;
  asked.call.wrt = g->wrt;
  glow_vec_push(grad->run->arena, &grad->asked, asked);
  glow_map_set(grad->keep, g->name, grad);
  return glow_gradient_signature(g) ? g : NULL;
}

/* The value that reference i of `from` means. */
static GlowValue *differentiated(const Derived *d, uint32_t i) {
  return glow_block_terminator(d->function->body)->operands[d->g->nkeeping + i].value;
}

/* The sweep for the values that `from` and `wrt` name; fills results by wrt. */
static bool sweep(Derived *d, GlowValue *const *seeds, GlowValue **ys, GlowValue **xs,
                  GlowValue **results) {
  const GlowFunction *g = d->g;
  for (uint32_t i = 0; i < g->nfrom; i++)
    ys[i] = differentiated(d, i);
  for (uint32_t i = 0; i < g->nwrt; i++)
    xs[i] = named(d, &g->wrt[i]);
  d->b.src = g->src;
  return glow_differentiate(&d->b, &(GlowDerivatives){.ys = ys,
                                                      .seeds = seeds,
                                                      .nys = g->nfrom,
                                                      .xs = xs,
                                                      .nxs = g->nwrt,
                                                      .results = results,
                                                      .gradient_of = gradient_of,
                                                      .ends = path_ends,
                                                      .user = d->grad});
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
    us[i] = glow_grad_filled(&d->b, differentiated(d, i), 1);
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
                                                    .results = results,
                                                    .gradient_of = gradient_of,
                                                    .user = d->grad}))
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

/* Ends the function with what is kept and what is differentiated, and saves what is kept of the
 * primal's Saves. Folding and differentiating move uses to other values, so these values must be
 * uses by then. */
static void hold_values(Derived *d) {
  const GlowFunction *g = d->g;
  GlowValue **kept = GLOW_NEW_ARRAY(d->run->arena, GlowValue *, g->nkeeping + g->nfrom);
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
  for (uint32_t i = 0; i < g->nfrom; i++)
    kept[g->nkeeping + i] = meant(d, &g->from[i]);
  glow_build_terminator(d->function->body, GLOW_OP_RETURN, kept, g->nkeeping + g->nfrom);
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
  for (uint32_t i = 0; i < d->g->nkeeping; i++)
    results[derived + i] = end->operands[i].value;
  glow_node_remove(end);
  glow_build_terminator(d->function->body, GLOW_OP_RETURN, results, derived + d->g->nkeeping);
}

/* `first` is the order that the first backward node had before some nodes were removed. */
static void print_saved(const Derived *d, uint32_t first) {
  const GlowNode *n = d->function->body->first;
  while (n && n->order < first)
    n = n->next;
  glow_saved_print(d->run, d->function, d->g->name, n, d->grad->saved);
}

static bool derive(Grad *grad, GlowFunction *g, const GlowFunction *primal) {
  GlowPassRun *run = grad->run;
  Derived d = {.grad = grad, .run = run, .g = g, .primal = primal};
  d.map = glow_map_create(run->arena);
  uint32_t derived = g->forward ? g->nfrom : g->nwrt;
  GlowValue **results = GLOW_NEW_ARRAY(run->arena, GlowValue *, derived + g->nkeeping);
  glow_pass_changed(run, NULL, NULL);
  open_function(&d);
  if (!glow_clone_inlined(run, &d.b, primal, grad->keep, d.map, &d.saved))
    return false;
  hold_values(&d);
  uint64_t folded = 0; /* rules need extents, which integers of the graph may tell */
  if (!glow_fold_small_integers(d.function, run->arena, &folded))
    return false;
  GlowNode *forward = glow_block_terminator(d.function->body)->prev;
  if (!(g->forward ? tangents(&d, results) : derivatives(&d, results)))
    return false;
  GlowNode *backward = forward ? forward->next : d.function->body->first;
  end_function(&d, results, derived);
  glow_function_number(d.function);
  uint32_t first = backward ? backward->order : 0;
  glow_remove_unneeded(d.function->body);
  if (grad->saved)
    print_saved(&d, first);
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
  return ok && (!primal || derive(grad, f, glow_module_function(run->module, f->primal)));
}

static GlowFunction *first_declaration(const GlowModule *m) {
  GlowFunction *f = m->first_function;
  while (f && f->kind != GLOW_GRADIENT)
    f = f->next;
  return f;
}

/* Whether f, or what it calls, saves. */
static bool saves(Grad *grad, const GlowFunction *f, GlowMap *seen) {
  if (glow_map_get(seen, f))
    return false;
  glow_map_set(seen, f, grad);
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n)) {
    const GlowFunction *callee = glow_callee(n);
    if (n->op == GLOW_OP_SAVE || (callee && saves(grad, callee, seen)))
      return true;
  }
  return false;
}

/* Splits keep=@a,@b. False after a diagnostic. */
static bool read_keep(Grad *grad) {
  GlowPassRun *run = grad->run;
  const char *at = glow_pass_option(run, "keep");
  bool ok = true;
  while (at && *at) {
    at += *at == '@';
    size_t length = strcspn(at, ",");
    GlowStr name = glow_str_printf(run->ctx, "%.*s", (int)length, at);
    const GlowFunction *f = glow_module_function(run->module, name);
    if (!f || f->kind == GLOW_PROGRAM) {
      glow_error(run->ctx, GLOW_NOWHERE, "-grad: keep=%s: no function @%s", name, name);
      ok = false;
    } else if (saves(grad, f, glow_map_create(run->arena))) {
      glow_error(run->ctx, f->src, "-grad: keep=%s: @%s saves, so Calls of it cannot stay", name,
                 name);
      ok = false;
    }
    glow_map_set(grad->keep, name, grad);
    at += length + (at[length] == ',');
  }
  return ok;
}

static bool derive_all(GlowPassRun *run, GlowText *saved) {
  Grad grad = {.run = run, .saved = saved};
  grad.states = glow_map_create(run->arena);
  grad.keep = glow_map_create(run->arena);
  bool ok = read_keep(&grad);
  for (GlowFunction *f; ok && (f = first_declaration(run->module));)
    ok = visit(&grad, f);
  return ok;
}

bool glow_pass_grad(GlowPassRun *run) { return derive_all(run, NULL); }

bool glow_grad_print_saved(GlowPassRun *run, GlowText *out) {
  GlowPassRun scratch = *run;
  scratch.module = glow_module_clone(run->module);
  scratch.noptions = 0;
  scratch.limit = UINT64_MAX;
  bool ok = derive_all(&scratch, out);
  glow_module_destroy(scratch.module);
  return ok;
}
