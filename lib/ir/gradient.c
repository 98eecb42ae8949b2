/* Gradient declarations: resolving the references in their clauses, and computing the signature.
 *
 *   gradient @g of @f from F wrt W keeping K seedable
 *
 * The parameters of @g are those of @f, then, if `seedable`, a seed for each F, of the same type.
 * The results are a derivative for each W, of the same type, then the values that K names.
 *
 * With `forward` in place of `seedable`, the further parameters are a tangent for each W, and the
 * first results a tangent for each F. */
#include <string.h>

#include "ir/ir_internal.h"

static bool report(const GlowFunction *g, const char *what, GlowStr name, const char *sigil) {
  glow_error(g->module->ctx, g->src, "gradient @%s: %s%s%s", g->name, what, sigil, name);
  return false;
}

static const GlowValue *find_param(const GlowFunction *f, GlowStr name) {
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (f->body->params[i]->name == name)
      return f->body->params[i];
  return NULL;
}

/* The type of the value that `ref` names in `primal`; NULL after a report. */
static const GlowType *type_of(const GlowFunction *g, const GlowFunction *primal,
                               const GlowGradientRef *ref) {
  if (!ref->name) {
    if (ref->index < primal->nresults)
      return primal->results[ref->index];
    glow_error(g->module->ctx, g->src,
               "gradient @%s: @%s has %u result%s, so there is no result %u", g->name, primal->name,
               primal->nresults, primal->nresults == 1 ? "" : "s", ref->index);
    return NULL;
  }
  if (ref->is_storage) {
    const GlowStorage *s = glow_module_storage(g->module, ref->name);
    if (s)
      return s->value.type;
    report(g, "unknown storage ", ref->name, "@");
    return NULL;
  }
  const GlowValue *p = find_param(primal, ref->name);
  if (p)
    return p->type;
  glow_error(g->module->ctx, g->src, "gradient @%s: @%s has no parameter %%%s", g->name,
             primal->name, ref->name);
  return NULL;
}

static bool is_float(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_kind_is_float(t->kind) && !t->quantized;
}

static bool collect(const GlowFunction *g, const GlowFunction *primal, const GlowGradientRef *refs,
                    uint32_t count, const char *clause, const GlowType **types) {
  for (uint32_t i = 0; i < count; i++) {
    types[i] = type_of(g, primal, &refs[i]);
    if (!types[i])
      return false;
    if (clause && !is_float(types[i])) {
      glow_error(g->module->ctx, g->src,
                 "gradient @%s: '%s' names a value of type %s; "
                 "expected a floating-point tensor",
                 g->name, clause, glow_type_str(g->module->ctx, types[i]));
      return false;
    }
  }
  return true;
}

/* The function that g differentiates; NULL after a report. */
static GlowFunction *find_primal(const GlowFunction *g) {
  GlowFunction *primal = glow_module_function(g->module, g->primal);
  if (!primal) {
    GlowStr near = glow_names_nearest(g->module->functions, g->primal);
    if (near)
      glow_error(g->module->ctx, g->src, "gradient @%s: unknown function @%s; did you mean @%s?",
                 g->name, g->primal, near);
    else
      report(g, "unknown function ", g->primal, "@");
    return NULL;
  }
  if (primal->kind == GLOW_PROGRAM) {
    report(g, "a program has no gradient: ", g->primal, "@");
    return NULL;
  }
  uint32_t steps = 0;
  for (const GlowFunction *f = primal; f && f->kind == GLOW_GRADIENT;
       f = glow_module_function(g->module, f->primal))
    if (f == g || ++steps > GLOW_MAX_CALL_DEPTH) {
      report(g, "is a gradient of itself, through ", g->primal, "@");
      return NULL;
    }
  return primal;
}

typedef struct Signature {
  const GlowType **params, **results;
  uint32_t nparams, nresults;
} Signature;

static bool compute(const GlowFunction *g, const GlowFunction *primal, Signature *s) {
  GlowArena *arena = g->module->arena;
  uint32_t nprimal = primal->body->nparams, derived = g->forward ? g->nfrom : g->nwrt;
  s->nparams = nprimal + (g->forward ? g->nwrt : g->seedable ? g->nfrom : 0);
  s->nresults = derived + g->nkeeping;
  s->params = GLOW_NEW_ARRAY(arena, const GlowType *, nprimal + g->nfrom + g->nwrt);
  s->results = GLOW_NEW_ARRAY(arena, const GlowType *, s->nresults + g->nwrt);
  for (uint32_t i = 0; i < nprimal; i++)
    s->params[i] = primal->body->params[i]->type;
  const GlowType **from = s->params + nprimal, **wrt = s->results;
  if (g->forward) {
    from = s->results;
    wrt = s->params + nprimal;
  }
  return collect(g, primal, g->from, g->nfrom, "from", from) &&
         collect(g, primal, g->wrt, g->nwrt, "wrt", wrt) &&
         collect(g, primal, g->keeping, g->nkeeping, NULL, s->results + derived);
}

static bool check_list(const GlowFunction *g, const char *what, const GlowType *const *have,
                       uint32_t nhave, const GlowType *const *want, uint32_t nwant) {
  GlowContext *ctx = g->module->ctx;
  if (nhave != nwant) {
    glow_error(ctx, g->src, "gradient @%s: expected %u %s%s, found %u", g->name, nwant, what,
               nwant == 1 ? "" : "s", nhave);
    return false;
  }
  for (uint32_t i = 0; i < nhave; i++) {
    if (have[i] == want[i])
      continue;
    glow_error(ctx, g->src, "gradient @%s: %s %u has type %s, expected %s", g->name, what, i,
               glow_type_str(ctx, have[i]), glow_type_str(ctx, want[i]));
    return false;
  }
  return true;
}

static bool check_params(const GlowFunction *g, const Signature *s) {
  GlowArena *arena = g->module->arena;
  const GlowType **params = GLOW_NEW_ARRAY(arena, const GlowType *, g->body->nparams);
  for (uint32_t i = 0; i < g->body->nparams; i++)
    params[i] = g->body->params[i]->type;
  return check_list(g, "parameter", params, g->body->nparams, s->params, s->nparams);
}

/* Gives g the computed results and the parameters that are not written: those of the primal keep
 * their names, seeds are called `seed`, the tangent of %x %x.tangent. */
static void adopt(GlowFunction *g, const GlowFunction *primal, const Signature *s) {
  GlowContext *ctx = g->module->ctx;
  uint32_t nprimal = primal->body->nparams;
  for (uint32_t i = g->body->nparams; i < s->nparams; i++) {
    GlowStr name = i < nprimal  ? primal->body->params[i]->name
                   : g->forward ? glow_str_printf(ctx, "%s.tangent", g->wrt[i - nprimal].name)
                                : glow_str(ctx, "seed");
    glow_block_add_param(g->body, name, s->params[i]);
  }
  g->has_results = true;
  g->nresults = s->nresults;
  g->results = s->results;
}

/* note [gradients of gradients]: a primal may itself be a declaration without a signature. Such a
 * chain is resolved from its end. find_primal has bounded its length. */
static bool resolve(GlowFunction *g, bool compare, uint32_t depth) {
  GlowFunction *primal = find_primal(g);
  if (!primal)
    return false;
  if (primal->kind == GLOW_GRADIENT && !primal->has_results &&
      (depth > GLOW_MAX_CALL_DEPTH || !resolve(primal, false, depth + 1)))
    return false;
  if (g->nfrom == 0 || g->nwrt == 0)
    return report(g, g->nfrom ? "needs a 'wrt' clause" : "needs a 'from' clause", "", "");
  if (g->has_results && !compare)
    return true;
  Signature s;
  if (!compute(g, primal, &s))
    return false;
  if ((g->has_results || g->body->nparams) && !check_params(g, &s))
    return false;
  if (g->has_results)
    return check_list(g, "result", g->results, g->nresults, s.results, s.nresults);
  adopt(g, primal, &s);
  return true;
}

bool glow_gradient_signature(GlowFunction *g) { return resolve(g, true, 0); }
