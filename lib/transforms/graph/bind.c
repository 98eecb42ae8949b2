/* Binding open dimensions.
 *
 *   -bind='N=8;M=..64'            a symbol becomes an extent or a bound
 *   -bind='N=1..64 step 4'        a symbol stays, and has this range from now on
 *   -bind='M=N'                   the symbol M is the symbol N from now on, whatever that becomes
 *   -bind='M=past + N'            the symbol M follows from others, which have ranges
 *   -bind-input='x=1x3x48x192'    the placeholder or parameter x gets this shape: its symbols are
 *                                 bound everywhere, its unknown extents become exact; `?` for
 *                                 an extent leaves it as it is
 *
 * -bind takes names of inputs too, where no symbol has the name. Afterwards every type is inferred
 * again, so what depends on the dimensions becomes known; a claim that contradicts is an error. */
#include "pass/pass.h"
#include "tensor/binds.h"
#include "tensor/form.h"
#include "transforms/transforms.h"

typedef struct Bind {
  GlowPassRun *run;
  GlowContext *ctx;
  GlowBinds symbols; /* every symbol of the module, in order of appearance */
} Bind;

/* ---- Symbols --------------------------------------------------------------------------------- */

static void add_symbol(void *bind, const GlowExtent *e) {
  Bind *b = bind;
  if (!glow_binds_find(&b->symbols, e->symbol))
    glow_binds_add(&b->symbols, glow_dim_ranged(e), NULL);
}

static void collect_dim(Bind *b, GlowDim d) {
  if (d.extent && d.extent->form)
    glow_form_symbols(d.extent->form, add_symbol, b);
  if (d.kind == GLOW_DIM_SYMBOL && !glow_binds_find(&b->symbols, d.symbol))
    glow_binds_add(&b->symbols, d, NULL);
}

static const GlowType *collect(void *bind, const GlowType *t) {
  Bind *b = bind;
  if (t->elem)
    collect(b, t->elem);
  for (uint32_t i = 0; i < t->rank; i++)
    collect_dim(b, t->dims[i]);
  return t;
}

static void collect_size(void *bind, GlowSize *size) {
  if (size->extent)
    collect_dim(bind, glow_size_dim(*size));
}

/* The form of what takes the place of a symbol that has no definition. */
static bool bound_form(void *bind, const GlowExtent *e, GlowForm *f) {
  Bind *b = bind;
  return glow_form_of(b->ctx, glow_binds_find(&b->symbols, e->symbol)->dim, f);
}

/* What definitions become. A symbol keeps its name, and its range where that is the narrower one.
 */
static void resolve_definitions(Bind *b) {
  for (uint32_t i = 0; i < b->symbols.symbols.count; i++) {
    GlowBind *s = &b->symbols.symbols.data[i];
    const GlowExtent *e = s->old.extent;
    GlowForm f;
    if (!e || !e->form)
      continue;
    if (!glow_form_replace(b->ctx, e->form, bound_form, b, &f)) {
      s->dim = GLOW_BOUND(e->most);
      continue;
    }
    glow_extent_define(b->ctx, e->symbol, &f, e->least, e->most);
    s->dim = glow_form_dim(b->ctx, &f, e->least, e->most);
    if (!glow_dim_has_size(s->dim) || s->dim.kind == GLOW_DIM_SYMBOL ||
        glow_dim_allows(s->old, s->dim.size))
      continue;
    glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s becomes %s, but its range is %s", b->run->pass->name,
               s->name, glow_dim_str(b->ctx, s->dim), glow_extent_str(b->ctx, e));
  }
}

static void substitute_size(void *bind, GlowSize *size) {
  Bind *b = bind;
  if (size->extent)
    *size = glow_size(glow_binds_find(&b->symbols, size->extent->symbol)->dim);
}

static const GlowType *substitute(void *bind, const GlowType *t) {
  Bind *b = bind;
  if (!glow_type_has_symbols(t))
    return t;
  if (t->cls == GLOW_TYPE_SEQ)
    return glow_type_seq(b->ctx, substitute(b, t->elem), t->max_count);
  if (t->cls == GLOW_TYPE_OPT)
    return glow_type_opt(b->ctx, substitute(b, t->elem));
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].kind == GLOW_DIM_SYMBOL
                  ? glow_binds_find(&b->symbols, t->dims[i].symbol)->dim
                  : t->dims[i];
  const char *error = glow_type_check_dims(t->kind, t->rank, dims);
  if (error) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: binding %s: %s", b->run->pass->name,
               glow_type_str(b->ctx, t), error);
    return glow_type_error(b->ctx);
  }
  const GlowType *bound = glow_type_with_dims(b->ctx, t, t->rank, dims);
  return t->layout ? glow_type_with_layout(b->ctx, bound, t->layout) : bound;
}

/* ---- What to bind ---------------------------------------------------------------------------- */

static bool shape_error(Bind *b, const GlowValue *v, GlowStr name, const char *shape) {
  glow_error(b->ctx, glow_value_loc(v), "%s: '%s' has type %s, which the shape %s does not fit",
             b->run->pass->name, name, glow_type_str(b->ctx, v->type), shape);
  return false;
}

/* Binds the symbols of v and replaces its unknown extents. */
static bool bind_value(Bind *b, GlowValue *v, GlowStr name, const char *shape) {
  GlowDim given[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
  uint32_t rank;
  const GlowType *t = v->type;
  if (!glow_bind_parse_shape(shape, given, &rank)) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: '%s' is not a shape such as 1x3x224x224",
               b->run->pass->name, shape);
    return false;
  }
  const char *error = glow_type_check_dims(t->kind, rank, given);
  if (error) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: shape %s of '%s': %s", b->run->pass->name, shape, name,
               error);
    return false;
  }
  if (!glow_type_is_tensor(t) || (!t->unranked && t->rank != rank))
    return shape_error(b, v, name, shape);
  for (uint32_t i = 0; i < rank; i++) {
    GlowDim old = t->unranked ? GLOW_UNKNOWN : t->dims[i];
    dims[i] = given[i].kind == GLOW_DIM_UNKNOWN ? old : given[i];
    if (given[i].kind == GLOW_DIM_UNKNOWN)
      continue;
    if (old.kind == GLOW_DIM_SYMBOL) {
      dims[i] = old;
      if (!glow_binds_set(&b->symbols, glow_binds_find(&b->symbols, old.symbol), given[i], name))
        return false;
    } else if ((old.kind == GLOW_DIM_EXACT && !glow_dim_equals(old, given[i])) ||
               (old.kind == GLOW_DIM_BOUND && given[i].size > old.size)) {
      return shape_error(b, v, name, shape);
    }
  }
  v->type = glow_type_with_dims(b->ctx, t, rank, dims);
  return true;
}

/* The placeholder, or the parameter of a func, that is called `name`. */
static GlowValue *find_input(Bind *b, GlowStr name) {
  GlowModule *m = b->run->module;
  GlowStorage *s = glow_module_storage(m, name);
  if (s && s->cls == GLOW_PLACEHOLDER)
    return &s->value;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (uint32_t i = 0; f->kind == GLOW_FUNC && i < f->body->nparams; i++)
      if (f->body->params[i]->name == name)
        return f->body->params[i];
  return NULL;
}

static bool unknown_name(Bind *b, GlowStr name, bool symbols) {
  GLOW_VEC(const char *) names = {0};
  for (uint32_t i = 0; symbols && i < b->symbols.symbols.count; i++)
    glow_vec_push(b->run->arena, &names, b->symbols.symbols.data[i].name);
  for (GlowStorage *s = b->run->module->first_storage; s; s = s->next)
    if (s->cls == GLOW_PLACEHOLDER)
      glow_vec_push(b->run->arena, &names, s->value.name);
  const char *near = glow_nearest(name, names.data, names.count);
  glow_error(b->ctx, GLOW_NOWHERE, "%s: the module has no %s '%s'%s%s%s", b->run->pass->name,
             symbols ? "symbol or input" : "input", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
  return false;
}

/* One option NAME=VALUE. */
static bool bind_option(Bind *b, GlowStr name, const char *value, bool symbols) {
  GlowBind *symbol = symbols ? glow_binds_find(&b->symbols, name) : NULL;
  if (symbol)
    return glow_binds_read(&b->symbols, symbol, value, value + strlen(value));
  GlowValue *input = find_input(b, name);
  return input ? bind_value(b, input, name, value) : unknown_name(b, name, symbols);
}

static bool run_bind(GlowPassRun *run, bool symbols) {
  Bind b = {.run = run, .ctx = run->ctx, .symbols = {run->ctx, run->arena, run->pass->name, {0}}};
  if (run->noptions == 0) {
    glow_error(run->ctx, GLOW_NOWHERE, "%s: nothing to bind; write -%s='%s'", run->pass->name,
               run->pass->name, symbols ? "N=8" : "x=1x3x224x224");
    return false;
  }
  unsigned errors = glow_context_error_count(run->ctx);
  glow_map_types(run->module, collect, collect_size, &b);
  for (uint32_t i = 0; i < run->noptions; i++)
    bind_option(&b, run->option_names[i], run->option_values[i], symbols);
  glow_binds_resolve(&b.symbols);
  resolve_definitions(&b);
  if (glow_context_error_count(run->ctx) != errors)
    return false;
  glow_pass_changed(run, NULL, NULL);
  glow_retype(run->module, substitute, substitute_size, &b);
  return glow_context_error_count(run->ctx) == errors && glow_reinfer_module(run->module);
}

bool glow_pass_bind(GlowPassRun *run) { return run_bind(run, true); }
bool glow_pass_bind_input(GlowPassRun *run) { return run_bind(run, false); }
